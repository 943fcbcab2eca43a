// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/graph_draft.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab::detail {

void GraphDraft::refuse(const std::string& pointer,
                        const std::string& found,
                        const std::string& expected) const {
  throw InputError(
      {.file = file_, .pointer = pointer, .found = found, .expected = expected, .hint = {}});
}

std::int64_t GraphDraft::size(std::int64_t number) {
  if (number >= 0 && number <= GraphTotals::largest_size) return number;
  problem(Severity::notice, "size_out_of_range", fmt::format("{}", number));
  return 0;
}

Duration GraphDraft::duration_us(double us) {
  if (us >= 0 && us <= static_cast<double>(GraphTotals::longest_duration) * 1e-6) {
    return from_us(us);
  }
  problem(Severity::notice, "time_out_of_range", fmt::format("{} us", us));
  return Duration{0};
}

OperationId GraphDraft::operation_of(DraftTask& task) {
  const bool collective = task.kind == TaskKind::collective;
  std::vector<OperationId>& same_name = by_name_[task.operation];
  for (const OperationId id : same_name) {
    const Operation& known = operations_[id.value()];
    if (known.kind == task.kind && known.kernels == task.kernels &&
        (!collective || known.fixed_duration == task.duration)) {
      return id;
    }
  }
  Operation operation{.name = task.operation,
                      .kind = task.kind,
                      .task_class = TaskClass::unclassified,
                      .kernels = std::move(task.kernels),
                      .fixed_duration = collective ? task.duration : Duration{0}};
  for (const Kernel& kernel : operation.kernels) {
    if (!totals_.add_bytes(kernel.bytes_read.count() + kernel.bytes_written.count())) {
      refuse(task.name, "more bytes than can be counted", "smaller operators");
    }
  }
  operations_.push_back(operation);
  same_name.push_back(builder_.add_operation(std::move(operation)));
  return same_name.back();
}

TaskId GraphDraft::add(DraftTask task) {
  const TaskId id{static_cast<std::uint32_t>(builder_.task_count())};
  if (!by_key_.try_emplace(task.key, id).second) {
    problem(Severity::data_loss, "duplicate_id", task.key);
    return TaskId::none();
  }
  if (!totals_.add_duration(task.duration.count())) {
    refuse(task.name, "tasks that take more than 26 days together", "shorter ones");
  }
  const OperationId operation = operation_of(task);
  builder_.add_task(operation, {}, task.name);
  // A graph without durations of its own takes them from a cost model.
  if (task.duration > Duration{0}) builder_.set_duration(id, task.duration);
  return id;
}

void GraphDraft::join(const std::vector<TaskId>& parts, CollectiveSpec spec) {
  const CollectiveId joined = builder_.add_collective(spec);
  for (const TaskId task : parts) builder_.joins(task, joined);
}

TaskGraph GraphDraft::finish() && {
  if (builder_.task_count() == 0) refuse({}, "no task that can be read", "a graph with tasks");
  for (const auto& [task, key] : needs_) {
    const auto needed = by_key_.find(key);
    if (needed == by_key_.end()) {
      problem(Severity::notice, "unknown_dependency", key);
    } else if (needed->second == task) {
      problem(Severity::notice, "dependency_on_itself", key);
    } else {
      edges_.emplace_back(needed->second, task);
    }
  }
  std::sort(edges_.begin(), edges_.end(), [](const auto& a, const auto& b) {
    return std::pair{a.second, a.first} < std::pair{b.second, b.first};
  });
  for (const auto& [from, to] : edges_) builder_.add_edge(from, to);
  try {
    return std::move(builder_).build();
  } catch (const InputError& error) {
    refuse({}, error.problem().found, error.problem().expected);
  }
}

}  // namespace schedlab::detail
