// SPDX-License-Identifier: Apache-2.0
// PlanIndex, continued: kernels that start while others drain, and streams with a part of the
// units.
#include "sim/plan/check/plan_check_index.hpp"
#include "sim/plan/partitions.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::checker {

namespace {

bool is_kernel(TaskKind kind) {
  return kind == TaskKind::gemm || kind == TaskKind::pointwise || kind == TaskKind::convolution ||
         kind == TaskKind::reduction || kind == TaskKind::fixed;
}

}  // namespace

void PlanIndex::check_partitions(FindingList& findings) {
  const auto wrong = [&](const std::string& text) {
    findings.add(FindingKind::malformed, HostId::none(), 0, [&] { return text; });
  };
  for (const StreamId stream : plan_.streams.ids()) {
    const std::uint32_t partition = plan_.streams[stream].partition;
    if (partition <= plan_.partitions.size()) continue;
    wrong(fmt::format(
        "{} is in partition {}, but the plan divides the units into {} besides the rest",
        plan_.stream_name(stream),
        partition,
        plan_.partitions.size()));
  }
  if (plan_.partitions.empty()) return;
  for (const Device& device : platform_.devices) {
    const std::string why = why_not_divided(platform_, device, plan_.partitions);
    if (!why.empty()) wrong(fmt::format("the plan has partitions of units: {}", why));
  }
}

/// Why no programmatic edge can be between the two tasks; empty: one can.
std::string PlanIndex::wrong_kernels(TaskId before, TaskId after, StreamId stream) const {
  const Device& device = platform_.device(plan_.streams[stream].device);
  if (!device.programmatic_gap) {
    return "is programmatic, but the device has no programmatic launches";
  }
  const Operation& first = graph_.operation(before);
  const Operation& second = graph_.operation(after);
  const bool kernels =
      is_kernel(first.kernels.empty() ? first.kind : first.kernels.back().kind) &&
      is_kernel(second.kernels.empty() ? second.kind : second.kernels.front().kind);
  if (kernels) return {};
  return fmt::format("is programmatic, but {} and {} are not both kernels",
                     graph_.name(before),
                     graph_.name(after));
}

/// A programmatic launch is right behind another one of its stream: anything between, or nothing at
/// all, and the device would wait as for any other launch.
void PlanIndex::check_programmatic(FindingList& findings) {
  for (const HostId host : plan_.hosts.ids()) {
    IdVector<StreamId, TaskId> last(plan_.streams.size());
    const auto& calls = plan_.hosts[host].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const HostCall call = calls[i];
      const HostCallKind kind = call.kind();
      if (skip(host, i) || !call.stream().valid() || kind == HostCallKind::query ||
          kind == HostCallKind::synchronize) {
        continue;
      }
      const TaskId before = std::exchange(last[call.stream()], TaskId::none());
      if (kind != HostCallKind::launch) continue;
      last[call.stream()] = call.task();
      if (!call.programmatic()) continue;
      const std::string wrong =
          before.valid() ? wrong_kernels(before, call.task(), call.stream())
                         : "is programmatic, but not right behind another launch in its stream";
      if (wrong.empty()) continue;
      findings.add(FindingKind::malformed, host, i, [&] {
        return fmt::format(
            "{} (launch of {}) {}", call_name(plan_, host, i), graph_.name(call.task()), wrong);
      });
    }
  }
  for (std::uint32_t g = 0; g < plan_.graphs.size(); ++g) {
    const DeviceGraph& graph = plan_.graphs[g];
    for (std::uint32_t node = 0; node < graph.node_count() && !graphs_[g].malformed; ++node) {
      if (!graph.programmatic(node)) continue;
      for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
        const std::string wrong = wrong_kernels(
            graph.task(row, graph.needs(node)[0]), graph.task(row, node), graph.stream(node));
        if (wrong.empty()) continue;
        findings.add(FindingKind::malformed, HostId::none(), 0, [&] {
          return fmt::format("node {} of {} {}", node, plan_.graph_name(g), wrong);
        });
        break;
      }
    }
  }
}

}  // namespace schedlab::checker
