// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"
#include "studies/search/plan_scorer.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace schedlab {

struct SearchVerbOptions {
  std::string spec{};
  std::string out{};
  double seconds = 10;              ///< 0: no limit
  std::uint64_t evaluations = 0;    ///< 0: no limit
  double gap = 0;                   ///< percent, at which the search is over
  std::optional<double> max_gap{};  ///< percent, above which it fails
  std::string require{};            ///< evidence that kernel times must have; empty: any
  std::uint64_t seed = 1;
  std::uint32_t max_streams = 32;
  std::uint32_t jobs = 1;
  std::uint64_t samples = 0;       ///< of a machine that scatters; 0: its nominal makespan counts
  std::string objective = "mean";  ///< over the samples: a word of Objective
  std::string resume{};            ///< folder of an earlier search
  bool overwrite = false;
  bool json = false;
};

/// A spec of one case -> the best plan found, with its certified gap, in a folder. Under an MPI
/// launcher all ranks search; the files are rank 0's. Returns exit_failed if the gap is above
/// max_gap, kernel times have less evidence than is required, or the plan checker found something;
/// the files are written in any case. Throws
/// InputError for a spec of several cases or without any limit.
[[nodiscard]] int run(const SearchVerbOptions& options, const Terminal& terminal);

}  // namespace schedlab
