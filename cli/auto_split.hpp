// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/spec.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/options.hpp"
#include "sim/base/units.hpp"

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

/// After so many numbers of slices in a row that are no faster than the best the search ends.
inline constexpr int split_patience = 6;  // assumed: uneven slices make the makespan jump

/// The same spec, with the fastest number of slices where the workload's "split" is "auto": 1, 2,
/// 3, ... are simulated up to the batch or until `split_patience` in a row are no faster; the
/// fewest among equals. A spec without "auto" comes back as it is.
/// Throws InputError if the spec has more scenarios than one, InfeasibleError if no number can run,
/// Interrupted when asked to stop.
[[nodiscard]] Spec with_found_split(Spec spec, const StopFlag* stop, AutoSplit& found);

/// A line for people; empty if nothing was to be found.
[[nodiscard]] std::string split_text(const AutoSplit& found);

/// Throws InputError if the number of slices is still to be found: only `simulate` finds it.
void expect_found_split(const std::map<std::string, OptionValue>& given, const std::string& file);

}  // namespace schedlab
