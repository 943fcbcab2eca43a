// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/explained_run.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/trace/measured_durations.hpp"
#include "sim/trace/release_index.hpp"
#include "studies/scenario/run_origin.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/sweep/trace_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// What tasks hold of the device's units as the trace's labels say: a mean per operation.
class LabelledCosts final : public CostModel {
 public:
  LabelledCosts(const TaskGraph& graph, const TraceDocument& document) {
    struct Sum {
      double share = 0;
      double tasks = 0;
    };
    IdVector<OperationId, Sum> sums(graph.operations().size());
    for (const TaskId task : graph.tasks()) {
      Sum& sum = sums[graph.operation_id(task)];
      sum.share += document.tasks[task].share;
      sum.tasks += 1;
    }
    constexpr double min_share = 1e-6;  // an estimate has some
    for (const OperationId id : sums.ids()) {
      const double mean = sums[id].tasks > 0 ? sums[id].share / sums[id].tasks : 1.0;
      shares_[&graph.operations()[id]] = std::clamp(mean, min_share, 1.0);
    }
  }
  [[nodiscard]] std::string_view name() const override { return "labelled"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    return {.share = shares_.at(&operation)};
  }

 private:
  std::map<const Operation*, double> shares_;
};

/// Tasks and operations by their labels, without dependencies.
TaskGraph labelled_graph(const TraceDocument& document) {
  TaskGraphBuilder builder;
  std::map<std::pair<std::string, TaskKind>, OperationId> operations;
  for (const TaskLabel& label : document.tasks) {
    const auto [found, is_new] = operations.try_emplace({label.operation, label.kind});
    if (is_new) {
      found->second = builder.add_operation(
          {.name = label.operation,
           .kind = label.kind,
           .task_class = label.critical ? TaskClass::critical_matmul : TaskClass::unclassified});
    }
    builder.add_task(found->second, {}, label.name);
  }
  return std::move(builder).build();
}

/// Numbers from 0 on in the place of those that a file gives, in the same order: lists of what they
/// number are then no longer than the file.
class Renumbering {
 public:
  void add(std::uint32_t number) { numbers_.emplace(number, 0); }
  void finish() {
    std::uint32_t next = 0;
    for (auto& [number, place] : numbers_) place = next++;
  }
  [[nodiscard]] std::uint32_t of(std::uint32_t number) const { return numbers_.at(number); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }

 private:
  std::map<std::uint32_t, std::uint32_t> numbers_;
};

bool of_event(HostCall call) {
  const HostCallKind kind = call.kind();
  return kind == HostCallKind::record || kind == HostCallKind::wait ||
         (kind == HostCallKind::synchronize && !call.stream().valid() && call.event().valid());
}

bool of_graph(HostCall call) {
  return call.kind() == HostCallKind::graph_load || call.kind() == HostCallKind::graph_launch;
}

HostCall renumbered(HostCall call, const Renumbering& events, const Renumbering& graphs) {
  switch (call.kind()) {
    case HostCallKind::record:
      return HostCall::record(call.stream(), EventId{events.of(call.argument())});
    case HostCallKind::wait:
      return HostCall::wait(call.stream(), EventId{events.of(call.argument())});
    case HostCallKind::synchronize:
      return of_event(call) ? HostCall::synchronize_event(EventId{events.of(call.argument())})
                            : call;
    case HostCallKind::graph_load:
      return HostCall::graph_load(graphs.of(call.argument()));
    case HostCallKind::graph_launch:
      return HostCall::graph_launch(call.stream(), graphs.of(call.argument()));
    default:
      return call;
  }
}

/// The host calls as they were recorded; in the trace they get their places in this plan. Device
/// graphs are there without what they hold, as a trace does not tell it.
Plan recorded_plan(const TraceDocument& document, Trace& trace) {
  Plan plan;
  plan.policy = document.policy;
  plan.streams = document.streams;
  plan.hosts.resize(std::max<std::size_t>(document.hosts.size(), 1));
  for (const HostId host : plan.hosts.ids()) {
    if (document.hosts.size() > host.value()) plan.hosts[host].name = document.hosts[host];
  }
  Renumbering events;
  Renumbering graphs;
  std::vector<HostSpan*> calls;
  for (HostSpan& span : trace.hosts) {
    calls.push_back(&span);
    if (of_event(span.what)) events.add(span.what.argument());
    if (of_graph(span.what)) graphs.add(span.what.argument());
  }
  for (const EventFlow& flow : trace.flows) events.add(flow.event.value());
  events.finish();
  graphs.finish();
  std::stable_sort(calls.begin(), calls.end(), [](const HostSpan* a, const HostSpan* b) {
    return a->call < b->call;
  });
  for (HostSpan* span : calls) {
    std::vector<HostCall>& program = plan.hosts[span->host].calls;
    span->what = renumbered(span->what, events, graphs);
    span->call = static_cast<std::uint32_t>(program.size());
    program.push_back(span->what);
  }
  for (EventFlow& flow : trace.flows) flow.event = EventId{events.of(flow.event.value())};
  plan.event_count = events.count();
  plan.graphs.resize(graphs.count());
  return plan;
}

std::string why_not_replayed(const ExplainedRun& run) {
  const auto has = [&](auto wanted) {
    return std::any_of(run.plan.hosts.begin(), run.plan.hosts.end(), [&](const HostProgram& host) {
      return std::any_of(
          host.calls.begin(), host.calls.end(), [&](HostCall call) { return wanted(call.kind()); });
    });
  };
  if (run.plan.call_count() == 0) return "the trace has no host calls";
  const bool hollow = std::any_of(run.plan.graphs.begin(),
                                  run.plan.graphs.end(),
                                  [](const DeviceGraph& graph) { return graph.node_count() == 0; });
  if (hollow) {
    return "the trace does not say what its device graphs hold";
  }
  if (has(concerns_message)) return "the trace does not say what its messages cost";
  if (run.trace.tasks.size() != run.graph.task_count()) return "some tasks did not run";
  try {
    expect_well_formed(run.plan, run.graph.task_count());
  } catch (const ContractViolation&) {
    return "its host calls do not launch each task once";
  }
  return {};
}

/// Costs and machine become those that the trace shows.
void use_measured_costs(ExplainedRun& run, const TraceDocument& document, std::uint32_t units) {
  run.measured = true;
  run.steps = nullptr;
  run.front_end_known = false;
  run.platform = measured_platform(run.graph, run.trace, document.devices.size(), units);
  run.platform.name = document.machine;
  run.costs = CostTable{run.graph, run.platform, LabelledCosts{run.graph, document}};
  run.costs.set_task_durations(measured_durations(run.graph, run.trace));
  run.no_replay = why_not_replayed(run);
}

/// The units that limit a trace on its own: as many as its tasks' shares are parts of, if the run
/// kept to them; 0 = no limit known.
std::uint32_t shown_units(const TraceDocument& document) {
  if (document.devices.size() != 1) return 0;
  constexpr std::uint32_t parts = 1000;  // of a device: shares are told apart by a thousandth
  constexpr double rounding = 1e-6;
  std::vector<std::pair<Time, double>> changes;
  double least = 1;
  for (const TaskSpan& span : document.trace.tasks) {
    const double share = document.tasks[span.task].share;
    least = std::min(least, share);
    changes.emplace_back(span.started, share);
    changes.emplace_back(span.ended, -share);
  }
  // Ends come before starts of the same instant.
  std::sort(changes.begin(), changes.end());
  double in_use = 0;
  for (const auto& [at, share] : changes) {
    in_use += share;
    if (in_use > 1 + rounding) return 0;
  }
  return least < 1 ? parts : 0;  // all whole: the labels say nothing of shares
}

/// Durations of waits that ended with one reason, of which the median counts.
class Waits {
 public:
  void add(Duration wait) { waits_.push_back(wait); }
  [[nodiscard]] Duration median() {
    if (waits_.empty()) return Duration{0};
    const auto middle = waits_.begin() + static_cast<std::ptrdiff_t>((waits_.size() - 1) / 2);
    std::nth_element(waits_.begin(), middle, waits_.end());
    return std::max(*middle, Duration{0});
  }

 private:
  std::vector<Duration> waits_;
};

HostCosts measured_host_costs(const TaskGraph& graph, const Trace& trace) {
  std::array<Duration, host_call_kind_count> total{};
  std::array<std::int64_t, host_call_kind_count> count{};
  for (std::size_t i = 0; i < trace.hosts.size(); ++i) {
    const HostSpan& span = trace.hosts[i];
    // Up to the next call of the thread: what it does between two calls belongs to them.
    const bool followed = i + 1 < trace.hosts.size() && trace.hosts[i + 1].host == span.host &&
                          trace.hosts[i + 1].started >= span.ended;
    const Time end = followed ? trace.hosts[i + 1].started : span.ended;
    const auto kind = static_cast<std::size_t>(span.what.kind());
    total[kind] += end - span.started - span.blocked;
    count[kind] +=
        span.what.kind() == HostCallKind::launch ? graph.operation(span.what.task()).launches() : 1;
  }
  const auto mean = [&](HostCallKind which) {
    const auto kind = static_cast<std::size_t>(which);
    return count[kind] == 0 ? Duration{0} : total[kind] / count[kind];
  };
  HostCosts costs;
  costs.launch = mean(HostCallKind::launch);
  costs.record = mean(HostCallKind::record);
  costs.wait = mean(HostCallKind::wait);
  costs.query = mean(HostCallKind::query);
  costs.create_stream = mean(HostCallKind::create_stream);
  costs.destroy_stream = mean(HostCallKind::destroy_stream);
  costs.synchronize = mean(HostCallKind::synchronize);
  costs.graph_load = mean(HostCallKind::graph_load);
  costs.graph_launch = mean(HostCallKind::graph_launch);
  return costs;
}

/// Of an executed run the framework's part of a launch is known: what the executor was told to
/// spend.
void tell_front_end(ExplainedRun& run, const HostCosts& spent) {
  HostCosts& costs = run.platform.hosts[HostId{0}].costs;
  if (costs.launch < spent.preparation()) return;  // nothing was spent: preloaded, or a graph
  costs.launch -= spent.preparation();
  costs.front_end = spent.front_end;
  costs.conversion = spent.conversion;
  costs.shape_inference = spent.shape_inference;
  costs.tiling = spent.tiling;
  costs.allocation = spent.allocation;
  run.front_end_known = true;
}

/// What the run was made of, from its origin.
void repeat_run(ExplainedRun& run, const RunOrigin& origin, const fs::path& folder) {
  const Spec spec = parse_spec(origin.spec, origin.spec_file, origin.spec_folder);
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  const auto prepared = space.scenario(0).problem;
  if (prepared->graph->task_count() != run.graph.task_count()) {
    throw InputError({.file = (folder / run_origin_name).string(),
                      .pointer = "/spec",
                      .found = fmt::format("a graph of {} tasks", prepared->graph->task_count()),
                      .expected = fmt::format("{}, as in trace.json", run.graph.task_count()),
                      .hint = "the files that the spec names have changed since the run"});
  }
  run.graph = *prepared->graph;
  run.platform = prepared->machine->platform;
  run.costs = prepared->costs;
  run.steps = prepared->steps;
  if (origin.verb == "simulate") run.spec = spec;
  const fs::path plan = folder / "plan.json";
  run.plan = plan_from_json(read_file(plan), run.graph, plan.string());
}

/// That times can be summed over all that a trace has.
void expect_sums(const TraceDocument& document, const fs::path& file) {
  const std::size_t rows = document.tasks.size() + document.streams.size() +
                           document.devices.size() + document.trace.hosts.size();
  const std::int64_t most = Duration::max().count() / static_cast<std::int64_t>(rows + 1);
  const std::int64_t ended = document.trace.makespan().count();
  if (ended <= most) return;
  throw InputError(
      {.file = file.string(),
       .pointer = "/otherData/ended_ps",
       .found = fmt::format("{}", ended),
       .expected = fmt::format("at most {}, as times of {} tasks, streams, devices and "
                               "calls are added up",
                               most,
                               rows),
       .hint = ""});
}

}  // namespace

Platform measured_platform(const TaskGraph& graph,
                           const Trace& trace,
                           std::size_t devices,
                           std::uint32_t units) {
  Platform platform = ideal_platform(8);  // as many levels as any device has, to keep their order
  platform.hosts[HostId{0}].costs = measured_host_costs(graph, trace);
  const ReleaseIndex index(trace, graph, devices);
  Waits after_launch;
  Waits after_stream;
  Waits after_event;
  std::vector<Time> busy_until(devices);
  for (const std::uint32_t i : index.by_start()) {
    const TaskSpan& span = trace.tasks[i];
    Time& until = busy_until[span.device.value()];
    const Time others = std::exchange(until, std::max(until, span.ended));
    const Time submitted = std::min(span.submitted, span.started);
    const std::uint32_t before = index.previous(i);
    const Time stream = before == ReleaseIndex::none ? Time{} : trace.tasks[before].ended;
    Time event{};
    index.for_each_need(i, [&](std::uint32_t by) {
      if (trace.tasks[by].stream != span.stream) event = std::max(event, trace.tasks[by].ended);
    });
    const Time last = std::max({submitted, stream, event});
    // Beside others it may have waited for units.
    if (last == Time{} || last > span.started || others > last) continue;
    (last == submitted ? after_launch
     : last == stream  ? after_stream
                       : after_event)
        .add(span.started - last);
  }
  Device& device = platform.devices[DeviceId{0}];
  device.launch_latency = after_launch.median();
  device.stream_gap = after_stream.median();
  device.event_latency = after_event.median();
  device.graph_node_gap = std::max(device.stream_gap, device.event_latency);
  if (units > 0) {
    device.unit_class_of.fill(device.unit_classes.push_back({.name = "unit", .count = units}));
  }
  const Device other = device;
  while (platform.devices.size() < devices) platform.devices.push_back(other);
  return platform;
}

ExplainedRun run_of_simulation(const Simulation& simulation) {
  const PreparedProblem& prepared = *simulation.run.scenario.problem;
  ExplainedRun run;
  run.title = simulation.title;
  run.origin = simulation.document.origin;
  run.graph = *prepared.graph;
  run.platform = prepared.machine->platform;
  run.costs = prepared.costs;
  run.steps = prepared.steps;
  run.plan = simulation.run.plan;
  run.trace = simulation.run.trace;
  return run;
}

ExplainedRun run_of_trace(const TraceDocument& document) {
  ExplainedRun run;
  run.title = document.title;
  run.origin = document.origin;
  run.graph = labelled_graph(document);
  run.trace = document.trace;
  run.plan = recorded_plan(document, run.trace);
  use_measured_costs(run, document, shown_units(document));
  run.notes.emplace_back(
      "of a trace alone: dependencies are the waits it shows, the machine is what it measured");
  return run;
}

ExplainedRun load_explained_run(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const TraceDocument document = load_trace(path);
  expect_sums(document, path);
  const auto origin = folder ? read_run_origin(path) : std::nullopt;
  if (!origin) return run_of_trace(document);
  ExplainedRun run;
  run.title = document.title;
  run.origin = document.origin;
  run.trace = document.trace;
  run.graph = labelled_graph(document);
  repeat_run(run, *origin, path);
  if (origin->verb == "execute") {
    const HostCosts spent = run.platform.host(HostId{0}).costs;
    const bool by_workers = origin->workers > 0;  // of this computer's cores
    use_measured_costs(run, document, by_workers ? origin->workers : shown_units(document));
    if (by_workers) tell_front_end(run, spent);
  }
  return run;
}

}  // namespace schedlab
