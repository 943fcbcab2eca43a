// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/repeat_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr double most_runs = 100'000;
constexpr double most_items = 1e9;

OptionSpec runs_option() {
  return {.name = "runs",
          .default_value = std::int64_t{1},
          .doc = "Runs of the workload one after another; the host waits for the end of each.",
          .minimum = 1,
          .maximum = most_runs};
}

std::vector<OptionSpec> graph_options() {
  return {runs_option(),
          {.name = "load",
           .default_value = false,
           .doc = "Load before the first run; false: that has happened already."},
          {.name = "reload_every",
           .default_value = std::int64_t{0},
           .doc = "Load again after so many runs, because the shapes have changed; 0: never.",
           .minimum = 0,
           .maximum = most_runs}};
}

std::vector<OptionSpec> sink_options() {
  std::vector<OptionSpec> options = graph_options();
  const auto count = [&](const char* name, std::int64_t value, const char* doc, double minimum) {
    options.push_back({.name = name,
                       .default_value = value,
                       .doc = doc,
                       .minimum = minimum,
                       .maximum = most_items});
  };
  count("io_tensors",
        -1,
        "Inputs and outputs that each run converts; -1: as many as the graph has.",
        -1);
  count("changed_operators", 0, "Operators whose inputs or outputs moved between two runs.", 0);
  options.push_back({.name = "feature_map_changed",
                     .default_value = false,
                     .doc = "Intermediate results moved between two runs: all operators."});
  count("copied_inputs", 0, "Inputs that are not zero-copy: copied before each run.", 0);
  options.push_back({.name = "copied_mib",
                     .default_value = 0.0,
                     .doc = "Size of the copied inputs in all.",
                     .minimum = 0,
                     .maximum = 1e6});
  return options;
}

std::int64_t operators_of(const TaskGraph& graph) {
  std::int64_t count = 0;
  for (const TaskId task : graph.tasks()) count += graph.operation(task).launches();
  return count;
}

}  // namespace

const std::vector<LaunchInfo>& launch_infos() {
  static const std::vector<LaunchInfo> infos{
      {"eager", "operator by operator, all stages on one thread", {runs_option()}},
      {"eager_two_thread",
       "operator by operator: one thread prepares, a second one launches",
       {runs_option()}},
      {"graph_mode",
       "operator by operator of a compiled graph: of the stages only allocation and launch are "
       "left",
       {runs_option()}},
      {"graph_launch", "device graphs, each launched by one call", graph_options()},
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
  if (!captures(choice.mode)) return choice;
  choice.load = options.flag("load");
  choice.reload_every = static_cast<std::uint32_t>(options.integer("reload_every"));
  if (choice.mode != LaunchMode::sink) return choice;
  const std::int64_t tensors = options.integer("io_tensors");
  if (tensors >= 0) choice.sink.io_tensors = tensors;
  choice.sink.changed_operators = options.integer("changed_operators");
  choice.sink.feature_map_changed = options.flag("feature_map_changed");
  choice.sink.copied_inputs = options.integer("copied_inputs");
  choice.sink.copied = Bytes{std::llround(options.number("copied_mib") * 1024.0 * 1024.0)};
  return choice;
}

void apply_launch_mode(LaunchMode mode, Platform& platform) {
  for (Host& host : platform.hosts) {
    host.front_end_thread = mode == LaunchMode::eager_two_thread;
    if (mode != LaunchMode::graph_mode) continue;
    host.costs.front_end = Duration{0};
    host.costs.conversion = Duration{0};
    host.costs.shape_inference = Duration{0};
    host.costs.tiling = Duration{0};
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
  const std::int64_t operators = operators_of(graph);
  const std::int64_t tensors = run.io_tensors ? *run.io_tensors : io_tensor_count(graph);
  const std::int64_t refreshed = run.feature_map_changed ? operators : run.changed_operators;
  for (Host& host : platform.hosts) {
    const SinkCosts& sink = host.sink;
    host.costs.graph_load = sink.load + sink.load_task * (operators * host.operator_tasks);
    host.costs.graph_load_node = Duration{0};
    host.costs.graph_launch = sink.tensor * tensors + sink.address * refreshed +
                              sink.copy * run.copied_inputs + sink.issue;
    host.costs.graph_launch_node = Duration{0};
  }
  for (Device& device : platform.devices) {
    device.graph_node_gap = device.sink_task_gap;
    if (run.copied_inputs == 0 && run.copied == Bytes{0}) continue;
    device.launch_latency += device.rates.copy_latency;
    if (run.copied == Bytes{0}) continue;
    if (device.rates.host_to_device <= Bandwidth{0.0}) {
      throw InfeasibleError(
          fmt::format("launch sink copies inputs to device \"{}\", which has no link to its host\n"
                      "  give host_to_device_gb_per_s, or leave out copied_mib",
                      device.name));
    }
    device.launch_latency += run.copied / device.rates.host_to_device;
  }
}

Plan launched_plan(Plan eager, const LaunchChoice& choice, std::size_t tasks) {
  Plan plan = std::move(eager);
  if (captures(choice.mode)) plan = capture_graphs(plan, {.load = choice.load});
  if (choice.mode == LaunchMode::sink && plan.graphs.size() > plan.hosts.size()) {
    throw InfeasibleError(
        fmt::format("launch sink runs a model as one task, but policy \"{}\" waits for the device "
                    "between its tasks, which makes {} graphs\n  use graph_launch",
                    plan.policy,
                    plan.graphs.size()));
  }
  if (choice.runs == 1) return plan;
  return repeat_plan(plan,
                     {.runs = choice.runs,
                      .tasks = static_cast<std::uint32_t>(tasks),
                      .reload_every = choice.reload_every});
}

const std::vector<std::string>& default_stream_words() {
  static const std::vector<std::string> words{"per_thread", "legacy"};
  return words;
}

}  // namespace schedlab
