// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/host_waits.hpp"

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::uint32_t none = HostWaits::none;

[[nodiscard]] bool posts(HostCallKind kind) {
  return concerns_message(kind) && kind != HostCallKind::wait_message;
}

}  // namespace

HostWaits::HostWaits(const Trace& trace, const ReleaseIndex& index, const Plan* plan)
    : trace_(trace), index_(index), plan_(plan) {
  index_calls();
  index_messages();
  for (std::uint32_t i = 0; i < trace.tasks.size(); ++i) {
    thread(trace.tasks[i].host).tasks.push_back(i);
  }
  for (Thread& one : threads_) {
    std::stable_sort(one.waits.begin(), one.waits.end(), [](const HostSpan* a, const HostSpan* b) {
      return a->ended < b->ended;
    });
    std::sort(one.tasks.begin(), one.tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Time first = trace_.tasks[a].ended;
      const Time second = trace_.tasks[b].ended;
      return first != second ? first < second : a < b;
    });
  }
  if (plan == nullptr) return;
  std::vector<std::uint32_t> launched(plan->graphs.size(), 0);
  for (const HostId host : plan->hosts.ids()) follow_program(host, *plan, launched);
}

HostWaits::Thread& HostWaits::thread(HostId host) {
  if (host.value() >= threads_.size()) threads_.resize(host.value() + 1);
  return threads_[host.value()];
}

/// A host waits in calls that block, or by asking until a stream is idle.
void HostWaits::index_calls() {
  std::vector<bool> polling;
  for (const HostSpan& call : trace_.hosts) {
    Thread& own = thread(call.host);
    const std::size_t host = call.host.value();
    if (polling.size() <= host) polling.resize(host + 1, false);
    const HostCallKind kind = call.what.kind();
    if (kind == HostCallKind::sleep) {
      polling[host] = true;
    } else if (kind == HostCallKind::query) {
      const bool idle = call.what.answer().value_or(false);
      if (idle && polling[host]) own.waits.push_back(&call);
      polling[host] = !idle;
    } else if (call.blocked > Duration{0}) {
      own.waits.push_back(&call);
      polling[host] = false;
    } else if (kind == HostCallKind::synchronize || kind == HostCallKind::launch) {
      polling[host] = false;
    }
  }
}

void HostWaits::index_messages() {
  for (std::uint32_t i = 0; i < trace_.messages.size(); ++i) {
    messages_.emplace_back(trace_.messages[i].message, i);
    posts_.push_back({});
  }
  std::sort(messages_.begin(), messages_.end());
  for (const HostSpan& call : trace_.hosts) {
    const HostCallKind kind = call.what.kind();
    if (!posts(kind)) continue;
    const std::uint32_t message = find_message(call.what);
    if (message == none) continue;
    const bool sends = kind == HostCallKind::send || kind == HostCallKind::isend;
    const Time posted = call.ended - call.blocked;
    (sends ? posts_[message].sent : posts_[message].received) = posted;
  }
}

std::uint32_t HostWaits::find_message(HostCall call) const {
  const auto found = std::lower_bound(
      messages_.begin(), messages_.end(), std::pair{call.message(), std::uint32_t{0}});
  return found != messages_.end() && found->first == call.message() ? found->second : none;
}

/// Which task each event stands for at each place of the program that waits for one.
void HostWaits::follow_program(HostId host,
                               const Plan& plan,
                               std::vector<std::uint32_t>& launched) {
  std::vector<std::uint32_t> last_in(plan.streams.size(), none);
  constexpr std::uint32_t unknown = none - 1;  // no record in the plan
  std::vector<std::uint32_t> recorded(plan.event_count, unknown);
  const auto ended_later = [&](std::uint32_t a, std::uint32_t b) {
    return a == none || (b != none && trace_.tasks[b].ended >= trace_.tasks[a].ended);
  };
  const std::vector<HostCall>& calls = plan.hosts[host].calls;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    const HostCall call = calls[i];
    if (call.kind() == HostCallKind::launch) {
      last_in[call.stream().value()] = index_.span_of(call.task());
    } else if (call.kind() == HostCallKind::graph_launch && call.graph() < launched.size()) {
      const DeviceGraph& graph = plan.graphs[call.graph()];
      if (launched[call.graph()] == graph.launch_count()) continue;
      std::uint32_t last = none;
      for (const TaskId task : graph.tasks(launched[call.graph()]++)) {
        const std::uint32_t span = index_.span_of(task);
        if (ended_later(last, span)) last = span;
      }
      last_in[call.stream().value()] = last;
    } else if (call.kind() == HostCallKind::record) {
      recorded[call.event().value()] = last_in[call.stream().value()];
    } else if (call.kind() == HostCallKind::synchronize && !call.stream().valid() &&
               call.event().valid() && recorded[call.event().value()] != unknown) {
      thread(host).awaited.emplace_back(i, recorded[call.event().value()]);
    }
  }
}

std::optional<HostWaits::Place> HostWaits::last_call() const {
  const HostSpan* last = nullptr;
  for (const HostSpan& call : trace_.hosts) {
    if (last == nullptr || call.ended > last->ended) last = &call;
  }
  if (last == nullptr) return std::nullopt;
  return Place{last->host, last->ended};
}

std::uint32_t HostWaits::awaited_task(const HostSpan& call, Time until) const {
  const auto ended_by = [&](const std::vector<std::uint32_t>& spans) {
    const auto after =
        std::upper_bound(spans.begin(), spans.end(), call.ended, [&](Time time, std::uint32_t i) {
          return time < trace_.tasks[i].ended;
        });
    return after == spans.begin() ? none : *(after - 1);
  };
  const Thread& own = threads_[call.host.value()];
  if (call.what.kind() == HostCallKind::query) {
    return index_.last_in_stream(call.what.stream(), std::min(call.ended, until));
  }
  if (call.what.stream().valid()) return index_.last_in_stream(call.what.stream(), call.ended);
  const bool same = plan_ != nullptr && plan_->hosts.contains(call.host) &&
                    call.call < plan_->hosts[call.host].calls.size() &&
                    plan_->hosts[call.host].calls[call.call] == call.what;
  if (same && call.what.event().valid()) {
    const auto found = std::lower_bound(
        own.awaited.begin(), own.awaited.end(), std::pair{call.call, std::uint32_t{0}});
    if (found != own.awaited.end() && found->first == call.call) return found->second;
  }
  return ended_by(own.tasks);
}

HostWaits::Release HostWaits::release_of(const HostSpan& call, Time until) const {
  if (concerns_message(call.what.kind())) {
    const std::uint32_t message = find_message(call.what);
    if (message == none) return {};
    // The sender goes on when the bytes have left, which is before they arrive.
    return {.at = std::min(trace_.messages[message].arrived, call.ended),
            .task = none,
            .message = message};
  }
  const std::uint32_t task = awaited_task(call, until);
  if (task == none) return {};
  const Time ended = trace_.tasks[task].ended;
  if (call.what.kind() != HostCallKind::query && ended <= call.started) return {};
  // The clocks of a measured trace may differ by a little.
  return {.at = std::min(ended, call.ended), .task = task, .message = none};
}

std::optional<HostWaits::Release> HostWaits::last_before(HostId host, Time time) const {
  if (host.value() >= threads_.size()) return std::nullopt;
  const auto& waits = threads_[host.value()].waits;
  auto one = std::upper_bound(waits.begin(), waits.end(), time, [](Time t, const HostSpan* call) {
    return t < call->ended;
  });
  while (one != waits.begin()) {
    const Release release = release_of(**--one, time);
    if (release.task != none || release.message != none) return release;
  }
  return std::nullopt;
}

HostWaits::Place HostWaits::origin(std::uint32_t message) const {
  const MessageSpan& span = trace_.messages[message];
  const Posts& both = posts_[message];
  // A message that left with its send was not held up by its receiver.
  const Time sent = both.sent.value_or(span.left);
  // It was not sent but got, by the receiver's call.
  const bool got = !both.sent && both.received && *both.received <= span.left;
  const bool receiver = got || (both.received > sent && span.left > sent);
  return receiver ? Place{span.to, *both.received} : Place{span.from, sent};
}

}  // namespace schedlab
