// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/base/units.hpp"
#include "studies/spec/spec.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The option of workloads that cut their batch; besides a number it takes "auto".
inline constexpr std::string_view auto_split_option = "split";

/// What was tried to find the number of slices.
struct AutoSplit {
  struct Tried {
    std::int64_t split = 1;
    Duration makespan{0};
    std::string failure{};  ///< why it cannot run; empty: it can
  };
  std::vector<Tried> tried;
  std::int64_t chosen = 0;  ///< 0: nothing was to be found
};

/// Does the option say that the number is to be found?
[[nodiscard]] bool is_auto_split(const std::map<std::string, OptionValue>& given);

/// Does some workload of the spec?
[[nodiscard]] bool leaves_split_open(const Spec& spec);

/// The text of a spec of one scenario with the number of slices that was found for it, so that what
/// it made can be made again without a search; nullptr: as it is.
[[nodiscard]] std::string split_given_text(const Spec& spec, const AutoSplit* found);

/// A line for people; empty if nothing was to be found (nullptr).
[[nodiscard]] std::string split_text(const AutoSplit* found);

}  // namespace schedlab
