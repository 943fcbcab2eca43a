// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/stream_machine.hpp"

#include "sim/base/error.hpp"
#include "tests/real_exec/executor/fake_work.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace schedlab;
using schedlab::testing::FakeWork;

namespace {

TaskGraph loose_tasks(std::uint32_t count) {
  return schedlab::testing::random_dag(1, count, 0.0);
}

Time at(int us) {
  return Time{std::chrono::microseconds{us}};
}

StreamSpec priority(int value) {
  StreamSpec spec;
  spec.priority = value;
  return spec;
}

/// Takes and finishes everything, one block after another; the order of tasks.
std::vector<std::uint32_t> drain(StreamMachine& machine) {
  std::vector<std::uint32_t> order;
  int clock = 100;
  while (const auto block = machine.take()) {
    order.push_back(block->task.value());
    machine.finish(*block, at(clock), at(clock + 1));
    ++clock;
  }
  return order;
}

}  // namespace

TEST_CASE("blocks of the most urgent level are taken first, within it those that came first") {
  const TaskGraph graph = loose_tasks(4);
  const FakeWork work(graph, 2);
  StreamMachine machine(graph, work, 4);
  machine.open(
      IdVector<StreamId, StreamSpec>{{priority(0), priority(0), priority(-2), priority(-9)}}, {});
  machine.launch(StreamId{0}, TaskId{0}, at(0));
  const auto first = machine.take();
  REQUIRE(first.has_value());
  CHECK(first->task == TaskId{0});
  // One block of task 0 runs and is not evicted; its other one is overtaken by more urgent tasks.
  machine.launch(StreamId{1}, TaskId{1}, at(1));
  machine.launch(StreamId{2}, TaskId{2}, at(2));
  machine.launch(StreamId{3}, TaskId{3}, at(3));
  CHECK(drain(machine) == std::vector<std::uint32_t>{3, 3, 2, 2, 0, 1, 1});
  CHECK_FALSE(machine.all_idle());
  machine.finish(*first, at(0), at(300));
  CHECK(machine.all_idle());
  CHECK(machine.spans(at(300)).front().duration() == at(300) - at(0));
}

TEST_CASE("a stream is in order: its next task is ready when the one before has completed") {
  const TaskGraph graph = loose_tasks(2);
  const FakeWork work(graph);
  StreamMachine machine(graph, work, 1);
  machine.open(IdVector<StreamId, StreamSpec>(1), {});
  machine.launch(StreamId{0}, TaskId{0}, at(0));
  machine.launch(StreamId{0}, TaskId{1}, at(0));
  const auto block = machine.take();
  REQUIRE(block.has_value());
  CHECK_FALSE(machine.take().has_value());
  CHECK_FALSE(machine.idle(StreamId{0}));
  machine.finish(*block, at(1), at(2));
  CHECK(machine.take()->task == TaskId{1});
}

TEST_CASE("a wait looks at the event's record as it is at the call") {
  const TaskGraph graph = loose_tasks(4);
  const FakeWork work(graph);
  StreamMachine machine(graph, work, 1);
  machine.open(IdVector<StreamId, StreamSpec>(3), {});
  const EventId event{0};
  machine.wait(StreamId{1}, event, at(0));  // no record yet: passes
  machine.launch(StreamId{1}, TaskId{0}, at(0));
  CHECK(machine.ready_blocks() == 1);

  machine.launch(StreamId{0}, TaskId{1}, at(0));
  machine.record(StreamId{0}, event, at(0));
  machine.wait(StreamId{2}, event, at(0));
  machine.record(StreamId{1}, event, at(0));  // a later record changes nothing for stream 2
  machine.launch(StreamId{2}, TaskId{2}, at(0));
  CHECK(machine.ready_blocks() == 2);
  const auto of_stream_1 = machine.take();
  machine.finish(*of_stream_1, at(1), at(2));
  CHECK(of_stream_1->task == TaskId{0});
  CHECK(machine.complete(event));  // the latest record, that of stream 1
  CHECK(machine.ready_blocks() == 1);
  const auto of_stream_0 = machine.take();
  machine.finish(*of_stream_0, at(2), at(5));
  CHECK(of_stream_0->task == TaskId{1});
  CHECK(machine.take()->task == TaskId{2});
  REQUIRE(machine.flows().size() == 1);
  CHECK(machine.flows().front().from == StreamId{0});
  CHECK(machine.flows().front().to == StreamId{2});
  CHECK(machine.flows().front().recorded == at(5));
}

TEST_CASE("a worker takes blocks of its own part first, and what is left of others after that") {
  const TaskGraph graph = loose_tasks(3);
  for (const std::uint32_t blocks : {2U, 5U, 64U, 70U}) {
    CAPTURE(blocks);
    const FakeWork work(graph, blocks);
    StreamMachine machine(graph, work, 1, 2);
    machine.open(IdVector<StreamId, StreamSpec>(1), {});
    machine.launch(StreamId{0}, TaskId{0}, at(0));
    const auto second = machine.take(1);
    REQUIRE(second.has_value());
    // Kernels of more than 64 blocks are handed out in order.
    CHECK(second->block == (blocks > 64 ? 0 : blocks / 2));
    std::vector<bool> taken(blocks, false);
    taken.at(second->block) = true;
    machine.finish(*second, at(0), at(1));
    while (const auto block = machine.take(0)) {
      CHECK_FALSE(taken.at(block->block));
      taken.at(block->block) = true;
      machine.finish(*block, at(0), at(1));
    }
    CHECK(std::count(taken.begin(), taken.end(), true) == blocks);
    CHECK(machine.all_idle());
  }
}

TEST_CASE("the kernels of a task follow each other before other tasks of its level") {
  const TaskGraph graph = loose_tasks(2);
  FakeWork work(graph);
  work.kernels = 3;
  StreamMachine machine(graph, work, 1);
  machine.open(IdVector<StreamId, StreamSpec>(2), {});
  machine.launch(StreamId{0}, TaskId{0}, at(0));
  machine.launch(StreamId{1}, TaskId{1}, at(0));
  CHECK(drain(machine) == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1});
}

TEST_CASE(
    "nodes of a device graph wait for their needs only, and launches of a graph for each other") {
  const TaskGraph graph = loose_tasks(6);
  const FakeWork work(graph);
  std::vector<DeviceGraph> graphs(1);
  DeviceGraph& device_graph = graphs.front();
  device_graph.add_node(StreamId{0}, {});
  device_graph.add_node(StreamId{0}, {});  // the same stream, yet not behind node 0
  device_graph.add_node(StreamId{1}, {0, 1});
  device_graph.add_launch(std::vector<TaskId>{TaskId{0}, TaskId{1}, TaskId{2}});
  device_graph.add_launch(std::vector<TaskId>{TaskId{3}, TaskId{4}, TaskId{5}});
  StreamMachine machine(graph, work, 1);
  machine.open(IdVector<StreamId, StreamSpec>(2), graphs);
  machine.graph_launch(StreamId{0}, 0, at(0));
  machine.graph_launch(StreamId{1}, 0, at(0));  // another stream: still behind the first launch
  CHECK(machine.ready_blocks() == 2);
  CHECK(drain(machine) == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
  CHECK(machine.all_idle());
}

TEST_CASE("what the machine cannot do is refused by name") {
  const TaskGraph graph = loose_tasks(1);
  const FakeWork work(graph);
  StreamMachine machine(graph, work, 2);
  StreamSpec elsewhere;
  elsewhere.device = DeviceId{1};
  CHECK_THROWS_WITH_AS(machine.create_stream(StreamId{0}, elsewhere),
                       doctest::Contains("one device"),
                       InfeasibleError);
  StreamSpec legacy;
  legacy.sync = StreamSync::legacy_default;
  CHECK_THROWS_WITH_AS(machine.create_stream(StreamId{0}, legacy),
                       doctest::Contains("legacy default stream"),
                       InfeasibleError);
  CHECK_THROWS_AS(machine.launch(StreamId{0}, TaskId{0}, at(0)), ContractViolation);
}
