// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/kernel_steps.hpp"
#include "sim/machine/cache_contents.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace schedlab {

/// What kernels take by what they find in the caches, which depends on what ran before them, so on
/// the schedule: CacheContents applied to the starts of a simulated run, and the cost model asked
/// for what each kernel then takes. Costs and starts depend on each other; a run is simulated with
/// the costs of the run before until tasks start in the same order (converge()).
class CacheCosts {
 public:
  /// nullptr where costs do not depend on it: the first device's profile does not know what was in
  /// the cache when it was measured, or the graph has no tensors or several ranks.
  /// `tasks` must outlive it, and `steps` too unless it is nullptr. Throws what `model` throws.
  [[nodiscard]] static std::shared_ptr<const CacheCosts> of(const Problem& tasks,
                                                            const KernelSteps* steps,
                                                            const CostModel& model);

  /// Durations of what is simulated, the steps if there are any, in a run whose tasks start in
  /// this order.
  [[nodiscard]] IdVector<TaskId, Duration> durations(std::span<const TaskId> order) const;

 private:
  CacheCosts(const TaskGraph& graph, const CacheLevels& caches)
      : contents_(graph, caches), near_points_(caches.units.size > Bytes{0} ? points : 1) {}

  static constexpr std::size_t points = 17;  // shares 0, 1/16, ... 1 // assumed: smooth between
  /// By the share that is cached, one row each, and in it by what of that the units' own caches
  /// have (near_points_); one entry: it does not matter.
  using Curve = std::vector<Duration>;
  [[nodiscard]] Curve curve(const Operation& step,
                            const Problem& tasks,
                            const CostModel& model,
                            Duration known) const;
  [[nodiscard]] double at(const Curve& curve, std::size_t cached, double near) const;
  [[nodiscard]] Duration at(const Curve& curve, const CachedShare& share) const;

  CacheContents contents_;
  std::size_t near_points_;
  std::vector<std::size_t> place_;       // of each step in shares()
  std::vector<const Curve*> curve_of_;   // by step
  IdVector<OperationId, Curve> curves_;  // of the steps' operations
};

/// Tasks by start, those that start together by id.
[[nodiscard]] std::vector<TaskId> order_of_starts(const Trace& trace);

/// Simulates with costs that fit to what it simulates. `run`: simulates with these costs, returns
/// the trace of the tasks. `first`: the trace with `nominal` costs. At most 6 rounds (orders that
/// alternate; the last one counts). Returns the costs that the last run had.
[[nodiscard]] CostTable converge(const CacheCosts& caches,
                                 const CostTable& nominal,
                                 const Trace& first,
                                 const std::function<const Trace&(const CostTable&)>& run);

}  // namespace schedlab
