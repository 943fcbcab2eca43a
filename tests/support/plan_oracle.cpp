// SPDX-License-Identifier: Apache-2.0
#include "tests/support/plan_oracle.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab::test {
namespace {

bool enters_stream(HostCall call) {
  return call.kind() == HostCallKind::launch || call.kind() == HostCallKind::record ||
         call.kind() == HostCallKind::wait;
}

class Definition {
 public:
  Definition(const Problem& problem, const Plan& plan)
      : problem_(problem),
        calls_(plan.hosts[HostId{0}].calls),
        host_(problem.platform.host(HostId{0})),
        host_end_(calls_.size()),
        left_(calls_.size()) {
    std::map<DeviceId, std::uint32_t> opened;
    for (const StreamSpec& stream : plan.streams) {
      device_of_.push_back(stream.device);
      sync_of_.push_back(stream.sync);
    }
    connection_of_.assign(plan.streams.size(), {});
    std::vector<bool> seen(plan.streams.size(), false);
    for (const HostCall call : calls_) {
      if (!call.stream().valid() || seen[call.stream().value()]) continue;
      seen[call.stream().value()] = true;
      const std::uint32_t number = opened[device(call).first]++;
      const std::uint32_t limit = device(call).second.connections;
      connection_of_[call.stream()] = {device(call).first, limit == 0 ? number : number % limit};
    }
  }

  Trace trace() {
    Trace result;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      HostCall what = calls_[i];
      if (what.kind() == HostCallKind::query) {
        what = HostCall::answered_query(what.stream(), idle_from(i, what.stream()) <= host_end(i));
      }
      result.hosts.push_back(
          {HostId{0}, static_cast<std::uint32_t>(i), what, before(i), host_end(i), blocked(i)});
      result.ended = std::max(result.ended, host_end(i));
      if (what.kind() != HostCallKind::launch) continue;
      result.tasks.push_back({what.task(),
                              what.stream(),
                              HostId{0},
                              device(what).first,
                              host_end(i),
                              left(i),
                              completed(i)});
      result.ended = std::max(result.ended, completed(i));
    }
    return result;
  }

 private:
  [[nodiscard]] std::pair<DeviceId, const Device&> device(HostCall call) const {
    const DeviceId id = device_of_[call.stream()];
    return {id, problem_.platform.device(id)};
  }
  /// One in the legacy default stream of a device, the other in a blocking one.
  [[nodiscard]] bool are_in_order(HostCall a, HostCall b) const {
    const StreamSync first = sync_of_[a.stream()];
    const StreamSync second = sync_of_[b.stream()];
    return device(a).first == device(b).first &&
           ((first == StreamSync::legacy_default && second == StreamSync::blocking) ||
            (first == StreamSync::blocking && second == StreamSync::legacy_default));
  }
  Time before(std::size_t i) { return i == 0 ? Time{} : host_end(i - 1); }

  /// The record that a wait or synchronization in call i looks at: the latest one before it.
  [[nodiscard]] std::optional<std::size_t> record_before(std::size_t i, EventId event) const {
    while (i-- > 0) {
      if (calls_[i].kind() == HostCallKind::record && calls_[i].event() == event) return i;
    }
    return std::nullopt;
  }
  /// When all that was in the stream (none(): in any stream) at call i is done.
  Time idle_from(std::size_t i, StreamId stream) {
    Time idle{};
    for (std::size_t j = 0; j < i; ++j) {
      if (!enters_stream(calls_[j]) || (stream.valid() && calls_[j].stream() != stream)) continue;
      idle = std::max(idle, completed(j));
    }
    return idle;
  }
  /// When there is a free slot for the task of call i in its launch queue.
  Time free_slot(std::size_t i) {
    std::uint32_t ahead = 0;
    for (std::size_t j = i; host_.launch_queue_depth != 0 && j-- > 0;) {
      if (calls_[j].kind() != HostCallKind::launch || calls_[j].stream() != calls_[i].stream()) {
        continue;
      }
      if (++ahead == host_.launch_queue_depth) return completed(j);
    }
    return Time{};
  }
  /// What call i, a synchronization, waits for.
  Time target(std::size_t i) {
    if (!calls_[i].event().valid() || calls_[i].stream().valid()) {
      return idle_from(i, calls_[i].stream());
    }
    const auto record = record_before(i, calls_[i].event());
    return record ? completed(*record) : Time{};
  }

  Time host_end(std::size_t i) {
    if (!host_end_[i]) host_end_[i] = define_host_end(i);
    return *host_end_[i];
  }
  Time define_host_end(std::size_t i) {
    const HostCosts& costs = host_.costs;
    const HostCall call = calls_[i];
    switch (call.kind()) {
      case HostCallKind::launch: {
        const auto launches = problem_.costs.entry(call.task(), device(call).first).launches;
        return std::max(before(i), free_slot(i)) + costs.launch * launches;
      }
      case HostCallKind::record:
        return before(i) + costs.record;
      case HostCallKind::wait:
        return before(i) + costs.wait;
      case HostCallKind::query:
        return before(i) + costs.query;
      case HostCallKind::sleep:
        return before(i) + call.sleep_time() + costs.oversleep;
      case HostCallKind::create_stream:
        return before(i) + costs.create_stream;
      case HostCallKind::destroy_stream:
        return before(i) + costs.destroy_stream;
      default: {
        const Time called = before(i) + costs.synchronize;
        return target(i) > called ? target(i) + costs.wake_up : called;
      }
    }
  }
  Duration blocked(std::size_t i) {
    Time ready = before(i);
    Time until{};
    if (calls_[i].kind() == HostCallKind::sleep) {
      return calls_[i].sleep_time() + host_.costs.oversleep;
    }
    if (calls_[i].kind() == HostCallKind::launch) until = free_slot(i);
    if (calls_[i].kind() == HostCallKind::synchronize) {
      ready += host_.costs.synchronize;
      until = target(i);
    }
    return std::max(until - ready, Duration{0});
  }

  /// When call i leaves the front of its connection: a task's start, the end of a record or wait.
  Time left(std::size_t i) {
    if (!left_[i]) left_[i] = define_left(i);
    return *left_[i];
  }
  Time define_left(std::size_t i) {
    const HostCall call = calls_[i];
    const Device& on = device(call).second;
    const bool launch = call.kind() == HostCallKind::launch;
    Time time = host_end(i) + on.launch_latency;
    for (std::size_t j = 0; j < i; ++j) {
      if (!enters_stream(calls_[j])) continue;
      if (are_in_order(calls_[j], call)) time = std::max(time, completed(j) + on.event_latency);
      if (connection_of_[calls_[j].stream()] != connection_of_[call.stream()]) continue;
      time = std::max(time, left(j));
      if (calls_[j].stream() != call.stream()) continue;
      if (!launch || calls_[j].kind() != HostCallKind::launch) {
        time = std::max(time, completed(j));
        continue;
      }
      const Duration gap = call.programmatic() ? on.programmatic_gap.value() : on.stream_gap;
      time = std::max(time, completed(j) + gap);
    }
    if (call.kind() != HostCallKind::wait) return time;
    const auto record = record_before(i, call.event());
    if (!record) return time;
    const bool across = calls_[*record].stream() != call.stream();
    return std::max(time, completed(*record) + (across ? on.event_latency : Duration{0}));
  }
  Time completed(std::size_t i) {
    if (calls_[i].kind() != HostCallKind::launch) return left(i);
    return left(i) + problem_.costs.duration(calls_[i].task(), device(calls_[i]).first);
  }

  const Problem& problem_;
  const std::vector<HostCall>& calls_;
  const Host& host_;
  IdVector<StreamId, DeviceId> device_of_;
  IdVector<StreamId, StreamSync> sync_of_;
  IdVector<StreamId, std::pair<DeviceId, std::uint32_t>> connection_of_;
  std::vector<std::optional<Time>> host_end_;
  std::vector<std::optional<Time>> left_;
};

}  // namespace

Trace trace_by_definition(const Problem& problem, const Plan& plan) {
  return Definition{problem, plan}.trace();
}

}  // namespace schedlab::test
