// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"
#include "studies/search/scenario_search.hpp"

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
  std::uint64_t seed = 1;
  std::uint32_t max_streams = 32;
  std::uint32_t jobs = 1;
  std::string resume{};  ///< folder of an earlier search
  bool overwrite = false;
  bool json = false;
};

/// The text of search.json: nothing in it depends on the clock.
[[nodiscard]] std::string search_json(const FoundSchedule& found);

/// A spec of one case -> the best plan found, with its certified gap, in a folder. Returns
/// exit_failed if the gap is above max_gap or the plan checker found something; the files are
/// written in any case. Throws InputError for a spec of several cases or without any limit.
[[nodiscard]] int run(const SearchVerbOptions& options, const Terminal& terminal);

}  // namespace schedlab
