// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/device_run.hpp"

#include "real_exec/executor/spin_lock.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace schedlab::detail {
namespace {

/// Everything is given back, however the run ends.
class RunGuard {
 public:
  explicit RunGuard(DeviceBackend& backend) : backend_(backend) {}
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;
  ~RunGuard() { backend_.end_run(); }

 private:
  DeviceBackend& backend_;
};

/// The stream of each launch of each graph, in the order of the calls.
std::vector<std::vector<StreamId>> launch_streams(const Plan& plan) {
  std::vector<std::vector<StreamId>> streams(plan.graphs.size());
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::graph_launch) streams[call.graph()].push_back(call.stream());
  }
  return streams;
}

}  // namespace

void expect_first_device(std::string_view executor, StreamId id, const StreamSpec& spec) {
  if (spec.device == DeviceId{0}) return;
  throw InfeasibleError(fmt::format(
      "{} runs one device: stream {} is on device {}", executor, id.value(), spec.device.value()));
}

void expect_graph_as_planned(const TaskGraph& tasks,
                             const GraphRow& row,
                             const std::vector<LoadedNode>& nodes) {
  const auto fail = [&](std::uint32_t node, const std::string& what) {
    throw DeviceError(fmt::format("graph {}, node {} (task {}): {}",
                                  row.graph,
                                  node,
                                  tasks.name(row.shape.task(row.row, node)),
                                  what));
  };
  if (nodes.size() != row.shape.node_count()) {
    throw DeviceError(fmt::format("graph {}: the device holds {} nodes, the plan has {}",
                                  row.graph,
                                  nodes.size(),
                                  row.shape.node_count()));
  }
  // A task that runs nothing leaves no node: what needs it needs what it needs.
  std::vector<std::vector<std::uint32_t>> through(nodes.size());
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    std::vector<std::uint32_t> needs;
    for (const std::uint32_t need : row.shape.needs(node)) {
      if (nodes[need].parts > 0) {
        needs.push_back(need);
      } else {
        needs.insert(needs.end(), through[need].begin(), through[need].end());
      }
    }
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    through[node] = needs;
    if (nodes[node].parts == 0) continue;
    if (nodes[node].needs != needs) {
      fail(node,
           fmt::format("it waits on the device for nodes [{}], in the plan for [{}]",
                       fmt::join(nodes[node].needs, ", "),
                       fmt::join(needs, ", ")));
    }
    const auto& priority = nodes[node].priority;
    if (row.shape.node_priorities && priority && *priority != row.priorities[node]) {
      fail(node,
           fmt::format(
               "its priority on the device is {}, asked for {}", *priority, row.priorities[node]));
    }
  }
}

void DeviceRun::fail(const DeviceError& error) const {
  if (unfinished_.empty()) throw DeviceError(error);
  throw ExecutionError(fmt::format(
      "{}\n  one of the tasks that are not known to be complete may be the cause: {}\n  run with "
      "debug_sync to find it",
      error.what(),
      unfinished_.names()));
}

void DeviceRun::create_stream(StreamId stream, const StreamSpec& spec) {
  const DeviceProperties& device = backend_.properties();
  expect_first_device(device.executor, stream, spec);
  backend_.create_stream(stream, device.device_priority(spec.priority), spec);
}

void DeviceRun::load_graphs(const Plan& plan) {
  const auto streams = launch_streams(plan);
  const auto priority_of = [&](StreamId stream) {
    return backend_.properties().device_priority(plan.streams[stream].priority);
  };
  for (std::uint32_t g = 0; g < plan.graphs.size(); ++g) {
    const DeviceGraph& shape = plan.graphs[g];
    if (backend_.properties().is_host) {
      backend_.load_graph({.graph = g, .row = 0, .shape = shape, .priorities = {}},
                          options_.observer);
      continue;
    }
    for (std::uint32_t r = 0; r < shape.launch_count(); ++r) {
      GraphRow row{.graph = g, .row = r, .shape = shape, .priorities = {}};
      for (std::uint32_t node = 0; node < shape.node_count(); ++node) {
        row.priorities.push_back(
            priority_of(shape.node_priorities ? shape.stream(node) : streams[g][r]));
      }
      expect_graph_as_planned(graph_, row, backend_.load_graph(row, options_.observer));
    }
  }
}

void DeviceRun::prepare(const Plan& plan) {
  const DeviceProperties& device = backend_.properties();
  if (!plan.partitions.empty()) {
    std::string why = device.no_partitions;
    if (why.empty() && !plan.graphs.empty()) why = "nodes of device graphs are not bound to units";
    if (!why.empty()) {
      throw InfeasibleError(
          fmt::format("{} runs no plan with partitions on {}: {}; leave out urgent_units",
                      device.executor,
                      device.name,
                      why));
    }
    backend_.divide_units(plan.partitions);
  }
  if (plan.programmatic() && !device.programmatic_launches) {
    throw InfeasibleError(
        fmt::format("{} has no programmatic launches on {}; leave out programmatic",
                    device.executor,
                    device.name));
  }
  load_graphs(plan);
  IdVector<StreamId, bool> made_by_host(plan.streams.size(), false);
  for (const HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::create_stream) made_by_host[call.stream()] = true;
  }
  for (const StreamId id : plan.streams.ids()) {
    if (!made_by_host[id]) create_stream(id, plan.streams[id]);
  }
}

void DeviceRun::launch(StreamId stream, TaskId task, bool programmatic) {
  std::string what;
  try {
    if (options_.observer != nullptr) options_.observer->before(task);
    programmatic ? backend_.launch_programmatically(stream, task) : backend_.launch(stream, task);
    if (options_.observer != nullptr) options_.observer->after(task);
    if (options_.debug_sync) backend_.synchronize(stream);
  } catch (const ContractViolation&) {
    throw;
  } catch (const std::bad_alloc&) {
    what = "ran out of memory";
  } catch (const std::exception& error) {
    what = fmt::format("failed: {}", error.what());
  }
  if (!what.empty()) {
    std::string text = fmt::format("task {} {}", graph_.name(task), what);
    if (!options_.debug_sync && !unfinished_.empty()) {
      text += fmt::format("\n  or one of the tasks before it, not known to be complete: {}",
                          unfinished_.names());
    }
    throw ExecutionError(text);
  }
  unfinished_.launched(stream, task);
  if (options_.debug_sync) unfinished_.finished(stream);
}

void DeviceRun::launch_graph(StreamId stream, std::uint32_t graph) {
  const std::uint32_t row = rows_[graph]++;
  if (unfinished_.kept()) {
    for (const TaskId task : (*graphs_)[graph].tasks(row)) unfinished_.launched(stream, task);
  }
  if (options_.observer != nullptr) options_.observer->before_graph(graph, row);
  backend_.launch_graph(stream, graph, row);
  if (options_.observer != nullptr) options_.observer->after_graph(graph, row);
  if (!options_.debug_sync) return;
  backend_.synchronize(stream);
  unfinished_.finished(stream);
}

bool DeviceRun::query(StreamId stream) {
  const bool idle = backend_.idle(stream);
  if (idle) unfinished_.finished(stream);
  last_query_ = idle;
  return idle;
}

void DeviceRun::synchronize(HostCall call) {
  if (call.stream().valid()) {
    backend_.synchronize(call.stream());
    unfinished_.finished(call.stream());
  } else if (call.argument() != HostCall::none) {
    backend_.synchronize(call.event());
    unfinished_.finished(call.event());
  } else {
    backend_.synchronize();
    unfinished_.finished();
  }
}

/// Keeps the host's core busy, until the run is stopped at most.
void DeviceRun::compute_until(Time until) const {
  while (clock_.now() < until && !stop_requested(options_.stop)) relax();
}

void DeviceRun::make_call(const OnlineStep& step, const CallSource& calls, HostSpan& span) {
  const HostCall call = step.call;
  const StreamId stream = call.stream();
  switch (call.kind()) {
    case HostCallKind::create_stream:
      return create_stream(stream, step.stream);
    case HostCallKind::destroy_stream:
      return backend_.destroy_stream(stream);
    case HostCallKind::launch:
      if (options_.front_end > Duration{0}) {
        const std::uint32_t kernels = graph_.operation(call.task()).launches();
        compute_until(span.started + options_.front_end * kernels);
      }
      return launch(stream, call.task(), call.programmatic());
    case HostCallKind::record:
      backend_.record(stream, call.event());
      return unfinished_.recorded(stream, call.event());
    case HostCallKind::wait:
      return backend_.wait(stream, call.event());
    case HostCallKind::query: {
      const bool idle = query(stream);
      calls.answer(idle);
      span.what = HostCall::answered_query(stream, idle);
      return;
    }
    case HostCallKind::sleep:
      backend_.sleep_until(span.started + call.sleep_time(), clock_, options_.stop);
      span.blocked = clock_.now() - span.started;
      return;
    case HostCallKind::synchronize:
      synchronize(call);
      span.blocked = clock_.now() - span.started;
      return;
    case HostCallKind::graph_load:  // the graph was loaded before the run
      return;
    case HostCallKind::graph_launch:
      return launch_graph(stream, call.graph());
    default:
      throw InfeasibleError(fmt::format(
          "{} cannot make the call {}", backend_.properties().executor, to_string(call.kind())));
  }
}

void DeviceRun::make_calls(const CallSource& calls, Execution& out) {
  std::uint32_t index = 0;
  while (true) {
    const HostView view{.now = clock_.now(), .last_query = last_query_};
    last_query_.reset();
    const auto step = calls.next(view);
    if (!step) return;
    backend_.before_call();
    if (stop_requested(options_.stop)) throw Interrupted("the execution was stopped");
    all_awaited_ = step->call == HostCall::synchronize_all();
    HostSpan span{.host = HostId{0}, .call = index++, .what = step->call, .started = clock_.now()};
    make_call(*step, calls, span);
    span.ended = clock_.now();
    if (options_.record_hosts) out.trace.hosts.push_back(span);
  }
}

void DeviceRun::execute(const Plan& plan, const CallSource& calls, Execution& out) {
  graphs_ = &plan.graphs;
  rows_.assign(plan.graphs.size(), 0);
  const RunGuard guard(backend_);
  backend_.begin_run({.graph = graph_,
                      .stream_count = static_cast<std::uint32_t>(plan.streams.size()),
                      .event_count = plan.event_count,
                      .timing = options_.timing});
  prepare(plan);
  // A profiler would take what this launches for the run's.
  if (options_.steady_start && options_.observer == nullptr) backend_.begin_steadily();
  backend_.synchronize();
  clock_ = backend_.start_clock();
  try {
    make_calls(calls, out);
    if (!all_awaited_) backend_.synchronize();
    out.trace.ended = clock_.now();
    unfinished_.finished();
    if (options_.timing == TaskTiming::events) times_ = backend_.task_times();
    backend_.finish(out);
  } catch (const DeviceError& error) {
    out.trace.ended = clock_.now();
    backend_.finish(out);
    fail(error);
  } catch (...) {
    out.trace.ended = clock_.now();
    backend_.finish(out);
    throw;
  }
}

}  // namespace schedlab::detail
