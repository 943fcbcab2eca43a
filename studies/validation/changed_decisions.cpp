// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/changed_decisions.hpp"

#include "sim/base/robust_statistics.hpp"

#include <vector>

namespace schedlab {
namespace {

/// By task, the one before it on its stream; none(): it is the first, or not launched.
IdVector<TaskId, TaskId> tasks_before(const Plan& plan) {
  IdVector<TaskId, TaskId> before(plan.task_count());
  IdVector<StreamId, TaskId> last(plan.streams.size());
  for (const HostProgram& host : plan.hosts) {
    for (const HostCall call : host.calls) {
      if (call.kind() != HostCallKind::launch) continue;
      if (call.task().value() >= before.size()) before.resize(call.task().value() + 1);
      before[call.task()] = last[call.stream()];
      last[call.stream()] = call.task();
    }
  }
  return before;
}

}  // namespace

double changed_decisions(const Plan& predicted, const Plan& decided) {
  const IdVector<TaskId, TaskId> expected = tasks_before(predicted);
  const IdVector<TaskId, TaskId> made = tasks_before(decided);
  if (made.empty()) return 0;
  std::size_t changed = 0;
  for (const TaskId task : made.ids()) {
    if (!expected.contains(task) || expected[task] != made[task]) ++changed;
  }
  return static_cast<double>(changed) / static_cast<double>(made.size());
}

std::optional<double> changed_decisions(const Plan& predicted, std::span<const Plan> decided) {
  if (decided.empty()) return std::nullopt;
  std::vector<double> shares;
  for (const Plan& plan : decided) shares.push_back(changed_decisions(predicted, plan));
  return median(shares);
}

}  // namespace schedlab
