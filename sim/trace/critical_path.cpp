// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/critical_path.hpp"

#include "sim/trace/host_waits.hpp"
#include "sim/trace/release_index.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace schedlab {

namespace {

constexpr std::uint32_t none = ReleaseIndex::none;

/// What let a task start.
struct Release {
  std::uint32_t by = none;  // index of a span
  PathCause cause = PathCause::run_start;
  Time at{};  // when it took effect
};

/// Who would have to be faster for a wait of this kind to be shorter. What is not known is the
/// host's: it lies before the first thing that a trace has.
[[nodiscard]] PathBound bound_of(PathCause cause) {
  switch (cause) {
    case PathCause::dependency:
    case PathCause::stream_order:
    case PathCause::launch:
      return PathBound::latency;
    case PathCause::resource:
      return PathBound::device;
    case PathCause::message:
      return PathBound::message;
    case PathCause::host:
    case PathCause::run_start:
      break;
  }
  return PathBound::host;
}

class Walk {
 public:
  Walk(const Problem& problem, const Trace& trace, const PathFacts& facts)
      : problem_(problem),
        trace_(trace),
        index_(trace, problem.graph, problem.platform.device_count()),
        waits_(trace, index_, facts.plan),
        limits_(facts.limits),
        reached_(trace.ended),
        visited_(trace.tasks.size(), false),
        followed_(trace.messages.size(), false) {}

  [[nodiscard]] TraceCriticalPath path() {
    std::uint32_t at = last_activity();
    path_.tail = trace_.ended - reached_;
    path_.waited = {};  // of the tail
    while (at != none) at = add_step(last_part(at));
    std::reverse(path_.steps.begin(), path_.steps.end());
    std::reverse(path_.spans.begin(), path_.spans.end());
    for (const PathStep& step : path_.steps) {
      path_.running += step.ran;
      path_.slowed += step.slowed;
      ++path_.count[static_cast<std::size_t>(step.cause)];
    }
    for (const PathSpan& span : path_.spans) {
      path_.bound[static_cast<std::size_t>(span.bound)] += span.end - span.begin;
    }
    return std::move(path_);
  }

  [[nodiscard]] std::vector<TaskRelease> releases() const {
    std::vector<TaskRelease> all;
    all.reserve(trace_.tasks.size());
    for (std::uint32_t i = 0; i < trace_.tasks.size(); ++i) {
      Release release = release_of(i);
      if (release.cause == PathCause::host) {
        const TaskSpan& span = trace_.tasks[i];
        const auto wait = waits_.last_before(span.host, std::min(span.submitted, span.started));
        if (wait) release.by = wait->task;
      }
      all.push_back({release.by, release.cause});
    }
    return all;
  }

 private:
  /// The path did this from `begin` to where it has been followed to.
  void cover(PathBound bound, Time begin) {
    begin = std::max(begin, Time{});
    if (begin >= reached_) return;
    if (!path_.spans.empty() && path_.spans.back().bound == bound) {
      path_.spans.back().begin = begin;
    } else {
      path_.spans.push_back({bound, begin, reached_});
    }
    reached_ = begin;
  }
  void wait(PathCause cause, Time begin) {
    const Time end = reached_;
    cover(bound_of(cause), begin);
    path_.waited[static_cast<std::size_t>(cause)] += end - reached_;
  }

  /// Follows the end of the run to the last task that decided it.
  [[nodiscard]] std::uint32_t last_activity() {
    const std::uint32_t task = last_task();
    const Time ended = task == none ? Time{} : trace_.tasks[task].ended;
    const auto call = waits_.last_call();
    if (!call || call->at <= ended) {
      wait(PathCause::host, ended);
      return task;
    }
    wait(PathCause::host, call->at);
    return follow_host(call->host);
  }

  /// Follows a task to what it waited for; the task before it on the path.
  [[nodiscard]] std::uint32_t add_step(std::uint32_t at) {
    const TaskSpan& span = trace_.tasks[at];
    visited_[at] = true;
    const Time ended = reached_;
    // A host's task in a stream is a wait for something outside (a profile's pause).
    const bool outside = problem_.graph.operation(span.task).kind == TaskKind::host;
    cover(outside ? PathBound::latency : PathBound::device, span.started);
    const Time started = reached_;
    const Release release = release_of(at);
    std::uint32_t next = release.by;
    if (release.cause == PathCause::host) {
      wait(PathCause::launch, std::min(span.submitted, span.started));
      next = follow_host(span.host);
    } else if (next != none) {
      wait(release.cause, trace_.tasks[next].ended);
    }
    // Only a trace that contradicts itself comes back to a task; the walk ends there.
    if (next != none && visited_[last_part(next)]) next = none;
    if (next == none) {
      wait(release.cause == PathCause::host ? release.cause : PathCause::run_start, Time{});
    }
    path_.steps.push_back(
        {span.task, release.cause, started - reached_, ended - started, longer_than_alone(span)});
    return next;
  }

  /// From a host to the task that it waited for last, over the messages between them.
  [[nodiscard]] std::uint32_t follow_host(HostId host) {
    for (;;) {
      const auto release = waits_.last_before(host, reached_);
      if (!release) break;
      wait(PathCause::host, release->at);
      if (release->message == HostWaits::none) return release->task;
      if (followed_[release->message]) break;  // as in add_step()
      followed_[release->message] = true;
      const HostWaits::Place origin = waits_.origin(release->message);
      wait(PathCause::message, origin.at);
      host = origin.host;
    }
    wait(PathCause::host, Time{});
    return none;
  }

  /// The parts of a collective wait for each other, which is not interference: the part that
  /// started last, which is the one on the path, may be longer where collectives contend.
  [[nodiscard]] Duration longer_than_alone(const TaskSpan& span) const {
    const CollectiveId collective = problem_.graph.collectives().of(span.task);
    const bool may_be = collective.valid() ? problem_.platform.network.collectives.contend
                                           : shares_units(problem_.platform.sharing);
    if (!may_be) return Duration{0};
    const Duration alone = collective.valid() ? alone_together(collective)
                                              : problem_.costs.duration(span.task, span.device);
    return std::max(Duration{0}, span.duration() - alone);
  }
  [[nodiscard]] Duration alone_together(CollectiveId collective) const {
    if (problem_.costs.task_durations().empty()) return problem_.costs.duration(collective);
    Duration longest{0};
    for (const TaskId part : problem_.graph.collectives().tasks(collective)) {
      longest = std::max(longest, problem_.costs.duration(part));
    }
    return longest;
  }

  [[nodiscard]] std::uint32_t last_task() const {
    std::uint32_t last = none;
    for (std::uint32_t i = 0; i < trace_.tasks.size(); ++i) {
      if (last == none || trace_.tasks[i].ended > trace_.tasks[last].ended) last = i;
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
      if (span != none && trace_.tasks[span].started > trace_.tasks[index].started) index = span;
    }
    return index;
  }

  [[nodiscard]] Release release_of(std::uint32_t index) const {
    const TaskSpan& span = trace_.tasks[index];
    const Device& device = problem_.platform.device(span.device);
    Release best = dependency_of(index);
    const std::uint32_t before = index_.previous(index);
    if (before != none && trace_.tasks[before].ended <= span.started) {
      // In a measured trace latencies can be shorter than the machine's; see dependency_of().
      const Time at = std::min(trace_.tasks[before].ended + device.stream_gap, span.started);
      if (best.by == none || at > best.at) best = {before, PathCause::stream_order, at};
    }
    const Time arrival = std::min(span.submitted + device.launch_latency, span.started);
    if (arrival > Time{} && (best.by == none || arrival > best.at)) {
      best = {none, PathCause::host, arrival};
    }
    if (best.at < span.started) {
      const std::uint32_t other = index_.last_on_device(span.device, span.started);
      const bool gave_units = other != none && other != index &&
                              trace_.tasks[other].started < span.started &&
                              may_compete(index, other) && trace_.tasks[other].ended > best.at;
      if (gave_units) best = {other, PathCause::resource, span.started};
    }
    return best;
  }

  /// Could a device that runs one of them lack units for the other? Not without limits. Copies have
  /// an engine of their own.
  [[nodiscard]] bool may_compete(std::uint32_t a, std::uint32_t b) const {
    const Device& device = problem_.platform.device(trace_.tasks[a].device);
    const bool units = std::any_of(device.unit_classes.begin(),
                                   device.unit_classes.end(),
                                   [](const UnitClass& one) { return one.count != 0; });
    if (!limits_ || units || device.resident_kernels != 0 || device.connections != 0) return true;
    const auto copies = [&](std::uint32_t index) {
      const TaskKind kind = problem_.graph.operation(trace_.tasks[index].task).kind;
      return kind == TaskKind::copy_host_to_device || kind == TaskKind::copy_device_to_host;
    };
    return copies(a) && copies(b);
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
      const Time at = std::min(source.ended + delay, span.started);
      if (best.by == none || at > best.at) best = {by, PathCause::dependency, at};
    });
    return best;
  }

  const Problem& problem_;
  const Trace& trace_;
  ReleaseIndex index_;
  HostWaits waits_;
  bool limits_;
  TraceCriticalPath path_;
  Time reached_;                // the path is known from here to the end of the run
  std::vector<bool> visited_;   // spans
  std::vector<bool> followed_;  // messages
};

}  // namespace

std::string_view to_string(PathBound bound) {
  constexpr std::array<std::string_view, path_bound_count> words{
      "device", "host", "latency", "message"};
  return words.at(static_cast<std::size_t>(bound));
}

double TraceCriticalPath::share(PathBound which) const {
  const auto whole = std::accumulate(bound.begin(), bound.end(), Duration{0});
  return whole == Duration{0}
             ? 0.0
             : static_cast<double>(bound[static_cast<std::size_t>(which)].count()) /
                   static_cast<double>(whole.count());
}

std::vector<TaskRelease> task_releases(const Problem& problem,
                                       const Trace& trace,
                                       const PathFacts& facts) {
  return Walk{problem, trace, facts}.releases();
}

TraceCriticalPath trace_critical_path(const Problem& problem,
                                      const Trace& trace,
                                      const PathFacts& facts) {
  return Walk{problem, trace, facts}.path();
}

}  // namespace schedlab
