// SPDX-License-Identifier: Apache-2.0
#include "hw_models/cache_costs.hpp"

#include "sim/machine/kernel_profile.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr int max_rounds = 6;

}  // namespace

CacheCosts::Curve CacheCosts::curve(const Operation& step,
                                    const Problem& tasks,
                                    const CostModel& model,
                                    Duration known) const {
  if (step.kernels.size() != 1) return {known};
  const Device& device = tasks.platform.devices[DeviceId{0}];
  Operation operation = step;
  Kernel& kernel = operation.kernels.front();
  kernel.working_set = bytes_of_tensors(tasks.graph);
  Curve made;
  for (std::size_t i = 0; i < points; ++i) {
    const auto cached = static_cast<float>(i) / (points - 1);
    for (std::size_t j = 0; j < near_points_; ++j) {
      set_cached({.cached = cached, .unit_cached = cached * static_cast<float>(j) / (points - 1)},
                 kernel);
      made.push_back(model.estimate(operation, device).duration);
    }
  }
  const bool same = std::all_of(
      made.begin(), made.end(), [&](Duration duration) { return duration == made.front(); });
  return same ? Curve{known} : made;
}

/// In the row of so many 16ths cached, `near` of which the units' own caches have.
double CacheCosts::at(const Curve& curve, std::size_t cached, double near) const {
  const Duration* const row = curve.data() + cached * near_points_;
  if (near_points_ == 1) return static_cast<double>(row->count());
  const double at = near * (points - 1);
  const auto below = std::min(static_cast<std::size_t>(at), points - 2);
  const auto from = static_cast<double>(row[below].count());
  const auto to = static_cast<double>(row[below + 1].count());
  return from + (at - static_cast<double>(below)) * (to - from);
}

Duration CacheCosts::at(const Curve& curve, const CachedShare& share) const {
  const auto cached = static_cast<double>(share.cached);
  const double near =
      cached > 0 ? std::min(1.0, static_cast<double>(share.unit_cached) / cached) : 0.0;
  const double place = cached * (points - 1);
  const auto below = std::min(static_cast<std::size_t>(place), points - 2);
  const double from = at(curve, below, near);
  const double to = at(curve, below + 1, near);
  return Duration{std::llround(from + (place - static_cast<double>(below)) * (to - from))};
}

std::shared_ptr<const CacheCosts> CacheCosts::of(const Problem& tasks,
                                                 const KernelSteps* steps,
                                                 const CostModel& model) {
  const TaskGraph& graph = tasks.graph;
  const CacheLevels caches = profiled_caches(tasks.platform.devices[DeviceId{0}]);
  if (caches.last.size == Bytes{0} || graph.has_ranks() || graph.has_task_durations())
    return nullptr;
  auto made = std::shared_ptr<CacheCosts>(new CacheCosts(graph, caches));
  if (!made->contents_.known()) return nullptr;
  const TaskGraph& simulated = steps == nullptr ? graph : steps->graph();
  const CostTable& costs = steps == nullptr ? tasks.costs : steps->costs();
  for (const OperationId id : simulated.operations().ids()) {
    made->curves_.push_back(
        made->curve(simulated.operations()[id], tasks, model, costs.entry(id).estimate.duration));
  }
  TaskId step{0};
  for (const TaskId task : graph.tasks()) {
    const std::size_t count = steps == nullptr ? 1 : steps->step_count(task);
    for (std::size_t i = 0; i < count; ++i) {
      made->place_.push_back(made->contents_.first_kernel(task) + i);
      made->curve_of_.push_back(&made->curves_[simulated.operation_id(step)]);
      step = TaskId{step.value() + 1};
    }
  }
  return made;
}

IdVector<TaskId, Duration> CacheCosts::durations(std::span<const TaskId> order) const {
  const std::vector<CachedShare> shares = contents_.shares(order);
  IdVector<TaskId, Duration> result;
  for (std::size_t step = 0; step < place_.size(); ++step) {
    const Curve& curve = *curve_of_[step];
    result.push_back(curve.size() == 1 ? curve.front() : at(curve, shares[place_[step]]));
  }
  return result;
}

std::vector<TaskId> order_of_starts(const Trace& trace) {
  std::vector<const TaskSpan*> spans;
  spans.reserve(trace.tasks.size());
  for (const TaskSpan& span : trace.tasks) spans.push_back(&span);
  std::sort(spans.begin(), spans.end(), [](const TaskSpan* a, const TaskSpan* b) {
    return std::tuple(a->started, a->task) < std::tuple(b->started, b->task);
  });
  std::vector<TaskId> order;
  order.reserve(spans.size());
  for (const TaskSpan* span : spans) order.push_back(span->task);
  return order;
}

CostTable converge(const CacheCosts& caches,
                   const CostTable& nominal,
                   const Trace& first,
                   const std::function<const Trace&(const CostTable&)>& run) {
  CostTable costs = nominal;
  std::vector<TaskId> order = order_of_starts(first);
  for (int round = 0; round < max_rounds; ++round) {
    costs.set_task_durations(caches.durations(order));
    std::vector<TaskId> now = order_of_starts(run(costs));
    if (now == order) break;
    order = std::move(now);
  }
  return costs;
}

}  // namespace schedlab
