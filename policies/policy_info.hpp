// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/plan/policy.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// What the registry knows of one policy: its page in the manual and its schema are made from this.
struct PolicyInfo {
  std::string name;     ///< as in JSON
  std::string summary;  ///< one sentence
  std::string source;   ///< publication, or "this project"
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Policy>(const Options&)> make;  ///< of options that were checked
  /// Schedules all ranks of a graph whose tasks have ranks; others schedule one device.
  bool for_ranks = false;
  /// Its plan comes ready-made, for whatever graph it was made for: one device or all ranks.
  bool ready_made = false;
  /// plan() looks at the graph and at how long tasks last, and at nothing else of machine and
  /// costs: a plan may be used again on a machine that differs in other things only.
  bool plans_by_durations = false;
};

}  // namespace schedlab
