// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/plan_activities.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace schedlab::test {
namespace {

using Set = SimGridDag::Set;

Set both(const Set& a, const Set& b) {
  Set result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

class Translation {
 public:
  Translation(SimGridDag& dag, const Problem& problem, const Plan& plan)
      : dag_(dag),
        problem_(problem),
        device_(problem.platform.devices[DeviceId{0}]),
        host_(problem.platform.host(HostId{0})),
        host_resource_(dag.add_resource()),
        latency_resource_(dag.add_resource(1024)),
        streams_(plan.streams.size()),
        events_(plan.event_count) {
    for (Stream& stream : streams_) stream.resource = dag.add_resource();
  }

  PlanActivities run(const std::vector<HostCall>& calls) {
    for (const HostCall call : calls) add(call);
    result_.host_end = host_done_;
    return result_;
  }

 private:
  struct Stream {
    std::uint32_t resource = 0;
    Set done;      ///< all calls so far are done when these have ended
    Set next_may;  ///< as `done`, the gap after the last task included
    std::vector<std::uint32_t> tasks;
  };
  struct Event {
    Set done;
    StreamId stream;
  };

  Set later(const Set& set, Duration latency) {
    if (latency == Duration{0}) return set;
    return {dag_.add(latency, latency_resource_, set)};
  }
  /// The host makes a call of this cost, not before `after`; then the call reaches its stream.
  Set arrival(Duration cost, const Set& after) {
    host_done_ = both(host_done_, after);
    if (cost != Duration{0}) host_done_ = {dag_.add(cost, host_resource_, host_done_)};
    return later(host_done_, device_.launch_latency);
  }

  void add(HostCall call) {
    Stream& stream = streams_[call.stream()];
    switch (call.kind()) {
      case HostCallKind::launch:
        return add_launch(stream, call.task());
      case HostCallKind::record:
        stream.done = both(stream.done, arrival(host_.costs.record, {}));
        stream.next_may = both(stream.next_may, stream.done);
        events_[call.event()] = {stream.done, call.stream()};
        return;
      case HostCallKind::wait: {
        stream.done = both(stream.done, arrival(host_.costs.wait, {}));
        const Event& event = events_[call.event()];
        const bool across = event.stream != call.stream();
        const Set seen = later(event.done, across ? device_.event_latency : Duration{0});
        stream.done = both(stream.done, seen);
        stream.next_may = both(stream.next_may, stream.done);
        return;
      }
      default:
        throw ContractViolation(
            fmt::format("{} calls have no form as activities", to_string(call.kind())));
    }
  }
  void add_launch(Stream& stream, TaskId task) {
    Set slot;
    const std::uint32_t depth = host_.launch_queue_depth;
    if (depth != 0 && stream.tasks.size() >= depth) {
      slot = {stream.tasks[stream.tasks.size() - depth]};
    }
    const Set arrived = arrival(host_.costs.launch, slot);
    result_.submitted.push_back(host_done_);
    const std::uint32_t run =
        dag_.add(problem_.costs.duration(task), stream.resource, both(stream.next_may, arrived));
    result_.tasks.push_back(run);
    stream.tasks.push_back(run);
    stream.done = {run};
    stream.next_may = later(stream.done, device_.stream_gap);
  }

  SimGridDag& dag_;
  const Problem& problem_;
  const Device& device_;
  const Host& host_;
  std::uint32_t host_resource_;
  std::uint32_t latency_resource_;
  IdVector<StreamId, Stream> streams_;
  IdVector<EventId, Event> events_;
  Set host_done_;
  PlanActivities result_;
};

}  // namespace

PlanActivities add_plan(SimGridDag& dag, const Problem& problem, const Plan& plan) {
  return Translation{dag, problem, plan}.run(plan.hosts[HostId{0}].calls);
}

}  // namespace schedlab::test
