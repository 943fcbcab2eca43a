// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using namespace schedlab::literals;

namespace {

constexpr StreamId s0{0};
constexpr StreamId s1{1};

/// Tasks p0 and p1 each write 40 bytes, read by c0 and c1; "weights" (30 bytes) are persistent.
TaskGraph two_pairs() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  const TensorId weights =
      builder.add_tensor({.name = "weights", .bytes = 30_B, .persistent = true});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const TaskId producer = builder.add_task(operation, {}, "p" + std::to_string(i));
    const TaskId consumer = builder.add_task(operation, {}, "c" + std::to_string(i));
    const TensorId tensor = builder.add_tensor({.bytes = 40_B});
    builder.writes(producer, tensor);
    builder.reads(consumer, tensor);
    builder.reads(producer, weights);
  }
  return std::move(builder).build();
}

constexpr TaskId p0{0};
constexpr TaskId c0{1};
constexpr TaskId p1{2};
constexpr TaskId c1{3};

Plan in_order(const std::vector<std::pair<StreamId, TaskId>>& launches) {
  Plan plan;
  plan.streams.resize(2);
  for (const auto& [stream, task] : launches) {
    plan.hosts[HostId{0}].calls.push_back(HostCall::launch(stream, task));
  }
  return plan;
}

Platform with_memory(std::vector<Bytes> capacities) {
  Platform platform = ideal_platform();
  platform.devices.resize(capacities.size());
  for (const DeviceId device : platform.devices.ids()) {
    platform.devices[device].memory_capacity = capacities[device.value()];
  }
  return platform;
}

}  // namespace

TEST_CASE("peak memory depends on the launch order, and who holds what is said") {
  const TaskGraph graph = two_pairs();
  // One after another: 30 + 40 at most. Both producers first: 30 + 40 + 40 = 110 at p1.
  const Plan one_by_one = in_order({{s0, p0}, {s0, c0}, {s0, p1}, {s0, c1}});
  const Plan producers_first = in_order({{s0, p0}, {s0, p1}, {s0, c0}, {s0, c1}});
  CHECK(check(graph, with_memory({70_B}), one_by_one).empty());
  CHECK(check(graph, with_memory({69_B}), one_by_one).size() == 1);
  CHECK(check(graph, with_memory({110_B}), producers_first).empty());

  const auto findings = check(graph, with_memory({109_B}), producers_first);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == FindingKind::out_of_memory);
  CHECK(findings[0].call == 1);
  CHECK(findings[0].message ==
        "device 0 needs 110 bytes at task p1 and has 109 bytes; largest holders: output of p0 40 "
        "bytes, "
        "output of p1 40 bytes, weights 30 bytes");
  CHECK(check(graph, with_memory({109_B}), producers_first, {.check_memory = false}).empty());
  CHECK(check(graph, with_memory({0_B}), producers_first).empty());  // 0 = unlimited
}

TEST_CASE("a tensor is freed only after its reader, so it stands beside the reader's own output") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  for (std::uint32_t i = 0; i < 3; ++i) {
    const TaskId task = builder.add_task(operation, {}, "t" + std::to_string(i));
    const TensorId tensor = builder.add_tensor({.bytes = Bytes{10 + i}});
    builder.writes(task, tensor);
    if (i > 0) builder.reads(task, TensorId{i - 1});
  }
  const TaskGraph graph = std::move(builder).build();
  // t0: 10.  t1: 10 + 11 = 21.  t2: 11 + 12 = 23 (t2's output has no reader and freed at its
  // end).
  const Plan plan = in_order({{s0, TaskId{0}}, {s0, TaskId{1}}, {s0, TaskId{2}}});
  CHECK(check(graph, with_memory({23_B}), plan).empty());
  const auto findings = check(graph, with_memory({22_B}), plan);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].call == 2);
}

TEST_CASE("each device has its own capacity") {
  const TaskGraph graph = two_pairs();
  Plan plan = in_order({{s0, p0}, {s1, p1}, {s0, c0}, {s1, c1}});
  plan.streams[s1].device = DeviceId{1};
  // Device 0 holds the weights (first used by p0) and p0's output: 70; device 1 holds p1's: 40.
  CHECK(check(graph, with_memory({70_B, 40_B}), plan).empty());
  const auto findings = check(graph, with_memory({69_B, 39_B}), plan);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].message.find("device 0 needs 70 bytes at task p0 and has 69 bytes") == 0);
  CHECK(findings[1].message.find("device 1 needs 40 bytes at task p1 and has 39 bytes") == 0);
}

TEST_CASE("only the largest holders are listed, the rest is summed") {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  const TaskId task = builder.add_task(operation, {}, "t");
  // 1 + 2 + ... + 8 = 36 KiB; the five largest are 8 7 6 5 4, the other three hold 6 KiB.
  for (std::int64_t i = 1; i <= 8; ++i) {
    builder.writes(task, builder.add_tensor({.name = "n" + std::to_string(i), .bytes = 1_KiB * i}));
  }
  const TaskGraph graph = std::move(builder).build();
  const auto findings = check(graph, with_memory({35_KiB}), in_order({{s0, task}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].message ==
        "device 0 needs 36.0 KiB at task t and has 35.0 KiB; largest holders: n8 8.0 KiB, n7 7.0 "
        "KiB, "
        "n6 6.0 KiB, n5 5.0 KiB, n4 4.0 KiB, and 3 more with 6.0 KiB");
}
