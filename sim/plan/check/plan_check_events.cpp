// SPDX-License-Identifier: Apache-2.0
// Walk, continued: events and the life of streams.
#include "sim/plan/check/plan_check_walk.hpp"

#include <fmt/format.h>

namespace schedlab::checker {

void Walk::record(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  if (!event_uses_.empty() && index_.uses(c.event()) > 0) check_record_race(host, call, c.event());
  // To blocking streams a record in the legacy default stream is as good as a task in it.
  if (index_.is_legacy(c.stream())) clocks_.advance(lane);
  EventState& event = events_[c.event()];
  if (event.slot != never) clocks_.release(event.slot);
  event.slot = event.uses_left > 0 ? clocks_.save(lane) : never;
  event.host = host;
  event.call = call;
}

void Walk::check_record_race(HostId host, std::uint32_t call, EventId event) {
  const EventState& state = events_[event];
  if (state.host.valid() && !clocks_.made_before(host, state.host, state.call)) {
    unordered_ = true;
    findings_.add(FindingKind::event_waited_before_record, host, call, [&] {
      return fmt::format(
          "event {} is recorded by {} and by {}, and no message orders the two: which one a wait "
          "meets "
          "is a matter of chance",
          event.value(),
          call_name(plan(), state.host, state.call),
          call_name(plan(), host, call));
    });
  }
  for (const Use& use : event_uses_[event.value()]) {
    if (clocks_.made_before(host, use.host, use.call)) continue;
    unordered_ = true;
    findings_.add(FindingKind::event_waited_before_record, host, call, [&] {
      return fmt::format(
          "{} records event {} again while {} may still be about to wait for the earlier record: "
          "no "
          "message orders the two",
          call_name(plan(), host, call),
          event.value(),
          call_name(plan(), use.host, use.call));
    });
  }
  event_uses_[event.value()].clear();
}

void Walk::wait(HostId host, std::uint32_t call, HostCall c) {
  expect_alive(host, call, c);
  const std::uint32_t lane = clocks_.enter(host, c.stream());
  const Clocks::Slot slot = use_event(host, call, c);
  if (slot != never) clocks_.wait(lane, slot);
  // A wait is an operation of its own: what it knows must not be taken for known before it.
  clocks_.advance(lane);
  end_use(c.event());
}

Clocks::Slot Walk::use_event(HostId host, std::uint32_t call, HostCall c) {
  const EventState& event = events_[c.event()];
  if (!event.host.valid() || !clocks_.made_before(host, event.host, event.call)) {
    report_unrecorded(host, call, c);
    return never;
  }
  if (!event_uses_.empty()) event_uses_[c.event().value()].push_back({host, call});
  return event.slot;
}

void Walk::report_unrecorded(HostId host, std::uint32_t call, HostCall c) {
  const std::uint32_t first = index_.first_record(c.event());
  unordered_ = true;
  const auto who = [&] {
    return c.kind() == HostCallKind::wait
               ? fmt::format(
                     "{} ({})", plan().stream_name(c.stream()), call_name(plan(), host, call))
               : call_name(plan(), host, call);
  };
  if (first == never) {
    findings_.add(FindingKind::event_never_recorded, host, call, [&] {
      return fmt::format("{} waits for event {}, which no call records: the wait has no effect",
                         who(),
                         c.event().value());
    });
    return;
  }
  findings_.add(FindingKind::event_waited_before_record, host, call, [&] {
    const EventState& event = events_[c.event()];
    const CallSite site =
        event.host.valid() ? CallSite{event.host, event.call} : index_.site(first);
    const std::string_view why =
        site.host == host ? "only later" : "by another host, and no message puts the record before";
    return fmt::format("{} waits for event {}, which is recorded {} ({}): the wait {} no effect",
                       who(),
                       c.event().value(),
                       why,
                       call_name(plan(), site.host, site.call),
                       site.host == host ? "has" : "may have");
  });
}

void Walk::end_use(EventId id) {
  EventState& event = events_[id];
  --event.uses_left;
  if (event.uses_left > 0 || event.slot == never) return;
  clocks_.release(event.slot);
  event.slot = never;
}

void Walk::create_stream(HostId host, std::uint32_t call, StreamId stream) {
  StreamState& state = streams_[stream];
  if (state.alive) {
    findings_.add(FindingKind::malformed, host, call, [&] {
      return fmt::format("{} creates {}, which exists already since {}",
                         call_name(plan(), host, call),
                         plan().stream_name(stream),
                         call_name(plan(), state.host, state.call));
    });
  }
  if (!state.alive && state.host.valid()) check_created_again(host, call, stream);
  state = {true, host, call};
}

/// On a device the new stream is not behind what was in the old one.
void Walk::check_created_again(HostId host, std::uint32_t call, StreamId stream) {
  for (std::uint32_t lane = index_.first_lane(stream); lane < index_.last_lane(stream); ++lane) {
    if (clocks_.completed(host, lane, last_launch_[lane])) continue;
    unordered_ = true;
    findings_.add(FindingKind::stream_not_alive, host, call, [&] {
      return fmt::format(
          "{} creates {} again, whose work before its destruction may still run: the "
          "host does not wait for that with a synchronize",
          call_name(plan(), host, call),
          plan().stream_name(stream));
    });
  }
}

void Walk::destroy_stream(HostId host, std::uint32_t call, StreamId stream) {
  expect_alive(host, call, HostCall::destroy_stream(stream));
  for (std::uint32_t lane = index_.first_lane(stream); lane < index_.last_lane(stream); ++lane) {
    if (clocks_.posted_before(host, lane)) continue;
    unordered_ = true;
    findings_.add(FindingKind::stream_not_alive, host, call, [&] {
      return fmt::format("{} destroys {} while {} may still use it: no message orders the two",
                         call_name(plan(), host, call),
                         plan().stream_name(stream),
                         host_name(plan(), index_.lane(lane).host));
    });
  }
  streams_[stream] = {false, host, call};
}

/// Unless what another host did to the stream is surely done by now.
void Walk::report_not_alive(HostId host, std::uint32_t call, HostCall c) {
  const StreamState& state = streams_[c.stream()];
  const bool ordered = !state.host.valid() || clocks_.made_before(host, state.host, state.call);
  if (state.alive && ordered) return;
  unordered_ = true;
  findings_.add(FindingKind::stream_not_alive, host, call, [&] {
    std::string why = "which is not created before";
    if (state.host.valid()) {
      why = fmt::format("which {} by {}{}",
                        state.alive ? "is created" : "was destroyed",
                        call_name(plan(), state.host, state.call),
                        ordered ? "" : ", and no message orders the two");
    }
    return fmt::format("{} ({}) uses {}, {}",
                       call_name(plan(), host, call),
                       to_string(c.kind()),
                       plan().stream_name(c.stream()),
                       why);
  });
}

}  // namespace schedlab::checker
