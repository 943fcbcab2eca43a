// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/cut_kernels.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/copy_graph.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

bool is_cut(TaskKind kind) {
  return kind == TaskKind::gemm || kind == TaskKind::pointwise || kind == TaskKind::reduction ||
         kind == TaskKind::convolution;
}

}  // namespace

CutKernels::CutKernels(const CutRule& rule, std::uint32_t units) : rule_(rule), units_(units) {
  SCHEDLAB_EXPECTS(rule.flops_per_block > 0.0 && rule.bytes_per_block > 0.0 && units >= 1,
                   "rule of cut_kernels");
}

std::optional<CutKernels> CutKernels::for_device(const Device& device) {
  if (calibrated_profile(device) == nullptr) return std::nullopt;
  return CutKernels{device.profile->cut, units_for(device.rates.matrix_units, device)};
}

std::uint32_t CutKernels::units_for(std::uint32_t units, const Device& device) {
  const std::uint32_t most = device.rates.units_per_kernel;
  return std::max(1U, most > 0 ? std::min(units, most) : units);
}

TaskGraph CutKernels::apply(const TaskGraph& graph) const {
  TaskGraphBuilder builder;
  builder.reserve(graph.task_count(), graph.edge_count());
  for (Operation operation : graph.operations()) {
    for (Kernel& kernel : operation.kernels) {
      if (is_cut(kernel.kind) && kernel.grid.blocks == 0) {
        kernel.grid.blocks = rule_.blocks(kernel, units_);
      }
    }
    builder.add_operation(std::move(operation));
  }
  IdVector<TaskId, TaskId> same_id(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    const OperationId operation = graph.operation_id(task);
    // Ids stay, so names that are made of them stay; only explicit ones must be copied.
    same_id[task] = graph.has_explicit_names()
                        ? builder.add_task(operation, graph.tags(task), graph.name(task))
                        : builder.add_task(operation, graph.tags(task));
    if (graph.has_task_durations()) builder.set_duration(task, graph.fixed_duration(task));
  }
  detail::copy_edges_and_tensors(graph, same_id, builder);
  return std::move(builder).build();
}

}  // namespace schedlab
