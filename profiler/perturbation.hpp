// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/robust_statistics.hpp"
#include "sim/base/units.hpp"

#include <cstddef>
#include <functional>

namespace schedlab {

/// What a profiler does to the times it measures.
struct Perturbation {
  RobustSummary plain;     ///< seconds, without it
  RobustSummary profiled;  ///< seconds, with it
  double slow_down = 1.0;  ///< median with it over median without
  Interval interval{};     ///< of the slow-down, 95 %, bootstrap over the runs of both kinds

  /// Is 1 outside of the interval?
  [[nodiscard]] bool visible() const { return !interval.contains(1.0); }
};

/// Runs the same work `runs` times without and then `runs` times with the profiler; `run(profiled)`
/// does it once and returns its makespan. All runs without come first, as a process cannot get rid
/// of a profiler that it has started: `run` starts it at the first call with true. The first run of
/// either kind is left out (cold caches, first use of a kernel).
///
/// Errors  ContractViolation for fewer than 3 runs, or a makespan that is not positive.
[[nodiscard]] Perturbation measure_perturbation(const std::function<Duration(bool profiled)>& run,
                                                std::size_t runs);

}  // namespace schedlab
