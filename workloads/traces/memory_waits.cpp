// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/memory_waits.hpp"

#include "workloads/traces/launch_index.hpp"
#include "workloads/traces/reconstruct.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {

void add_memory_waits(ImportedTrace& trace) {
  constexpr Duration least = 10 * unexplained_wait;  // assumed: shorter ones may be chance
  const LaunchIndex index(trace.calls);
  std::vector<Time> done(trace.calls.size());  // by call: the end of what it launched
  for (const DeviceRow& row : trace.device_rows) {
    if (const auto call = index.find(row.correlation)) {
      done[*call] = std::max(done[*call], row.ended);
    }
  }
  std::vector<CallRow> calls;
  const CallRow* last = nullptr;
  Time last_done{};
  Time free{};
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const CallRow& call = trace.calls[i];
    const bool quiet = last != nullptr && call.started - free >= least;
    if (quiet && last_done + unexplained_wait >= call.started &&
        last_done <= call.started + unexplained_wait) {
      CallRow made;
      made.name = trace.texts.add(memory_wait_name);
      made.kind = CallKind::synchronize_event;
      made.thread = last->thread;
      made.started = free;
      made.ended = call.started;
      calls.push_back(made);
    }
    calls.push_back(call);
    free = std::max(free, call.ended);
    if (!launches(call.kind) || done[i] == Time{}) continue;
    last = &call;
    last_done = done[i];
  }
  trace.calls = std::move(calls);
}

}  // namespace schedlab
