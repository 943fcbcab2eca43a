// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/event_engine.hpp"

/// \file
/// Members of EventEngine: a run without host calls, in which the workers of streams take tasks.
namespace schedlab::engine {

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::make_dispatched(const DispatchedCall& made) {
  const StreamId id = made.call.stream();
  open_on_first_use(id);
  switch (made.call.kind()) {
    case HostCallKind::launch:
      SCHEDLAB_EXPECTS(made.call.task().value() < problem_.costs.task_count(),
                       fmt::format("dispatch of task {}", made.call.task().value()));
      return devices_.enqueue_launch(made.call, made.at, made.at, HostId{0});
    case HostCallKind::record:
      return devices_.enqueue_record(made.call, made.at);
    case HostCallKind::wait:
      return devices_.enqueue_wait(made.call, made.at);
    default:
      SCHEDLAB_EXPECTS(false,
                       fmt::format("a worker makes the call {}", to_string(made.call.kind())));
  }
}

/// Until the first of the busy streams is idle and all that ends at that moment has ended.
template <class Source, class Sharing>
void EventEngine<Source, Sharing>::wait_for_workers(const std::vector<StreamId>& busy) {
  constexpr std::uint32_t waiter = 0;
  for (const StreamId id : busy) devices_.stream(id).idle_waiter = waiter;
  advance_to(Time::max());
  while (!scratch_.resumed.empty()) {
    scratch_.resumed.clear();
    advance_to(devices_.now());
  }
  for (const StreamId id : busy) devices_.stream(id).idle_waiter = nil;
}

template <class Source, class Sharing>
void EventEngine<Source, Sharing>::run_dispatched(DispatchingPolicy& policy) {
  std::vector<StreamId> busy;
  std::vector<StreamId> ended;
  for (;;) {
    for (const DispatchedCall& made : policy.dispatch(ended, devices_.now())) make_dispatched(made);
    busy.clear();
    for (const StreamId id : source_.plan().streams.ids()) {
      if (devices_.is_open(id) && devices_.stream(id).pending_items != 0) busy.push_back(id);
    }
    if (busy.empty()) break;
    wait_for_workers(busy);
    ended.clear();
    for (const StreamId id : busy) {
      if (devices_.stream(id).pending_items == 0) ended.push_back(id);
    }
    if (ended.empty()) break;  // finish() says who waits for what
  }
  scratch_.hosts.front().state = HostState::done;
  finish();
}

}  // namespace schedlab::engine
