// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/summary.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/matmul.hpp"
#include "sim/pipeline/pipeline_work.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/tensor_life.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

namespace schedlab {

namespace {

constexpr std::uint32_t not_run = TensorLife::never;

[[nodiscard]] std::int64_t picoseconds(Time time) {
  return time.time_since_epoch().count();
}

[[nodiscard]] double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

/// Adds a call that loads or launches a graph to load or head_overhead; the part of its host time
/// that its nodes are the cause of.
Duration count_graph_call(const Problem& problem,
                          const Plan& plan,
                          const HostCosts& costs,
                          HostCall call,
                          Summary& summary) {
  const std::int64_t nodes = plan.graphs[call.graph()].node_count();
  const Duration of_nodes = nodes * graph_node_cost(costs, call.kind());
  if (call.kind() == HostCallKind::graph_load) {
    summary.load += costs.graph_load + of_nodes;
  } else {
    const Device& device = problem.platform.device(plan.streams[call.stream()].device);
    summary.head_overhead += costs.graph_launch + of_nodes + device.launch_latency;
  }
  return of_nodes;
}

}  // namespace

void Summarizer::Union::add(std::int64_t start, std::int64_t end) {
  const std::int64_t from = std::max(start, until);
  if (end <= from) return;
  length += end - from;
  until = end;
}

Summary Summarizer::summarize(const Problem& problem,
                              const Plan& plan,
                              const Trace& trace,
                              const LowerBounds& graph_bounds) {
  Summary summary;
  summary.makespan = trace.makespan();
  summary.bounds = graph_bounds.of_plan(plan);
  collect_facts(problem);
  summary.cost_evidence = cost_evidence(problem.graph, problem.platform.devices[DeviceId{0}]);
  count_calls(problem, plan, summary);
  copy_times(trace);
  const std::span<const std::uint32_t> by_start = start_order_.by_time(starts_);
  sweep_starts(problem, trace, by_start, summary);
  fill_hidden_share(problem, trace, summary);
  fill_unit_classes(problem, trace, summary);
  fill_collectives(problem, trace, summary);
  mark_life_times(problem, trace);
  sweep_changes(trace, by_start);
  fill_shares(trace, summary);
  fill_pipeline(problem, trace, summary);

  const auto hosts = static_cast<double>(plan.hosts.size());
  summary.host_busy_share /= std::max(1.0, hosts * static_cast<double>(summary.makespan.count()));
  const auto bound = static_cast<double>(summary.bounds.largest().count());
  summary.gap = ratio(static_cast<double>(summary.makespan.count()), bound);
  return summary;
}

void Summarizer::collect_facts(const Problem& problem) {
  const auto& operations = problem.graph.operations();
  operation_count_ = operations.size();
  facts_.clear();
  const bool shared = shares_units(problem.platform.sharing);
  const auto& kinds = problem.platform.devices;
  kind_count_ = kinds.size();
  devices_.assign(kinds.size(), DeviceState{});
  devices_.reserve(problem.platform.device_count());
  for (const DeviceId device : kinds.ids()) {
    DeviceState& state = devices_[device.value()];
    for (const OperationId id : operations.ids()) {
      const double share = unit_share(problem, id, device);
      const CostTable::Entry& entry = problem.costs.entry(id, device);
      facts_.push_back({.share = share,
                        .class_share = entry.units > 0 ? entry.mean_share : 0.0,
                        .unit_class = entry.units > 0 ? entry.unit_class : UnitClassId::none(),
                        .launches = entry.launches,
                        .calls = entry.calls,
                        .critical = is_critical(operations[id].task_class),
                        .matmul = is_matmul(operations[id]),
                        .work_only = shared && entry.units > 0,
                        .on_device = operations[id].kind != TaskKind::host});
      // Of limited units no more than all can be in use; shares of unlimited ones can add up to
      // more.
      state.may_cap = state.may_cap || (entry.units == 0 && share > 0);
    }
  }
  devices_.resize(problem.platform.device_count(), DeviceState{devices_.back()});
  std::size_t classes = 0;
  for (const DeviceId device : problem.platform.device_ids()) {
    devices_[device.value()].first_class = classes;
    classes += problem.platform.device(device).unit_classes.size();
  }
  classes_.assign(classes, ClassState{});
}

void Summarizer::count_calls(const Problem& problem, const Plan& plan, Summary& summary) const {
  constexpr auto index = [](HostCallKind kind) { return static_cast<std::size_t>(kind); };
  for (const HostId host : plan.hosts.ids()) {
    // Launches are counted in kernels.
    std::array<std::int64_t, host_call_kind_count> count{};
    const Host& machine = problem.platform.host(host);
    Duration issue{0};
    std::int64_t queries = 0;  // most calls of a policy that asks whether streams are idle
    for (const HostCall call : plan.hosts[host].calls) {
      if (call.kind() == HostCallKind::query) {
        ++queries;
        continue;
      }
      std::int64_t times = 1;
      if (call.kind() == HostCallKind::launch) {
        const DeviceId device = plan.streams[call.stream()].device;
        const OperationFacts& launched = facts(problem.graph.operation_id(call.task()), device);
        times = launched.launches;
        issue += launched.calls;
      } else if (call.kind() == HostCallKind::graph_load ||
                 call.kind() == HostCallKind::graph_launch) {
        issue += count_graph_call(problem, plan, machine.costs, call, summary);
      }
      count[index(call.kind())] += times;
    }
    count[index(HostCallKind::query)] = queries;
    const auto cost_of = call_costs(machine);
    for (std::size_t kind = 0; kind < count.size(); ++kind) issue += count[kind] * cost_of[kind];
    issue = std::max(issue, front_end_time(machine, count[index(HostCallKind::launch)]));
    summary.bounds.host_issue = std::max(summary.bounds.host_issue, issue);
    summary.host_busy_share += static_cast<double>(issue.count());
    const auto of = [&](HostCallKind kind) {
      return static_cast<std::uint64_t>(count[index(kind)]);
    };
    summary.launches += of(HostCallKind::launch);
    summary.records += of(HostCallKind::record);
    summary.waits += of(HostCallKind::wait);
    summary.queries += of(HostCallKind::query);
    summary.host_calls += plan.hosts[host].calls.size();
  }
  for (const DeviceGraph& graph : plan.graphs) {
    for (std::uint32_t launch = 0; launch < graph.launch_count(); ++launch) {
      for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
        const DeviceId device = plan.streams[graph.stream(node)].device;
        summary.launches +=
            facts(problem.graph.operation_id(graph.task(launch, node)), device).launches;
      }
    }
  }
  summary.events = plan.event_count;
  summary.streams = plan.streams.size();
}

void Summarizer::copy_times(const Trace& trace) {
  const std::size_t count = trace.tasks.size();
  starts_.resize(count);
  ends_.resize(count);
  share_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    starts_[i] = picoseconds(trace.tasks[i].started);
    ends_[i] = picoseconds(trace.tasks[i].ended);
  }
}

void Summarizer::sweep_starts(const Problem& problem,
                              const Trace& trace,
                              std::span<const std::uint32_t> by_start,
                              Summary& summary) {
  critical_times_.clear();
  Union critical;
  Union other;
  Union any;
  std::int64_t running = 0;
  std::int64_t in_matmuls = 0;
  for (const std::uint32_t i : by_start) {
    const TaskSpan& span = trace.tasks[i];
    const OperationFacts& operation = facts(problem.graph.operation_id(span.task), span.device);
    share_[i] = operation.share;
    if (!operation.on_device) continue;
    const std::int64_t start = starts_[i];
    const std::int64_t end = ends_[i];
    running += end - start;
    if (operation.matmul) in_matmuls += end - start;
    any.add(start, end);
    if (operation.critical) add_critical_time(start, end);
    (operation.critical ? critical : other).add(start, end);

    DeviceState& device = devices_[span.device.value()];
    if (start > device.busy_until) {
      const std::int64_t submitted = std::min(picoseconds(span.submitted), start);
      device.host_bound += std::max<std::int64_t>(submitted - device.busy_until, 0);
    }
    const std::int64_t from = std::max(start, device.busy_until);
    device.busy += std::max<std::int64_t>(end - from, 0);
    // A task of no duration ends the idle time before it, too: none counts twice.
    device.busy_until = std::max(device.busy_until, end);
    std::int64_t held = end - start;
    if (operation.work_only) {
      // Shared block by block: the work is known, not how many units were held when.
      held = std::min(held, problem.costs.duration(span.task, span.device).count());
    }
    device.unit_time += operation.share * static_cast<double>(held);
    if (!operation.unit_class.valid()) continue;
    ClassState& unit_class = classes_[device.first_class + operation.unit_class.value()];
    unit_class.busy.add(start, end);
    unit_class.unit_time += operation.class_share * static_cast<double>(held);
  }
  summary.tasks = trace.tasks.size();
  summary.mean_concurrency =
      ratio(static_cast<double>(running), static_cast<double>(summary.makespan.count()));
  summary.matmul_share = ratio(static_cast<double>(in_matmuls), static_cast<double>(running));
  const std::int64_t both = critical.length + other.length - any.length;
  summary.overlap_share = ratio(static_cast<double>(both), static_cast<double>(critical.length));
}

void Summarizer::fill_collectives(const Problem& problem, const Trace& trace, Summary& summary) {
  const CollectiveTable& collectives = problem.graph.collectives();
  if (collectives.empty()) return;
  last_starts_.assign(collectives.size(), 0);
  for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
    const CollectiveId id = collectives.of(trace.tasks[i].task);
    if (id.valid()) last_starts_[id.value()] = std::max(last_starts_[id.value()], starts_[i]);
  }
  std::int64_t waited = 0;
  for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
    const CollectiveId id = collectives.of(trace.tasks[i].task);
    if (id.valid()) waited += last_starts_[id.value()] - starts_[i];
  }
  summary.collective_wait = Duration{waited / std::int64_t{problem.graph.rank_count()}};
}

void Summarizer::mark_life_times(const Problem& problem, const Trace& trace) {
  const TensorTable& tensors = problem.graph.tensors();
  has_life_times_ = !tensors.empty();
  if (!has_life_times_) return;
  const std::size_t count = trace.tasks.size();
  allocates_.assign(count, 0);
  frees_.assign(count, 0);
  remote_frees_.clear();
  span_of_.assign(problem.graph.task_count(), not_run);
  for (std::size_t i = 0; i < count; ++i) {
    span_of_[trace.tasks[i].task.value()] = static_cast<std::uint32_t>(i);
  }

  for (const TensorId tensor : tensors.ids()) {
    const std::int64_t bytes = tensors.bytes(tensor).count();
    if (devices_.size() == 1 && tensors.persistent(tensor)) {  // weights have many readers
      devices_.front().held += bytes;
      continue;
    }
    const auto [first, last] = inlined_tensor_life(tensors, tensor, span_of_, starts_, ends_);
    if (tensors.persistent(tensor)) {
      const DeviceId device = first != not_run ? trace.tasks[first].device : DeviceId{0};
      devices_[device.value()].held += bytes;
    } else if (first != not_run && ends_[last] > starts_[first]) {
      // The tensor lives where its life begins. A life of length 0 holds nothing.
      allocates_[first] += bytes;
      const DeviceId home = trace.tasks[first].device;
      if (trace.tasks[last].device == home) {
        frees_[last] += bytes;
      } else {
        remote_frees_.push_back({last, home, bytes});
      }
    }
  }
  std::sort(remote_frees_.begin(), remote_frees_.end(), [](const auto& a, const auto& b) {
    return a.span < b.span;
  });
}

/// Ends the life of what span `index` was the last to read, here and on other devices.
void Summarizer::free_after(std::uint32_t index, DeviceState& device) {
  device.held -= frees_[index];
  if (remote_frees_.empty()) return;
  auto item = std::lower_bound(
      remote_frees_.begin(), remote_frees_.end(), index, [](const RemoteFree& a, std::uint32_t b) {
        return a.span < b;
      });
  for (; item != remote_frees_.end() && item->span == index; ++item) {
    devices_[item->device.value()].held -= item->bytes;
  }
}

void Summarizer::change_in_use(DeviceState& device, std::int64_t at, double share) {
  device.unit_time += std::min(device.in_use, 1.0) * static_cast<double>(at - device.last);
  device.last = at;
  device.in_use += share;
}

void Summarizer::start_change(const TaskSpan& span, std::uint32_t index) {
  DeviceState& device = devices_[span.device.value()];
  const bool instant = starts_[index] == ends_[index];
  if (device.may_cap && !instant) change_in_use(device, starts_[index], share_[index]);
  if (!has_life_times_) return;
  device.held += allocates_[index];
  device.peak = std::max(device.peak, device.held);
  if (instant) free_after(index, device);
}

void Summarizer::end_change(const TaskSpan& span, std::uint32_t index) {
  DeviceState& device = devices_[span.device.value()];
  if (device.may_cap) change_in_use(device, ends_[index], -share_[index]);
  if (has_life_times_) free_after(index, device);
}

void Summarizer::sweep_changes(const Trace& trace, std::span<const std::uint32_t> by_start) {
  bool may_cap = false;
  for (DeviceState& device : devices_) {
    device.peak = device.held;
    if (device.may_cap) device.unit_time = 0;
    may_cap = may_cap || device.may_cap;
  }
  if (!may_cap && !has_life_times_) return;
  // At one instant ends come before starts: memory that is freed can be used again at once.
  std::size_t started = 0;
  for (const std::uint32_t ending : end_order_.by_time(ends_)) {
    for (; started < by_start.size() && starts_[by_start[started]] < ends_[ending]; ++started) {
      start_change(trace.tasks[by_start[started]], by_start[started]);
    }
    if (starts_[ending] < ends_[ending]) end_change(trace.tasks[ending], ending);
  }
  for (; started < by_start.size(); ++started) {
    start_change(trace.tasks[by_start[started]], by_start[started]);
  }
}

void Summarizer::fill_pipeline(const Problem& problem, const Trace& trace, Summary& summary) const {
  const PipelineRanks of = pipeline_ranks(problem.graph);
  if (of.replicas == 0) return;
  struct Work {
    std::uint32_t rank = 0;
    Time begin{};
    Time end{};
    [[nodiscard]] bool operator<(const Work& other) const {
      return std::tie(rank, begin) < std::tie(other.rank, other.begin);
    }
  };
  std::vector<Work> spans;
  spans.reserve(trace.tasks.size());
  for (const TaskSpan& span : trace.tasks) {
    const auto what = pipeline_work(problem.graph.tags(span.task));
    if (what && !joins_replicas(*what)) {
      spans.push_back({problem.graph.rank(span.task), span.started, span.ended});
    }
  }
  if (!std::is_sorted(spans.begin(), spans.end())) std::sort(spans.begin(), spans.end());
  // Passes of two microbatches beside each other are work once.
  double work = 0;
  Time done{};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Work& one = spans[i];
    if (i == 0 || spans[i - 1].rank != one.rank) done = Time{};
    const Time begin = std::max(done, one.begin);
    if (one.end > begin) work += static_cast<double>((one.end - begin).count());
    done = std::max(done, one.end);
  }
  const std::uint32_t ranks = problem.graph.rank_count();
  const double whole = static_cast<double>(summary.makespan.count()) * ranks;
  summary.bubble_share = whole > 0 ? 1.0 - work / whole : 0.0;
  if (!has_life_times_) return;
  summary.stage_peak_memory.resize(of.places);
  for (std::uint32_t rank = 0; rank < ranks && rank < devices_.size(); ++rank) {
    Bytes& peak = summary.stage_peak_memory[of.place(rank)];
    peak = std::max(peak, Bytes{devices_[rank].peak});
  }
}

}  // namespace schedlab
