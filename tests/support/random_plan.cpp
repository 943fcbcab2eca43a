// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_plan.hpp"

#include "sim/base/rng.hpp"

#include <algorithm>
#include <vector>

namespace schedlab::test {
namespace {

Duration random_cost(Rng& rng) {
  return rng.below(3) == 0 ? Duration{0}
                           : Duration{static_cast<std::int64_t>(rng.below(4'000'000))};
}

void add_extra(std::vector<HostCall>& calls, Rng& rng, StreamId stream, std::uint32_t events) {
  switch (rng.below(12)) {
    case 0:
      calls.push_back(HostCall::query(stream));
      break;
    case 1:
      calls.push_back(HostCall::sleep_ns(static_cast<std::uint32_t>(rng.below(9000))));
      break;
    case 2:
      calls.push_back(HostCall::synchronize_stream(stream));
      break;
    case 3:
      if (events != 0) {
        calls.push_back(
            HostCall::synchronize_event(EventId{static_cast<std::uint32_t>(rng.below(events))}));
      }
      break;
    case 4:
      if (rng.below(8) == 0) calls.push_back(HostCall::synchronize_all());
      break;
    default:
      break;
  }
}

}  // namespace

TaskGraph random_graph(std::uint64_t seed, const RandomGraphSpec& spec) {
  Rng rng{seed};
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (std::uint32_t i = 0; i < spec.tasks; ++i) {
    const TaskId task = builder.add_task(operation);
    const auto us = static_cast<std::int64_t>(1 + rng.below(spec.longest_us));
    const auto extra = spec.jitter ? static_cast<std::int64_t>(rng.below(1'000'000)) : 0;
    builder.set_duration(task, Duration{us * 1'000'000 + extra});
    for (std::uint32_t ahead = 1; ahead <= spec.window && i + ahead < spec.tasks; ++ahead) {
      if (rng.uniform() < spec.edge_share) builder.add_edge(task, TaskId{i + ahead});
    }
  }
  return std::move(builder).build();
}

Plan random_plan(const TaskGraph& graph, std::uint64_t seed, std::uint32_t streams, bool extras) {
  Rng rng{seed ^ 0xC0FFEEULL};
  Plan plan;
  plan.policy = "random_plan";
  IdVector<StreamId, bool> created(streams, false);
  for (std::uint32_t s = 0; s < streams; ++s) {
    plan.streams.push_back(
        {.device = DeviceId{0}, .priority = -static_cast<int>(rng.below(3)), .name = {}});
  }
  auto& calls = plan.hosts[HostId{0}].calls;
  for (std::uint32_t s = 0; s < streams; ++s) {
    if (extras && rng.below(3) == 0) calls.push_back(HostCall::create_stream(StreamId{s}));
  }
  IdVector<TaskId, StreamId> stream_of(graph.task_count());
  IdVector<TaskId, EventId> event_of(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    const StreamId stream{static_cast<std::uint32_t>(rng.below(streams))};
    stream_of[task] = stream;
    for (const TaskId before : graph.predecessors(task)) {
      if (stream_of[before] != stream) calls.push_back(HostCall::wait(stream, event_of[before]));
    }
    calls.push_back(HostCall::launch(stream, task));
    event_of[task] = EventId{plan.event_count++};
    calls.push_back(HostCall::record(stream, event_of[task]));
    if (extras) add_extra(calls, rng, stream, plan.event_count);
  }
  return plan;
}

void add_legacy_default_stream(Plan& plan, std::uint64_t seed) {
  Rng rng{seed ^ 0x1E6AC7ULL};
  const StreamId legacy{static_cast<std::uint32_t>(rng.below(plan.streams.size()))};
  for (StreamSpec& stream : plan.streams) {
    if (rng.below(3) != 0) stream.sync = StreamSync::blocking;
  }
  plan.streams[legacy].sync = StreamSync::legacy_default;
  plan.streams[legacy].priority = 0;
  auto& calls = plan.hosts[HostId{0}].calls;
  calls.erase(std::remove(calls.begin(), calls.end(), HostCall::create_stream(legacy)),
              calls.end());
}

void launch_some_programmatically(Plan& plan, std::uint64_t seed) {
  Rng rng{seed ^ 0x9D1ULL};
  for (HostCall& call : plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch || rng.below(2) == 0) continue;
    call = HostCall::launch(call.stream(), call.task(), true);
  }
}

Platform random_platform(std::uint64_t seed) {
  Rng rng{seed ^ 0xBEEFULL};
  Platform platform = ideal_platform(3);
  Host& host = platform.hosts[HostId{0}];
  host.costs = {.launch = random_cost(rng),
                .record = random_cost(rng),
                .wait = random_cost(rng),
                .query = random_cost(rng),
                .create_stream = random_cost(rng),
                .destroy_stream = random_cost(rng),
                .synchronize = random_cost(rng),
                .wake_up = random_cost(rng),
                .oversleep = random_cost(rng)};
  host.launch_queue_depth = rng.below(2) == 0 ? 0 : static_cast<std::uint32_t>(1 + rng.below(4));
  Device& device = platform.devices[DeviceId{0}];
  device.launch_latency = random_cost(rng);
  device.stream_gap = random_cost(rng);
  device.programmatic_gap = device.stream_gap / 4;
  device.event_latency = random_cost(rng);
  device.connections = rng.below(2) == 0 ? 0 : static_cast<std::uint32_t>(1 + rng.below(3));
  return platform;
}

}  // namespace schedlab::test
