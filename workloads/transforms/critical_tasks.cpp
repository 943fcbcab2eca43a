// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/critical_partition.hpp"

#include <algorithm>
#include <vector>

namespace schedlab {
namespace {

// NVIDIA, Tesla P100 data sheet (PCIe): single precision and bandwidth.
constexpr FlopRate nominal_rate = 9.3_TFLOP_per_s;
constexpr Bandwidth nominal_bandwidth = 732_GB_per_s;

/// The dependencies that carry data, both ways.
struct DataFlow {
  IdVector<TaskId, std::vector<TaskId>> before;
  IdVector<TaskId, std::vector<TaskId>> after;
};

using WrittenBy = IdVector<TaskId, std::vector<TensorId>>;

bool add_into_one_buffer(const TaskGraph& graph, const WrittenBy& written, TaskId a, TaskId b) {
  return std::any_of(written[a].begin(), written[a].end(), [&](TensorId id) {
    return graph.tensors().accumulate(id) &&
           std::find(written[b].begin(), written[b].end(), id) != written[b].end();
  });
}

bool hands_over(const TaskGraph& graph, const WrittenBy& written, TaskId a, TaskId b) {
  return std::any_of(written[a].begin(), written[a].end(), [&](TensorId id) {
    const auto readers = graph.tensors().readers(id);
    return std::find(readers.begin(), readers.end(), b) != readers.end();
  });
}

bool updates(const TaskGraph& graph, TaskId task) {
  return graph.operation(task).task_class == TaskClass::update;
}

DataFlow data_flow(const TaskGraph& graph) {
  WrittenBy written(graph.task_count());
  for (const TensorId id : graph.tensors().ids()) {
    for (const TaskId task : graph.tensors().writers(id)) written[task].push_back(id);
  }
  DataFlow flow{IdVector<TaskId, std::vector<TaskId>>(graph.task_count()),
                IdVector<TaskId, std::vector<TaskId>>(graph.task_count())};
  for (const TaskId task : graph.tasks()) {
    if (updates(graph, task)) continue;  // what follows belongs to the next step
    for (const TaskId next : graph.successors(task)) {
      if (add_into_one_buffer(graph, written, task, next) &&
          !hands_over(graph, written, task, next)) {
        continue;
      }
      flow.after[task].push_back(next);
      flow.before[next].push_back(task);
    }
  }
  return flow;
}

}  // namespace

Duration nominal_duration(const TaskGraph& graph, TaskId task) {
  const Duration given = graph.fixed_duration(task);
  if (given > Duration{0}) return given;
  Duration sum{0};
  for (const Kernel& kernel : graph.operation(task).kernels) {
    sum += std::max(kernel.flops / nominal_rate,
                    (kernel.bytes_read + kernel.bytes_written) / nominal_bandwidth);
  }
  return sum;
}

IdVector<TaskId, std::uint8_t> critical_tasks(const TaskGraph& graph) {
  const DataFlow flow = data_flow(graph);
  const std::vector<TaskId> order = graph.topological_order();
  IdVector<TaskId, Duration> length(graph.task_count());
  IdVector<TaskId, Duration> start(graph.task_count(), Duration{0});
  IdVector<TaskId, Duration> behind(graph.task_count(), Duration{0});
  for (const TaskId task : graph.tasks()) length[task] = nominal_duration(graph, task);
  Duration longest{0};
  for (const TaskId task : order) {
    for (const TaskId other : flow.before[task]) {
      start[task] = std::max(start[task], start[other] + length[other]);
    }
    longest = std::max(longest, start[task] + length[task]);
  }
  std::for_each(order.rbegin(), order.rend(), [&](TaskId task) {
    for (const TaskId other : flow.after[task]) {
      behind[task] = std::max(behind[task], length[other] + behind[other]);
    }
  });

  std::vector<std::int64_t> votes(graph.operations().size(), 0);  // critical less others
  for (const TaskId task : graph.tasks()) {
    const Duration slack = longest - start[task] - length[task] - behind[task];
    const bool critical = slack == Duration{0} || behind[task] > slack;
    votes[graph.operation_id(task).value()] += critical ? 1 : -1;
  }
  IdVector<TaskId, std::uint8_t> result(graph.task_count(), 0);
  std::for_each(order.rbegin(), order.rend(), [&](TaskId task) {
    if (updates(graph, task)) return;
    const auto& after = flow.after[task];
    const bool needed =
        std::any_of(after.begin(), after.end(), [&](TaskId other) { return result[other] != 0; });
    result[task] = needed || votes[graph.operation_id(task).value()] >= 0 ? 1 : 0;
  });
  return result;
}

}  // namespace schedlab
