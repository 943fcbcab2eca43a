// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

struct SweepOptions {
  std::string spec{};
  std::string out{};
  unsigned jobs = 0;
  bool resume = false;
  bool overwrite = false;
  bool no_check = false;
  std::string timelines = "best";
  bool no_sensitivity = false;         ///< the report says nothing of the machine's numbers
  std::optional<double> max_gap{};     ///< of the fastest policy of each case, in percent
  std::string require{};               ///< evidence that kernel times must have; empty: any
  std::string shard{};                 ///< as shard_of() takes it; empty: all scenarios
  std::optional<double> time_limit{};  ///< in seconds
  bool print = false;                  ///< with `submit`, which prints anyway
  std::string submit{};                ///< print the batch script for this scheduler instead
  std::uint32_t shards = 0;            ///< of that script
  bool json = false;
};

/// The parts of a sweep that shards have run.
struct MergeOptions {
  std::string spec{};
  std::vector<std::string> folders{};  ///< of shards, or folders with those of shards in them
  std::string out{};
  bool overwrite = false;
  std::string timelines = "best";
  bool no_sensitivity = false;
  std::optional<double> max_gap{};
  std::string require{};
  bool json = false;
};

/// A grid of scenarios -> a folder with results, plots and a report. Returns exit_failed when it
/// was interrupted, some scenario has no result or a faulty plan, or the fastest policy of some
/// case is further than max_gap from its certified bound or some scenario has less evidence than is
/// required; the files are written in any case.
/// exit_unfinished when the time limit, SIGTERM or SIGUSR1 ended it. Of a shard only the rows are
/// written, into out/shard_NUMBER_of_COUNT.
[[nodiscard]] int run(const SweepOptions& options, const Terminal& terminal);

/// The results of all shards of a sweep in one folder, as an undivided run of the spec writes it.
/// Throws InputError, and writes nothing, for shards of another spec, version or input, a scenario
/// that two have, and scenarios that none has: it names these shards.
[[nodiscard]] int run(const MergeOptions& options, const Terminal& terminal);

}  // namespace schedlab
