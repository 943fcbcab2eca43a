// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/critical_path.hpp"

#include "sim/trace/release_index.hpp"

#include <algorithm>
#include <cstddef>

namespace schedlab {

namespace {

constexpr std::uint32_t nobody = ReleaseIndex::nobody;

/// What let a task start.
struct Release {
  std::uint32_t by = nobody;  // index of a span
  PathCause cause = PathCause::run_start;
  Time at{};  // when it took effect
};

class Walk {
 public:
  Walk(const Problem& problem, const Trace& trace)
      : problem_(problem),
        trace_(trace),
        index_(trace, problem.graph, problem.platform.device_count()) {
    index_host_waits();
  }

  [[nodiscard]] TraceCriticalPath path() const {
    TraceCriticalPath path;
    if (trace_.tasks.empty()) {
      path.tail = trace_.makespan();
      return path;
    }
    std::uint32_t at = last_task();
    path.tail = trace_.ended - trace_.tasks[at].ended;
    std::vector<bool> visited(trace_.tasks.size(), false);
    while (at != nobody) {
      at = last_part(at);
      if (visited[at]) break;  // as below
      visited[at] = true;
      const TaskSpan& span = trace_.tasks[at];
      Release release = release_of(at);
      // Only a trace that contradicts itself comes back to a task; the walk ends there.
      if (release.by != nobody && visited[release.by]) release.by = nobody;
      const Time from = release.by == nobody ? Time{} : trace_.tasks[release.by].ended;
      path.steps.push_back({span.task,
                            release.cause,
                            span.started - from,
                            span.duration(),
                            longer_than_alone(span)});
      at = release.by;
    }
    std::reverse(path.steps.begin(), path.steps.end());
    for (const PathStep& step : path.steps) {
      path.running += step.ran;
      path.slowed += step.slowed;
      path.waited[static_cast<std::size_t>(step.cause)] += step.waited;
      ++path.count[static_cast<std::size_t>(step.cause)];
    }
    return path;
  }

 private:
  /// The parts of a collective wait for each other, which is nobody's company.
  [[nodiscard]] Duration longer_than_alone(const TaskSpan& span) const {
    if (!shares_units(problem_.platform.sharing) ||
        problem_.graph.collectives().of(span.task).valid()) {
      return Duration{0};
    }
    const Duration alone = problem_.costs.duration(span.task, span.device);
    return std::max(Duration{0}, span.duration() - alone);
  }

  /// A host waits for a device in calls that block, or by asking until a stream is idle.
  void index_host_waits() {
    std::vector<bool> polling;
    for (const HostSpan& call : trace_.hosts) {
      const std::size_t host = call.host.value();
      if (host_waits_.size() <= host) {
        host_waits_.resize(host + 1);
        polling.resize(host + 1, false);
      }
      const HostCallKind kind = call.what.kind();
      if (kind == HostCallKind::sleep) {
        polling[host] = true;
      } else if (kind == HostCallKind::query) {
        const bool idle = call.what.answer().value_or(false);
        if (idle && polling[host]) host_waits_[host].push_back(&call);
        polling[host] = !idle;
      } else if (kind == HostCallKind::synchronize || kind == HostCallKind::launch) {
        if (call.blocked > Duration{0}) host_waits_[host].push_back(&call);
        polling[host] = false;
      }
    }
  }

  [[nodiscard]] std::uint32_t last_task() const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 1; i < trace_.tasks.size(); ++i) {
      if (trace_.tasks[i].ended > trace_.tasks[last].ended) last = i;
    }
    return last;
  }

  /// Of a collective, the part that started last: the others waited for it.
  [[nodiscard]] std::uint32_t last_part(std::uint32_t index) const {
    const CollectiveTable& collectives = problem_.graph.collectives();
    const CollectiveId id = collectives.of(trace_.tasks[index].task);
    if (!id.valid()) return index;
    for (const TaskId part : collectives.tasks(id)) {
      const std::uint32_t span = index_.span_of(part);
      if (span != nobody && trace_.tasks[span].started > trace_.tasks[index].started) index = span;
    }
    return index;
  }

  [[nodiscard]] Release release_of(std::uint32_t index) const {
    const TaskSpan& span = trace_.tasks[index];
    const Device& device = problem_.platform.device(span.device);
    Release best = dependency_of(index);
    const std::uint32_t before = index_.previous(index);
    if (before != nobody && trace_.tasks[before].ended <= span.started) {
      const Time at = trace_.tasks[before].ended + device.stream_gap;
      if (best.by == nobody || at > best.at) best = {before, PathCause::stream_order, at};
    }
    const Time arrival = std::min(span.submitted, span.started) + device.launch_latency;
    if (arrival > Time{} && (best.by == nobody || arrival > best.at)) {
      best = {host_release(span), PathCause::host, arrival};
    }
    if (best.at < span.started) {
      const std::uint32_t other = index_.last_on_device(span.device, span.started);
      const bool gave_units = other != nobody && other != index &&
                              trace_.tasks[other].started < span.started &&
                              trace_.tasks[other].ended > best.at;
      if (gave_units) best = {other, PathCause::resource, span.started};
    }
    return best;
  }

  /// The latest graph predecessor or awaited event.
  [[nodiscard]] Release dependency_of(std::uint32_t index) const {
    const TaskSpan& span = trace_.tasks[index];
    Release best;
    index_.for_each_need(index, [&](std::uint32_t by) {
      const TaskSpan& source = trace_.tasks[by];
      const Device& device = problem_.platform.device(span.device);
      const Duration delay =
          source.stream == span.stream ? device.stream_gap : device.event_latency;
      const Time at = source.ended + delay;
      if (best.by == nobody || at > best.at) best = {by, PathCause::dependency, at};
    });
    return best;
  }

  /// The task for which the host last waited before it submitted `span`.
  [[nodiscard]] std::uint32_t host_release(const TaskSpan& span) const {
    if (span.host.value() >= host_waits_.size()) return nobody;
    const auto& calls = host_waits_[span.host.value()];
    const auto after = std::upper_bound(
        calls.begin(), calls.end(), span.submitted, [](Time time, const HostSpan* call) {
          return time < call->ended;
        });
    if (after == calls.begin()) return nobody;
    const HostSpan& call = **(after - 1);
    if (call.what.kind() == HostCallKind::query) {
      return index_.last_in_stream(call.what.stream(), std::min(call.ended, span.started));
    }
    std::uint32_t latest = nobody;
    for (const DeviceId device : problem_.platform.device_ids()) {
      const std::uint32_t candidate = index_.last_on_device(device, call.ended);
      if (candidate == nobody || trace_.tasks[candidate].ended <= call.started) continue;
      if (latest == nobody || trace_.tasks[candidate].ended > trace_.tasks[latest].ended) {
        latest = candidate;
      }
    }
    return latest;
  }

  const Problem& problem_;
  const Trace& trace_;
  ReleaseIndex index_;
  std::vector<std::vector<const HostSpan*>> host_waits_;  // host -> calls that ended a wait
};

}  // namespace

std::string_view to_string(PathCause cause) {
  switch (cause) {
    case PathCause::run_start:
      return "run_start";
    case PathCause::dependency:
      return "dependency";
    case PathCause::stream_order:
      return "stream_order";
    case PathCause::host:
      return "host";
    case PathCause::resource:
      return "resource";
  }
  return "run_start";
}

TraceCriticalPath trace_critical_path(const Problem& problem, const Trace& trace) {
  return Walk{problem, trace}.path();
}

}  // namespace schedlab
