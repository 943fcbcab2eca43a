// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/pytorch_source.hpp"

#include "real_exec/cpu/proxy_shapes.hpp"
#include "real_exec/executor/graph_lanes.hpp"
#include "sim/base/error.hpp"
#include "studies/base/version.hpp"
#include "studies/emit/emitted_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace schedlab {
namespace {

void refuse_for_pytorch(const std::string& what) {
  throw InfeasibleError("the plan is not emitted for PyTorch: " + what);
}

/// A literal of Python, which takes those of JSON.
std::string python_text(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string_view torch_type(DataType type) {
  switch (type) {
    case DataType::fp64:
      return "float64";
    case DataType::fp16:
      return "float16";
    case DataType::bf16:
      return "bfloat16";
    case DataType::int8:
      refuse_for_pytorch("torch.bmm does not multiply int8 on CUDA devices; set \"data_type\"");
      [[fallthrough]];
    default:
      return "float32";
  }
}

void expect_possible(const EmittedPlan& emitted) {
  const Plan& plan = emitted.plan;
  for (const StreamId stream : plan.streams.ids()) {
    if (plan.streams[stream].sync == StreamSync::non_blocking) continue;
    refuse_for_pytorch(
        fmt::format("{} is ordered with the legacy default stream, and PyTorch's streams are "
                    "not; leave out default_stream",
                    plan.stream_name(stream)));
  }
  if (plan.programmatic()) {
    refuse_for_pytorch("PyTorch launches no kernels programmatically; leave out programmatic");
  }
  if (!plan.graphs.empty() && plan.count(HostCallKind::launch) > 0) {
    refuse_for_pytorch(
        "it launches some tasks in device graphs and some by themselves, and PyTorch captures "
        "before a run");
  }
  for (const Operation& operation : emitted.graph().operations()) {
    if (operation.kind == TaskKind::collective) {
      refuse_for_pytorch(fmt::format("operation {} is a collective", operation.name));
    }
  }
}

std::string kernels_text(const Operation& operation) {
  std::vector<std::string> kernels;
  for (const Kernel& kernel : operation.kernels) {
    if (detail::is_product(kernel)) {
      kernels.push_back(fmt::format("(\"product\", {}, {}, {}, {}, \"{}\")",
                                    kernel.m,
                                    kernel.n,
                                    kernel.k,
                                    detail::product_count(kernel),
                                    torch_type(kernel.type)));
    } else if (kernel.kind == TaskKind::fixed) {
      kernels.emplace_back("(\"time\",)");
    } else {
      kernels.push_back(fmt::format(
          "(\"bytes\", {}, {})", kernel.bytes_read.count(), kernel.bytes_written.count()));
    }
  }
  if (kernels.empty()) kernels.emplace_back("(\"time\",)");
  return fmt::format("[{}]", fmt::join(kernels, ", "));
}

/// `rows` in a list of Python, one a line.
std::string list_text(std::string_view name, const std::vector<std::string>& rows) {
  std::string text = fmt::format("{} = [\n", name);
  for (const std::string& row : rows) text += fmt::format("    {},\n", row);
  return text + "]\n";
}

std::string call_text(HostCall call) {
  const std::uint32_t stream = call.stream().valid() ? call.stream().value() : 0;
  switch (call.kind()) {
    case HostCallKind::launch:
    case HostCallKind::record:
    case HostCallKind::wait:
    case HostCallKind::graph_launch:
      return fmt::format("(\"{}\", {}, {})", to_string(call.kind()), stream, call.argument());
    case HostCallKind::create_stream:
    case HostCallKind::destroy_stream:
    case HostCallKind::query:
      return fmt::format("(\"{}\", {})", to_string(call.kind()), stream);
    case HostCallKind::sleep:
    case HostCallKind::graph_load:
      return fmt::format("(\"{}\", {})", to_string(call.kind()), call.argument());
    default:
      if (call.stream().valid()) return fmt::format("(\"synchronize_stream\", {})", stream);
      if (call.argument() == HostCall::none) return "(\"synchronize\",)";
      return fmt::format("(\"synchronize_event\", {})", call.argument());
  }
}

std::string graph_text(const DeviceGraph& graph) {
  const GraphLanes lanes = graph_lanes(graph);
  std::string text = "{\"nodes\": [";
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    text += fmt::format("{}({}, {}, [{}])",
                        node == 0 ? "" : ", ",
                        graph.stream(node).value(),
                        lanes.of[node],
                        fmt::join(graph.needs(node), ", "));
  }
  text += "], \"launches\": [";
  for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
    std::vector<std::uint32_t> tasks;
    for (const TaskId task : graph.tasks(row)) tasks.push_back(task.value());
    text += fmt::format("{}[{}]", row == 0 ? "" : ", ", fmt::join(tasks, ", "));
  }
  return text + "]}";
}

std::string tables(const EmittedPlan& emitted) {
  const TaskGraph& graph = emitted.graph();
  const Plan& plan = emitted.plan;
  std::vector<std::string> rows;
  for (const StreamId stream : plan.streams.ids()) {
    rows.push_back(fmt::format(
        "({}, {})", plan.streams[stream].priority, python_text(plan.stream_name(stream))));
  }
  std::string text = fmt::format(
      "TITLE = {}\nPREDICTED_US = {:.6f}\n", python_text(emitted.title), to_us(emitted.makespan));
  text += list_text("STREAMS", rows) + fmt::format("EVENTS = {}\n", plan.event_count);
  rows.clear();
  for (const TaskId task : graph.tasks()) rows.push_back(python_text(graph.name(task)));
  text += list_text("TASKS", rows);
  rows.clear();
  for (const Operation& operation : graph.operations()) {
    rows.push_back(fmt::format("({}, {})", python_text(operation.name), kernels_text(operation)));
  }
  text += list_text("OPERATIONS", rows);
  std::vector<std::uint32_t> operations;
  std::vector<std::string> times;
  for (const TaskId task : graph.tasks()) {
    operations.push_back(graph.operation_id(task).value());
    times.push_back(fmt::format("{:.6g}", to_us(emitted.problem->costs.duration(task))));
  }
  text += fmt::format("TASK_OPERATION = [{}]\nTASK_US = [{}]\n",
                      fmt::join(operations, ", "),
                      fmt::join(times, ", "));
  rows.clear();
  for (const DeviceGraph& each : plan.graphs) rows.push_back(graph_text(each));
  text += list_text("GRAPHS", rows);
  rows.clear();
  for (const HostCall call : plan.hosts[HostId{0}].calls) rows.push_back(call_text(call));
  return text + list_text("CALLS", rows);
}

}  // namespace

EmittedSource pytorch_source(const EmittedPlan& emitted) {
  expect_possible(emitted);
  std::string text = fmt::format(
      "# Emitted by schedlab {}.\n"
      "\"\"\"A schedule as a program. With proxy kernels: python FILE. With a module that "
      "schedlab.from_torch() read:\n"
      "\n"
      "    fast = PlannedModule(module.cuda(), *example)\n"
      "    y = fast(*inputs)\n"
      "\"\"\"\n\n"
      "import argparse\nimport functools\nimport statistics\nimport time\n\n"
      "import torch\nimport torch.fx\n\n",
      program_version());
  text += tables(emitted) + "\n\n";
  text += emitted_text("planned");
  return {.text = std::move(text),
          .what = "operators of a module (PlannedModule), or proxy kernels of their shapes"};
}

}  // namespace schedlab
