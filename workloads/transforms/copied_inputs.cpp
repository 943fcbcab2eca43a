// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/copied_inputs.hpp"

#include "sim/base/error.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// A copy without bytes has no kernel: all that is known of it is that it takes `latency`.
Operation input_copy(const CopiedInputs::Options& options, Bytes bytes) {
  Operation copy{.name = "input",
                 .kind = TaskKind::copy_host_to_device,
                 .task_class = TaskClass::unclassified,
                 .kernels = {},
                 .fixed_duration = options.latency};
  if (bytes == Bytes{0}) return copy;
  copy.kernels = {copy_kernel(copy.kind, bytes.count(), DataType::fp32)};
  copy.fixed_duration += bytes / options.link;
  return copy;
}

std::string copy_name(std::uint32_t number, std::uint32_t rank, std::uint32_t ranks) {
  return ranks == 1 ? fmt::format("input({})", number) : fmt::format("input({})@{}", number, rank);
}

/// The copies of every rank, one after another; gives the last one of each.
std::vector<TaskId> add_copies(const TaskGraph& graph,
                               const CopiedInputs::Options& options,
                               TaskGraphBuilder& builder) {
  const Bytes each{options.bytes.count() / options.count};
  const Operation usual = input_copy(options, each);
  const Operation last = input_copy(options, options.bytes - each * (options.count - 1));
  const OperationId usual_id = builder.add_operation(usual);
  const OperationId last_id = last == usual ? usual_id : builder.add_operation(last);
  const std::uint32_t ranks = graph.rank_count();
  std::vector<TaskId> arrived;
  arrived.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t i = 0; i < options.count; ++i) {
      const bool ends = i + 1 == options.count;
      const TaskId copy =
          builder.add_task(ends ? last_id : usual_id, {}, copy_name(i, rank, ranks));
      if (graph.has_task_durations()) {
        builder.set_duration(copy, ends ? last.fixed_duration : usual.fixed_duration);
      }
      if (graph.has_ranks()) builder.set_rank(copy, rank);
      if (i > 0) builder.add_edge(TaskId{copy.value() - 1}, copy);
      if (ends) arrived.push_back(copy);
    }
  }
  return arrived;
}

}  // namespace

TaskGraph CopiedInputs::apply(const TaskGraph& graph) const {
  const std::uint32_t count = options_.count;
  SCHEDLAB_EXPECTS(count > 0, "no inputs are copied");
  SCHEDLAB_EXPECTS(options_.bytes == Bytes{0} || options_.link > Bandwidth{0.0},
                   "bytes are copied over a link");
  const std::uint64_t ranks = graph.rank_count();
  if (graph.task_count() + ranks * count >= std::numeric_limits<std::uint32_t>::max()) {
    throw InfeasibleError(
        fmt::format("copied_inputs: {} copies on each of {} ranks are more tasks than can be "
                    "numbered",
                    count,
                    ranks));
  }
  TaskGraphBuilder builder;
  for (const Operation& operation : graph.operations()) builder.add_operation(operation);
  IdVector<TaskId, TaskId> same;
  for (const TaskId task : graph.tasks()) {
    same.push_back(detail::copy_task(graph, task, graph.operation_id(task), builder));
  }
  const std::vector<TaskId> arrived = add_copies(graph, options_, builder);
  for (const TaskId task : graph.tasks()) {
    if (graph.predecessors(task).empty()) builder.add_edge(arrived[graph.rank(task)], task);
  }
  detail::copy_edges_and_tensors(graph, same, builder);
  return std::move(builder).build();
}

TaskGraph with_sunk_copies(const TaskGraph& graph, const SinkRun& run, const Platform& platform) {
  const Device& device = platform.devices[DeviceId{0}];
  if (run.copied > Bytes{0} && device.rates.host_to_device <= Bandwidth{0.0}) {
    throw InfeasibleError(
        fmt::format("launch sink copies inputs to device \"{}\", which has no link to its host\n"
                    "  give host_to_device_gb_per_s, or leave out copied_mib",
                    device.name));
  }
  const CopiedInputs copies{{.count = sunk_copies(run),
                             .bytes = run.copied,
                             .latency = device.rates.copy_latency,
                             .link = device.rates.host_to_device}};
  return copies.apply(graph);
}

}  // namespace schedlab
