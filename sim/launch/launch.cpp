// SPDX-License-Identifier: Apache-2.0
#include "sim/launch/launch.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "sim/launch/programmatic.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/partitions.hpp"
#include "sim/plan/repeat_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr double max_runs = 100'000;
constexpr double max_items = 1e9;
constexpr double max_units = 100'000;
constexpr double max_copies = 100'000;  // each is a task

OptionSpec runs_option() {
  return {.name = "runs",
          .default_value = std::int64_t{1},
          .doc = "Runs of the workload one after another; the host waits for the end of each.",
          .minimum = 1,
          .maximum = max_runs};
}

/// What every mode has, and then its own.
std::vector<OptionSpec> with_common(std::vector<OptionSpec> own) {
  std::vector<OptionSpec> options{
      runs_option(),
      {.name = "programmatic",
       .default_value = std::string{to_string(ProgrammaticLaunches::none)},
       .doc = "Kernels that may start while the one right before them in their stream drains, on "
              "machines with programmatic_gap_us; own_kernels: all but a library's products and "
              "convolutions.",
       .allowed = enum_names<ProgrammaticLaunches>()},
      {.name = "urgent_units",
       .default_value = std::int64_t{0},
       .doc = "Units that streams of the most urgent priority have to themselves, and all others "
              "do without (green contexts); 0: all share all.",
       .minimum = 0,
       .maximum = max_units}};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

std::vector<OptionSpec> two_thread_options() {
  return with_common(
      {{.name = "second_thread_from",
        .default_value = std::string{"launch"},
        .doc = "First stage that the second thread does; the ones before are the first's.",
        .allowed = {"launch", "shape_inference"}}});
}

std::vector<OptionSpec> graph_mode_options() {
  return with_common({{.name = "dynamic_shapes",
                       .default_value = false,
                       .doc = "Shapes are known only while the graph runs: shape inference and "
                              "tiling are left, too."}});
}

std::vector<OptionSpec> graph_options() {
  return with_common(
      {{.name = "load",
        .default_value = false,
        .doc = "Load before the first run; false: that has happened already."},
       {.name = "reload_every",
        .default_value = std::int64_t{0},
        .doc = "Load again after so many runs, because the shapes have changed; 0: never.",
        .minimum = 0,
        .maximum = max_runs}});
}

std::vector<OptionSpec> graph_launch_options() {
  std::vector<OptionSpec> options = graph_options();
  options.push_back({.name = "max_nodes",
                     .default_value = std::int64_t{0},
                     .doc = "Largest number of nodes of a graph: with more, several graphs are "
                            "launched, the first of them sooner; 0: no limit.",
                     .minimum = 0,
                     .maximum = max_items});
  return options;
}

std::vector<OptionSpec> sink_options() {
  std::vector<OptionSpec> options = graph_options();
  const auto count = [&](const char* name,
                         std::int64_t value,
                         const char* doc,
                         double minimum,
                         double maximum = max_items) {
    options.push_back(
        {.name = name, .default_value = value, .doc = doc, .minimum = minimum, .maximum = maximum});
  };
  count("io_tensors",
        -1,
        "Inputs and outputs that each run converts; -1: as many as the graph has.",
        -1);
  count("changed_operators", 0, "Operators whose inputs or outputs moved between two runs.", 0);
  options.push_back({.name = "feature_map_changed",
                     .default_value = false,
                     .doc = "Intermediate results moved between two runs: all operators."});
  count("copied_inputs",
        0,
        "Inputs that are not zero-copy: each is copied by a task before each run.",
        0,
        max_copies);
  options.push_back({.name = "host_operators",
                     .default_value = std::string{},
                     .doc =
                         "Operations that cannot be sunk, separated by commas: the host launches "
                         "them, between sunk parts of the model."});
  options.push_back({.name = "compile_us",
                     .default_value = 0.0,
                     .doc = "Compilation before each load, for a new shape.",
                     .minimum = 0,
                     .maximum = 1e9});
  options.push_back({.name = "copied_mib",
                     .default_value = 0.0,
                     .doc = "Size of the copied inputs in all.",
                     .minimum = 0,
                     .maximum = 1e6});
  return options;
}

/// The graph behind `copies` tasks from `first` on, one after the other on `stream`.
DeviceGraph behind_copies(const DeviceGraph& graph,
                          StreamId stream,
                          TaskId first,
                          std::uint32_t copies) {
  DeviceGraph made;
  made.name = graph.name;
  made.node_priorities = graph.node_priorities;
  std::vector<TaskId> tasks;
  for (std::uint32_t i = 0; i < copies; ++i) {
    made.add_node(stream, i == 0 ? std::vector<std::uint32_t>{} : std::vector{i - 1});
    tasks.emplace_back(first.value() + i);
  }
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    std::vector<std::uint32_t> needs;
    for (const std::uint32_t need : graph.needs(node)) needs.push_back(need + copies);
    if (needs.empty()) needs.push_back(copies - 1);
    made.add_node(graph.stream(node), std::move(needs));
  }
  const auto model = graph.tasks(0);
  tasks.insert(tasks.end(), model.begin(), model.end());
  made.add_launch(tasks);
  return made;
}

/// Of a plan with one graph per host, launched once each.
void copy_inputs_first(Plan& plan, std::size_t tasks, std::uint32_t copies) {
  for (const HostId host : plan.hosts.ids()) {
    for (const HostCall call : plan.hosts[host].calls) {
      if (call.kind() != HostCallKind::graph_launch) continue;
      const DeviceId device = plan.streams[call.stream()].device;
      const StreamId stream =
          plan.streams.push_back({.device = device, .priority = 0, .name = "inputs"});
      const TaskId first{static_cast<std::uint32_t>(tasks + std::size_t{host.value()} * copies)};
      DeviceGraph& graph = plan.graphs[call.graph()];
      graph = behind_copies(graph, stream, first, copies);
    }
  }
}

/// 1: the host launches the task.
IdVector<TaskId, std::uint8_t> left_on_host(const SinkRun& run, const TaskGraph* graph) {
  SCHEDLAB_EXPECTS(graph != nullptr, "host_operators name operations of a graph");
  if (sunk_copies(run) > 0) {
    throw InfeasibleError("launch sink: host_operators exclude copied inputs");
  }
  IdVector<TaskId, std::uint8_t> on_host(graph->task_count(), 0);
  for (const std::string& name : run.host_operators) {
    bool found = false;
    for (const TaskId task : graph->tasks()) {
      if (graph->operation(task).name != name) continue;
      on_host[task] = 1;
      found = true;
    }
    if (!found) {
      throw InfeasibleError(
          fmt::format("launch sink: host_operators names \"{}\", which no task runs", name));
    }
  }
  return on_host;
}

void expect_launches(const LaunchChoice& choice, const Platform& platform, const Device& device) {
  if (choice.programmatic != ProgrammaticLaunches::none && !device.programmatic_gap) {
    throw InfeasibleError(fmt::format(
        "machine \"{}\" has no programmatic launches (NVIDIA: compute capability 9.0 and later)\n  "
        "leave out programmatic, or give programmatic_gap_us",
        platform.name));
  }
  if (choice.urgent_units == 0) return;
  const std::string why = why_not_divided(platform, device, {choice.urgent_units});
  if (why.empty()) return;
  throw InfeasibleError(fmt::format("machine \"{}\" cannot set aside {} urgent_units: {}",
                                    platform.name,
                                    choice.urgent_units,
                                    why));
}

std::int64_t operators_of(const TaskGraph& graph) {
  std::int64_t count = 0;
  for (const TaskId task : graph.tasks()) count += graph.operation(task).launches();
  return count;
}

}  // namespace

const std::vector<LaunchInfo>& launch_infos() {
  static const std::vector<LaunchInfo> infos{
      {"eager", "operator by operator, all stages on one thread", with_common({})},
      {"eager_two_thread",
       "operator by operator: one thread prepares, a second one launches",
       two_thread_options()},
      {"graph_mode",
       "operator by operator of a compiled graph: of the stages only allocation and launch are "
       "left",
       graph_mode_options()},
      {"graph_launch", "device graphs, each launched by one call", graph_launch_options()},
      {"sink", "the whole model on the device's streams, run by one task", sink_options()}};
  return infos;
}

LaunchChoice launch_choice(std::string_view mode, const Options& options) {
  const auto& infos = launch_infos();
  const auto found = std::find_if(
      infos.begin(), infos.end(), [&](const LaunchInfo& info) { return info.name == mode; });
  SCHEDLAB_EXPECTS(found != infos.end(), fmt::format("launch mode \"{}\"", mode));
  LaunchChoice choice;
  choice.mode = static_cast<LaunchMode>(found - infos.begin());
  choice.runs = static_cast<std::uint32_t>(options.integer("runs"));
  choice.programmatic = enum_value<ProgrammaticLaunches>(options.text("programmatic"));
  choice.urgent_units = static_cast<std::uint32_t>(options.integer("urgent_units"));
  if (choice.mode == LaunchMode::eager_two_thread) {
    choice.second_thread_prepares = options.text("second_thread_from") == "shape_inference";
  }
  if (choice.mode == LaunchMode::graph_mode) choice.dynamic_shapes = options.flag("dynamic_shapes");
  if (!captures(choice.mode)) return choice;
  choice.load = options.flag("load");
  choice.reload_every = static_cast<std::uint32_t>(options.integer("reload_every"));
  if (choice.mode == LaunchMode::graph_launch) {
    choice.max_nodes = static_cast<std::uint32_t>(options.integer("max_nodes"));
    return choice;
  }
  const std::int64_t tensors = options.integer("io_tensors");
  if (tensors >= 0) choice.sink.io_tensors = tensors;
  choice.sink.changed_operators = options.integer("changed_operators");
  choice.sink.feature_map_changed = options.flag("feature_map_changed");
  choice.sink.copied_inputs = options.integer("copied_inputs");
  choice.sink.compile = from_us(options.number("compile_us"));
  std::istringstream names{options.text("host_operators")};
  for (std::string name; std::getline(names, name, ',');) {
    choice.sink.host_operators.push_back(name);
  }
  choice.sink.copied = Bytes{std::llround(options.number("copied_mib") * 1024.0 * 1024.0)};
  return choice;
}

void apply_launch_mode(const LaunchChoice& choice, Platform& platform) {
  for (const Device& device : platform.devices) expect_launches(choice, platform, device);
  for (Host& host : platform.hosts) {
    HostCosts& costs = host.costs;
    host.front_end_thread = choice.mode == LaunchMode::eager_two_thread;
    if (host.front_end_thread && choice.second_thread_prepares) {
      const Duration moved = costs.shape_inference + costs.tiling + costs.allocation;
      costs.launch += Duration{ceil_div(moved.count(), std::int64_t{host.operator_tasks})};
      costs.shape_inference = costs.tiling = costs.allocation = Duration{0};
    }
    if (choice.mode != LaunchMode::graph_mode) continue;
    costs.front_end = Duration{0};
    costs.conversion = Duration{0};
    if (choice.dynamic_shapes) continue;
    costs.shape_inference = Duration{0};
    costs.tiling = Duration{0};
  }
}

std::int64_t io_tensor_count(const TaskGraph& graph) {
  const TensorTable& tensors = graph.tensors();
  std::int64_t count = 0;
  for (const TensorId id : tensors.ids()) {
    const bool inside = !tensors.writers(id).empty() && !tensors.readers(id).empty();
    if (tensors.persistent(id) || !inside) ++count;
  }
  return count;
}

void apply_sink(const SinkRun& run, const TaskGraph& graph, Platform& platform) {
  const bool known = std::all_of(platform.hosts.begin(),
                                 platform.hosts.end(),
                                 [](const Host& host) { return host.sink != SinkCosts{}; });
  if (!known) {
    throw InfeasibleError(
        fmt::format("machine \"{}\" has no costs of sunk models, so that launch sink would cost "
                    "nothing\n  give sink_issue_us and the other sink_ keys, \"host\": "
                    "\"cann_sink\" and sink_task_gap_us, or use graph_launch",
                    platform.name));
  }
  const std::int64_t operators = operators_of(graph);
  const std::int64_t tensors = run.io_tensors ? *run.io_tensors : io_tensor_count(graph);
  const std::int64_t refreshed = run.feature_map_changed ? operators : run.changed_operators;
  for (Host& host : platform.hosts) {
    const SinkCosts& sink = host.sink;
    const Duration operator_load = sink.load_task * std::int64_t{host.operator_tasks};
    const bool parts = !run.host_operators.empty();
    host.costs.graph_load =
        sink.load + run.compile + (parts ? Duration{0} : operator_load * operators);
    host.costs.graph_load_node = parts ? operator_load : Duration{0};
    host.costs.graph_launch = sink.tensor * tensors + sink.address * refreshed +
                              sink.copy * std::int64_t{sunk_copies(run)} + sink.issue;
    host.costs.graph_launch_node = Duration{0};
  }
  for (Device& device : platform.devices) device.graph_node_gap = device.sink_task_gap;
}

std::uint32_t sunk_copies(const SinkRun& run) {
  const std::int64_t least = run.copied > Bytes{0} ? 1 : 0;
  return static_cast<std::uint32_t>(std::max(run.copied_inputs, least));
}

Plan launched_plan(Plan eager,
                   const LaunchChoice& choice,
                   std::size_t tasks,
                   const TaskGraph* graph) {
  Plan plan = std::move(eager);
  const bool parts = choice.mode == LaunchMode::sink && !choice.sink.host_operators.empty();
  if (captures(choice.mode)) {
    plan = capture_graphs(
        plan,
        {.load = choice.load,
         .max_nodes = choice.max_nodes,
         .on_host = parts ? left_on_host(choice.sink, graph) : IdVector<TaskId, std::uint8_t>{}});
  }
  if (!parts && choice.mode == LaunchMode::sink && plan.graphs.size() > plan.hosts.size()) {
    throw InfeasibleError(
        fmt::format("launch sink runs a model as one task, but policy \"{}\" waits for the device "
                    "between its tasks, which makes {} graphs\n  use graph_launch",
                    plan.policy,
                    plan.graphs.size()));
  }
  if (choice.mode == LaunchMode::sink && sunk_copies(choice.sink) > 0) {
    const std::uint32_t copies = sunk_copies(choice.sink);
    copy_inputs_first(plan, tasks, copies);
    tasks += plan.hosts.size() * copies;
  }
  if (choice.programmatic != ProgrammaticLaunches::none) {
    SCHEDLAB_EXPECTS(graph != nullptr, "programmatic launches depend on the kinds of kernels");
    launch_programmatically(plan, *graph, choice.programmatic);
  }
  if (choice.urgent_units != 0) set_urgent_units(plan, choice.urgent_units);
  if (choice.runs == 1) return plan;
  return repeat_plan(plan,
                     {.runs = choice.runs,
                      .tasks = static_cast<std::uint32_t>(tasks),
                      .reload_every = choice.reload_every});
}

const std::vector<std::string>& default_stream_names() {
  static const std::vector<std::string> words{"per_thread", "legacy"};
  return words;
}

}  // namespace schedlab
