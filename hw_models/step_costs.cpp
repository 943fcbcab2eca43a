// SPDX-License-Identifier: Apache-2.0
#include "hw_models/step_costs.hpp"

#include "sim/machine/cache_reuse.hpp"

#include <algorithm>
#include <cstddef>

namespace schedlab {
namespace {

/// Adds the steps of one operation, which `gap` follows, to a row.
void append_steps(std::vector<Estimate> steps,
                  Duration pauses,
                  Duration gap,
                  std::vector<Estimate>& row) {
  const auto followers = static_cast<std::int64_t>(steps.size()) - 1;
  Duration owed = followers > 0 ? pauses - gap * followers : Duration{0};
  for (std::int64_t left = followers; left > 0; --left) {
    Estimate& step = steps[steps.size() - static_cast<std::size_t>(left)];
    const Duration part = std::max(owed / left, -step.duration);
    step.duration += part;
    owed -= part;
  }
  steps.front().duration += std::max(owed, -steps.front().duration);
  row.insert(row.end(), steps.begin(), steps.end());
}

}  // namespace

bool several_kernels(const Operation& operation) {
  return operation.kernels.size() > 1 && operation.kind != TaskKind::fixed &&
         operation.kind != TaskKind::host;
}

Operation step_of(const Operation& operation, const Kernel& kernel) {
  return {.name = operation.name,
          .kind = kernel.kind,
          .task_class = operation.task_class,
          .kernels = {kernel},
          .fixed_duration = Duration{0}};
}

StepCosts::StepCosts(const TaskGraph& graph,
                     const Platform& platform,
                     const CostTable& costs,
                     const CostModel& model)
    : platform_(platform), model_(model) {
  const CacheReuse reuse{graph, platform};
  for (const DeviceId kind : platform.devices.ids()) {
    const Device& device = platform.devices[kind];
    auto& row = operations_.emplace_back();
    for (const OperationId id : graph.operations().ids()) {
      const Operation& operation = graph.operations()[id];
      const auto known = reuse.with_cached_bytes(id, operation, device);
      row.push_back(steps_of(known ? *known : operation, costs.entry(id, kind), device));
    }
  }
}

StepCosts::Steps StepCosts::steps_of(const Operation& operation,
                                     const CostTable::Entry& whole,
                                     const Device& device) const {
  const std::int64_t tasks = platform_.host(HostId{0}).operator_tasks;
  Steps made{.each = {whole.estimate}, .pauses = Duration{0}};
  // The cost table adds the gaps between the tasks of an operator again.
  made.each.front().duration -= device.operator_gap * (whole.launches * (tasks - 1));
  if (!several_kernels(operation)) return made;
  made.pauses = made.each.front().duration;
  made.each.clear();
  for (const Kernel& kernel : operation.kernels) {
    made.each.push_back(model_.estimate(step_of(operation, kernel), device));
    made.pauses -= made.each.back().duration;
  }
  return made;
}

CostTable StepCosts::table(const TaskGraph& steps, Duration Device::*gap) {
  first_ = steps.operations().raw().data();
  current_.assign(operations_.size(), {});
  for (const DeviceId kind : platform_.devices.ids()) {
    for (const Steps& own : operations_[kind.value()]) {
      append_steps(own.each, own.pauses, platform_.devices[kind].*gap, current_[kind.value()]);
    }
  }
  CostTable costs(steps, platform_, *this);
  std::uint32_t step = 0;
  for (const Steps& own : operations_.front()) {
    const auto count = static_cast<std::uint32_t>(own.each.size());
    for (std::uint32_t i = 0; i < count && count > 1; ++i) {
      for (const DeviceId kind : platform_.devices.ids()) {
        const CostTable::Entry& entry = costs.entry(OperationId{step + i}, kind);
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): of the table made here
        const_cast<CostTable::Entry&>(entry).launches = i == 0 ? count : 0;
      }
    }
    step += count;
  }
  return costs;
}

Estimate StepCosts::estimate(const Operation& step, const Device& device) const {
  const auto kind = static_cast<std::size_t>(&device - platform_.devices.raw().data());
  return current_[kind][static_cast<std::size_t>(&step - first_)];
}

}  // namespace schedlab
