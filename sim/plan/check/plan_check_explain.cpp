// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/check/plan_check_walk.hpp"

#include <fmt/format.h>

#include <optional>

namespace schedlab::checker {
namespace {

struct Recorded {
  EventId event;
  StreamId stream;
  std::size_t call = 0;
};

/// What one host program says about two launches in it, the first of which comes earlier.
struct Evidence {
  std::optional<Recorded>
      after_producer;  ///< first event recorded behind the producer, before the consumer
  std::optional<Recorded>
      last_waited;  ///< by the consumer's stream, since its launch before this one
};

Evidence collect(const Plan& plan,
                 const HostProgram& host,
                 std::size_t producer,
                 std::size_t consumer) {
  const StreamId from = host.calls[producer].stream();
  const StreamId to = host.calls[consumer].stream();
  IdVector<EventId, Recorded> records(plan.event_count);
  Evidence evidence;
  for (std::size_t i = 0; i < consumer; ++i) {
    const HostCall c = host.calls[i];
    const bool launches =
        c.kind() == HostCallKind::launch || c.kind() == HostCallKind::graph_launch;
    if (launches && c.stream() == to) {
      evidence.last_waited.reset();
    } else if (c.kind() == HostCallKind::record && records.contains(c.event())) {
      records[c.event()] = {c.event(), c.stream(), i};
      if (c.stream() == from && i > producer && !evidence.after_producer) {
        evidence.after_producer = records[c.event()];
      }
    } else if (c.kind() == HostCallKind::wait && c.stream() == to && records.contains(c.event()) &&
               records[c.event()].event.valid()) {
      const Recorded& record = records[c.event()];
      // One behind the producer's stream says more than any other.
      const bool better =
          !evidence.last_waited || evidence.last_waited->stream != from || record.stream == from;
      if (better) evidence.last_waited = record;
    }
  }
  return evidence;
}

/// One of the two is a legacy default stream: why that does not order them. Empty: it does not
/// matter.
std::string explain_default_stream(const Plan& plan, StreamId from, StreamId to) {
  const StreamSpec& a = plan.streams[from];
  const StreamSpec& b = plan.streams[to];
  const auto is_legacy = [](const StreamSpec& s) { return s.sync == StreamSync::legacy_default; };
  if (a.device != b.device || is_legacy(a) == is_legacy(b)) return {};
  const StreamId other = is_legacy(a) ? to : from;
  return fmt::format(" ({} is non-blocking, so that {} does not order them)",
                     plan.stream_name(other),
                     plan.stream_name(is_legacy(a) ? from : to));
}

}  // namespace

std::string explain_missing_order(const PlanIndex& index, TaskId before, TaskId after) {
  const Plan& plan = index.plan();
  const CallSite producer = index.site(index.launch_of(before));
  const CallSite consumer = index.site(index.launch_of(after));
  const std::string name = index.graph().name(before);
  if (producer.host != consumer.host) {
    return "two hosts launch them, and neither an event nor a synchronize followed by a message "
           "orders them";
  }
  if (consumer.call == producer.call) {
    return fmt::format("no path of {} leads from one to the other",
                       plan.graph_name(plan.hosts[consumer.host].calls[consumer.call].graph()));
  }
  if (consumer.call < producer.call) return fmt::format("it is launched before {}", name);

  const HostProgram& host = plan.hosts[producer.host];
  const StreamId from = host.calls[producer.call].stream();
  const StreamId to = host.calls[consumer.call].stream();
  const Evidence found = collect(plan, host, producer.call, consumer.call);
  if (found.after_producer) {
    return fmt::format("event {} is recorded on {} after {} ({}), but {} does not wait for it",
                       found.after_producer->event.value(),
                       plan.stream_name(from),
                       name,
                       call_name(plan, producer.host, found.after_producer->call),
                       plan.stream_name(to));
  }
  if (found.last_waited && found.last_waited->call < producer.call) {
    return fmt::format("event {}, for which {} waits, is recorded before {} is launched ({} on {})",
                       found.last_waited->event.value(),
                       plan.stream_name(to),
                       name,
                       call_name(plan, producer.host, found.last_waited->call),
                       plan.stream_name(found.last_waited->stream));
  }
  return fmt::format("no event is recorded on {} after {}{}",
                     plan.stream_name(from),
                     name,
                     explain_default_stream(plan, from, to));
}

}  // namespace schedlab::checker
