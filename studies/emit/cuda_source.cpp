// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/cuda_source.hpp"

#include "real_exec/executor/graph_lanes.hpp"
#include "sim/base/error.hpp"
#include "studies/base/version.hpp"
#include "studies/emit/code_names.hpp"
#include "studies/emit/emitted_texts.hpp"
#include "studies/emit/task_code.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace schedlab {
namespace {

/// The program, part by part in the order of the file.
class CudaSource {
 public:
  CudaSource(const EmittedPlan& emitted, TaskCode code)
      : emitted_(emitted),
        plan_(emitted.plan),
        code_(std::move(code)),
        made_by_plan_(plan_.streams.size(), false) {
    CodeNames names;
    for (const TaskId task : emitted.graph().tasks()) {
      names_.push_back(names.add(emitted.graph().name(task)));
    }
    for (const HostCall call : calls()) {
      if (call.kind() == HostCallKind::create_stream) made_by_plan_[call.stream()] = true;
    }
  }

  [[nodiscard]] std::string text() const {
    std::string made = head();
    made += emitted_text("base");
    for (const std::string_view part : code_.texts) {
      made += "\n";
      made += emitted_text(part);
    }
    if (!plan_.graphs.empty()) {
      made += "\n";
      made += emitted_text("graphs");
    }
    made += "\n" + data() + tasks() + streams() + graphs() + run() + "\n";
    made += emitted_text("main");
    return made;
  }

 private:
  [[nodiscard]] const std::vector<HostCall>& calls() const { return plan_.hosts[HostId{0}].calls; }

  [[nodiscard]] std::string head() const {
    return fmt::format(
        "// {title}\n"
        "// Emitted by schedlab {version}: {tasks} tasks, {streams} streams, {events} events, "
        "{graphs} device graphs, {calls} host calls.\n"
        "// Tasks: {what}.\n"
        "//\n"
        "//   nvcc -std=c++20 -O3 -arch=sm_90 FILE.cu -lcublas -o program    (CUDA 12.3 or later; "
        "-DNVTX names tasks for Nsight Systems)\n"
        "//   ./program [RUNS]\n"
        "#include <cublas_v2.h>\n#include <cuda_bf16.h>\n#include <cuda_runtime.h>\n"
        "#ifdef NVTX\n#include <nvtx3/nvToolsExt.h>\n#include "
        "<nvtx3/nvToolsExtCudaRt.h>\n#endif\n\n"
        "#include <algorithm>\n#include <chrono>\n#include <cmath>\n#include <cstdio>\n"
        "#include <cstdlib>\n#include <map>\n#include <thread>\n#include <vector>\n\n",
        fmt::arg("title", comment(emitted_.title)),
        fmt::arg("version", program_version()),
        fmt::arg("tasks", emitted_.graph().task_count()),
        fmt::arg("streams", plan_.streams.size()),
        fmt::arg("events", plan_.event_count),
        fmt::arg("graphs", plan_.graphs.size()),
        fmt::arg("calls", calls().size()),
        fmt::arg("what", code_.what));
  }

  [[nodiscard]] std::string data() const {
    std::string made = "namespace {\n\n// ---- what tasks work on\n" + code_.memory + "\n";
    made += "void allocate() {\n" + code_.allocate + "}\n";
    made +=
        "/// What is there before a first run.\nvoid prepare([[maybe_unused]] const Lane& to) {\n" +
        code_.prepare + "}\n";
    made += "/// As it was before the first run; what tasks write is NaN.\nvoid reset() {\n" +
            code_.reset + "}\n";
    made += "std::vector<Output> outputs() {\n  return {\n" + code_.outputs + "  };\n}\n\n";
    made += code_.operations;
    return made;
  }

  [[nodiscard]] std::string tasks() const {
    std::string made = "// ---- tasks\nnamespace tasks {\n\n";
    for (const TaskId task : emitted_.graph().tasks()) {
      made += fmt::format("void {}(const Lane& to) {{\n  const Range range({});\n{}}}\n",
                          names_[task],
                          text_literal(emitted_.graph().name(task)),
                          code_.tasks[task]);
    }
    return made + "\n}  // namespace tasks\n\n";
  }

  [[nodiscard]] std::string create_text(StreamId id) const {
    const StreamSpec& stream = plan_.streams[id];
    if (stream.sync == StreamSync::legacy_default) {
      return fmt::format("  bind(lanes[{}], cudaStreamLegacy);\n", id.value());
    }
    return fmt::format(
        "  create_stream(lanes[{0}], {1}, {2}, {3});\n",
        id.value(),
        text_literal(fmt::format("{} {}", id.value(), plan_.stream_name(id))),
        stream.priority,
        stream.sync == StreamSync::blocking ? "cudaStreamDefault" : "cudaStreamNonBlocking");
  }

  [[nodiscard]] std::string streams() const {
    std::string made = fmt::format(
        "// ---- the plan\nLane lanes[{}];\ncudaEvent_t events[{}];\n\n"
        "/// Streams and events that are there from the start.\nvoid make_streams() {{\n"
        "  for (Lane& lane : lanes) lane = make_lane();\n"
        "  for (cudaEvent_t& event : events) {{\n"
        "    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));\n  }}\n",
        std::max<std::size_t>(plan_.streams.size(), 1),
        std::max(plan_.event_count, 1U));
    for (const StreamId id : plan_.streams.ids()) {
      if (!made_by_plan_[id]) made += create_text(id);
    }
    return made + "}\n";
  }

  /// Per graph and launch one executable graph.
  [[nodiscard]] std::string graphs() const {
    std::string made;
    std::string all;
    std::size_t first_lane = 0;
    for (std::size_t g = 0; g < plan_.graphs.size(); ++g) {
      const DeviceGraph& graph = plan_.graphs[g];
      const GraphLanes lanes = graph_lanes(graph);
      const std::vector<StreamId> launched_on = launch_streams(static_cast<std::uint32_t>(g));
      made += fmt::format("cudaGraphExec_t graph_{}[{}];  // {}\n",
                          g,
                          std::max(graph.launch_count(), 1U),
                          comment(plan_.graph_name(static_cast<std::uint32_t>(g))));
      if (graph.launch_count() > 1) {
        made += fmt::format("cudaEvent_t graph_{}_done;\n", g);
        all += fmt::format(
            "  CHECK(cudaEventCreateWithFlags(&graph_{}_done, cudaEventDisableTiming));\n", g);
      }
      for (std::uint32_t row = 0; row < graph.launch_count(); ++row) {
        made += fmt::format("void make_graph_{}_{}() {{\n  GraphBuilder graph;\n", g, row);
        for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
          const StreamId stream = graph.node_priorities ? graph.stream(node) : launched_on[row];
          made += fmt::format("  graph.add(tasks::{}, {}, {}, {{{}}}{});\n",
                              names_[graph.task(row, node)],
                              plan_.streams[stream].priority,
                              first_lane + lanes.of[node],
                              fmt::join(graph.needs(node), ", "),
                              graph.programmatic(node) ? ", true" : "");
        }
        made +=
            fmt::format("  graph_{}[{}] = graph.make({});\n}}\n", g, row, graph.node_priorities);
        all += fmt::format("  make_graph_{}_{}();\n", g, row);
      }
      first_lane += lanes.count;
    }
    std::string lanes;
    if (first_lane > 0) {
      lanes = fmt::format("  for (int i = 0; i < {}; ++i) graph_lanes.push_back(make_lane());\n",
                          first_lane);
    }
    return made + "void make_plan() {\n  make_streams();\n" + lanes + all + "}\n\n";
  }

  [[nodiscard]] std::vector<StreamId> launch_streams(std::uint32_t graph) const {
    std::vector<StreamId> streams;
    for (const HostCall call : calls()) {
      if (call.kind() == HostCallKind::graph_launch && call.graph() == graph) {
        streams.push_back(call.stream());
      }
    }
    return streams;
  }

  [[nodiscard]] std::string call_text(HostCall call, std::vector<std::uint32_t>& rows) const {
    const std::uint32_t stream = call.stream().valid() ? call.stream().value() : 0;
    switch (call.kind()) {
      case HostCallKind::create_stream:
        return create_text(call.stream());
      case HostCallKind::destroy_stream:
        return fmt::format("  destroy_stream(lanes[{}]);\n", stream);
      case HostCallKind::launch:
        return call.programmatic()
                   ? fmt::format("  launch_programmatically(tasks::{}, lanes[{}]);\n",
                                 names_[call.task()],
                                 stream)
                   : fmt::format("  tasks::{}(lanes[{}]);\n", names_[call.task()], stream);
      case HostCallKind::record:
        return fmt::format("  record(lanes[{}], events[{}]);\n", stream, call.event().value());
      case HostCallKind::wait:
        return fmt::format("  wait(lanes[{}], events[{}]);\n", stream, call.event().value());
      case HostCallKind::query:
        return fmt::format("  idle(lanes[{}]);\n", stream);
      case HostCallKind::sleep:
        return fmt::format("  sleep_ns({});\n", call.argument());
      case HostCallKind::synchronize:
        if (call.stream().valid()) {
          return fmt::format("  CHECK(cudaStreamSynchronize(lanes[{}].stream));\n", stream);
        }
        if (call.argument() != HostCall::none) {
          return fmt::format("  CHECK(cudaEventSynchronize(events[{}]));\n", call.event().value());
        }
        return "  CHECK(cudaDeviceSynchronize());\n";
      case HostCallKind::graph_load:
        return fmt::format("  // graph_{} is loaded\n", call.graph());
      case HostCallKind::graph_launch:
        return fmt::format("  launch_graph(lanes[{}], graph_{}[{}], {});\n",
                           stream,
                           call.graph(),
                           rows[call.graph()]++,
                           plan_.graphs[call.graph()].launch_count() > 1
                               ? fmt::format("graph_{}_done", call.graph())
                               : "nullptr");
      default:
        throw ContractViolation("a call that a plan for one device does not have");
    }
  }

  /// Long lists of calls as several functions: compilers take more than their length of time.
  static std::string functions(const char* name,
                               const char* parameter,
                               const char* argument,
                               const std::vector<std::string>& lines) {
    constexpr std::size_t longest = 500;
    std::string made;
    std::string all;
    for (std::size_t i = 0; i < lines.size(); i += longest) {
      made += fmt::format("void {}_{}({}) {{\n", name, i / longest, parameter);
      for (std::size_t k = i; k < std::min(i + longest, lines.size()); ++k) made += lines[k];
      made += "}\n";
      all += fmt::format("  {}_{}({});\n", name, i / longest, argument);
    }
    return fmt::format("{}void {}({}) {{\n{}}}\n", made, name, parameter, all);
  }

  [[nodiscard]] std::string run() const {
    std::vector<std::string> lines;
    std::vector<std::uint32_t> rows(plan_.graphs.size(), 0);
    IdVector<StreamId, bool> there(plan_.streams.size(), false);
    for (const HostCall call : calls()) {
      lines.push_back(call_text(call, rows));
      if (call.kind() == HostCallKind::create_stream) there[call.stream()] = true;
      if (call.kind() == HostCallKind::destroy_stream) there[call.stream()] = false;
    }
    std::string made = functions("run_plan", "", "", lines);
    lines.clear();
    for (const TaskId task : launch_order(plan_)) {
      lines.push_back(fmt::format("  tasks::{}(one);\n", names_[task]));
    }
    made += "/// The same tasks in the order of their launches, with nothing at once.\n";
    made += functions("run_on_one_stream", "const Lane& one", "one", lines);
    made += "/// Streams that the plan makes and leaves.\nvoid end_run() {\n";
    for (const StreamId id : plan_.streams.ids()) {
      if (there[id]) made += fmt::format("  destroy_stream(lanes[{}]);\n", id.value());
    }
    made += "}\n\n";
    made += fmt::format(
        "const char* const title = {};\nconst double predicted_us = {:.6f};\n"
        "const char* const predicted_for = {};\nconst double allowed_difference = {};\n\n"
        "}}  // namespace\n",
        text_literal(emitted_.title),
        to_us(emitted_.makespan),
        text_literal(emitted_.machine),
        code_.allowed_difference);
    return made;
  }

  const EmittedPlan& emitted_;
  const Plan& plan_;
  TaskCode code_;
  IdVector<TaskId, std::string> names_;
  IdVector<StreamId, bool> made_by_plan_;
};

}  // namespace

EmittedSource cuda_source(const EmittedPlan& emitted, std::optional<ProductPrecision> precision) {
  const bool capturing = !emitted.plan.graphs.empty();
  const TaskGraph& graph = emitted.graph();
  TaskCode code;
  std::string why = "the workload is no recurrent network";
  if (emitted.recurrent) {
    const RecurrentSpec& spec = *emitted.recurrent;
    if (!precision) precision = enum_from<ProductPrecision>(to_string(spec.type));
    why = why_not_recurrent(spec, precision);
    if (why.empty()) code = recurrent_code(spec, graph, *precision, capturing);
  }
  if (!why.empty()) {
    code = proxy_code(graph, emitted.problem->costs, capturing);
    if (emitted.recurrent) code.what += " (" + why + ")";
  }
  std::string what = code.what;
  return {.text = CudaSource(emitted, std::move(code)).text(), .what = std::move(what)};
}

}  // namespace schedlab
