// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <optional>
#include <string>

namespace schedlab {

struct SweepOptions {
  std::string spec{};
  std::string out{};
  unsigned jobs = 0;
  bool resume = false;
  bool overwrite = false;
  bool no_check = false;
  std::string timelines = "best";
  std::optional<double> max_gap{};  ///< of the fastest policy of each case, in percent
  bool json = false;
};

/// A grid of scenarios -> a folder with results, plots and a report. Returns exit_failed when it
/// was interrupted, some scenario has no result or a faulty plan, or the fastest policy of some
/// case is further than max_gap from its certified bound; the files are written in any case.
[[nodiscard]] int run(const SweepOptions& options, const Terminal& terminal);

}  // namespace schedlab
