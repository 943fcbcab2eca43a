// SPDX-License-Identifier: Apache-2.0
// What every workload is at its defaults: sizes, work and shape of the graph. After an intended
// change:
//   SCHEDLAB_UPDATE_GOLDEN=1 ctest -R workloads_golden_test      and review the diff like code.
#include "tests/support/golden.hpp"

#include "workloads/registry.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace schedlab {
namespace {

std::string statistics(const std::string& name, const TaskGraph& graph) {
  double flops = 0;
  double read = 0;
  double written = 0;
  std::map<std::string, std::size_t> count;
  std::uint32_t deepest = 0;
  IdVector<TaskId, std::uint32_t> depth(graph.task_count(), 1);
  for (const TaskId task : graph.topological_order()) {
    const Operation& operation = graph.operation(task);
    flops += operation.flops().count();
    read += static_cast<double>(operation.bytes_read().count());
    written += static_cast<double>(operation.bytes_written().count());
    ++count[operation.name];
    for (const TaskId before : graph.predecessors(task)) {
      depth[task] = std::max(depth[task], depth[before] + 1);
    }
    deepest = std::max(deepest, depth[task]);
  }
  double bytes = 0;
  for (const TensorId tensor : graph.tensors().ids()) {
    bytes += static_cast<double>(graph.tensors().bytes(tensor).count());
  }
  std::string text = fmt::format(
      "{}: {} tasks, {} edges, {} levels\n  {:.0f} FLOP, {:.0f} B read, {:.0f} B written; {} "
      "tensors of "
      "{:.0f} B\n",
      name,
      graph.task_count(),
      graph.edge_count(),
      deepest,
      flops,
      read,
      written,
      graph.tensors().size(),
      bytes);
  for (const auto& [operation, tasks] : count) text += fmt::format("  {} {}\n", tasks, operation);
  return text;
}

TEST_CASE("every workload has the sizes that were reviewed") {
  std::string text;
  for (const WorkloadInfo& info : workloads()) {
    if (std::any_of(info.options.begin(), info.options.end(), [](const OptionSpec& option) {
          return option.required;
        })) {
      continue;  // needs a file, or is nothing without its sizes
    }
    text += statistics(info.name, make_workload(info.name));
  }
  testing::check_golden("workloads", text);
}

}  // namespace
}  // namespace schedlab
