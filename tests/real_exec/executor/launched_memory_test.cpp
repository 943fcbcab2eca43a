// SPDX-License-Identifier: Apache-2.0
// What is certain of the order of launched tasks, and which tensors may share memory.
#include "real_exec/executor/launched_memory.hpp"

#include "sim/graph/task_graph.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

using namespace schedlab;
using detail::LaunchedMemory;
using detail::LaunchOrder;
using detail::StepTensorMap;

namespace {

/// Task i writes the tensor "h(0,i)", which the tasks readers[i] read and wait for.
TaskGraph graph_of(const std::vector<std::vector<std::uint32_t>>& readers) {
  TaskGraphBuilder builder;
  Operation operation;
  operation.name = "work";
  const OperationId work = builder.add_operation(operation);
  for (std::size_t i = 0; i < readers.size(); ++i) builder.add_task(work);
  for (std::uint32_t i = 0; i < readers.size(); ++i) {
    TensorInfo info;
    info.name = fmt::format("h(0,{})", i);
    info.bytes = Bytes{32};
    const TensorId tensor = builder.add_tensor(std::move(info));
    builder.writes(TaskId{i}, tensor);
    for (const std::uint32_t reader : readers[i]) {
      builder.reads(TaskId{reader}, tensor);
      builder.add_edge(TaskId{i}, TaskId{reader});
    }
  }
  return std::move(builder).build();
}

constexpr std::int64_t tensor_bytes =
    256;  // 8 floats, rounded up to what addresses are multiples of

/// Memory of tensors of 8 floats each.
struct Scene {
  explicit Scene(const std::vector<std::vector<std::uint32_t>>& readers)
      : graph(graph_of(readers)),
        map(graph, {chain()}),
        memory(graph,
               map,
               {.allocate =
                    [this](std::size_t n) {
                      return pieces.emplace_back(std::make_unique<float[]>(n)).get();
                    },
                .drop = [this] { pieces.clear(); }}) {}
  static StepTensorMap::Chain chain() {
    StepTensorMap::Chain chain;
    chain.elements[static_cast<std::size_t>(detail::StepTensor::h)] = 8;
    return chain;
  }
  /// The address of the tensor that the task writes.
  float* launch(std::uint32_t task, std::optional<std::uint32_t> stream) {
    memory.enter(TaskId{task}, stream);
    float* const data = memory.at(TensorId{task});
    memory.leave(TaskId{task});
    return data;
  }

  TaskGraph graph;
  StepTensorMap map;
  std::vector<std::unique_ptr<float[]>> pieces{};
  LaunchedMemory memory;
};

}  // namespace

TEST_CASE("streams and dependencies order tasks, nothing else does") {
  // 0 -> 2 and 1 -> 3; 0, 1 and 4 in streams of their own, 2 behind 1, 3 in the stream of 0.
  const TaskGraph graph = graph_of({{2}, {3}, {}, {}, {}});
  LaunchOrder order(graph);
  order.launch(TaskId{0}, 0);
  order.launch(TaskId{1}, 1);
  order.launch(TaskId{2}, 1);
  order.launch(TaskId{3}, 0);
  order.launch(TaskId{4}, 2);
  CHECK(order.ends_before(TaskId{0}, TaskId{2}));        // it needs it
  CHECK(order.ends_before(TaskId{1}, TaskId{2}));        // the stream
  CHECK(order.ends_before(TaskId{0}, TaskId{3}));        // the stream
  CHECK(order.ends_before(TaskId{1}, TaskId{3}));        // it needs it
  CHECK_FALSE(order.ends_before(TaskId{2}, TaskId{3}));  // nothing
  CHECK_FALSE(order.ends_before(TaskId{3}, TaskId{2}));
  CHECK_FALSE(order.ends_before(TaskId{0}, TaskId{4}));
  CHECK_FALSE(order.ends_before(TaskId{0}, TaskId{0}));
}

TEST_CASE("in a device graph only what a node needs, and what that needed, is before it") {
  const TaskGraph graph = graph_of({{1}, {2}, {}, {2}});
  LaunchOrder order(graph);
  for (const std::uint32_t task : {0U, 3U, 1U, 2U}) order.launch(TaskId{task}, std::nullopt);
  CHECK(order.ends_before(TaskId{0}, TaskId{2}));  // by way of 1
  CHECK(order.ends_before(TaskId{3}, TaskId{2}));
  CHECK_FALSE(order.ends_before(TaskId{3}, TaskId{1}));
  CHECK_FALSE(order.ends_before(TaskId{0}, TaskId{3}));
}

TEST_CASE("one stream holds two tensors of a chain of tasks, as each needs the one before it") {
  Scene scene({{1}, {2}, {3}, {4}, {}});
  const float* first = scene.launch(0, 0);
  const float* second = scene.launch(1, 0);
  CHECK(first != second);
  CHECK(scene.launch(2, 0) == first);
  CHECK(scene.launch(3, 0) == second);
  CHECK(scene.launch(4, 0) == first);
  CHECK(scene.memory.held() == Bytes{2 * tensor_bytes});
  // From then on in one piece, whether the same is launched or not.
  for (const std::uint32_t stream : {0U, 0U, 7U, 7U}) {
    scene.memory.reset();
    first = scene.launch(0, stream);
    second = scene.launch(1, stream);
    CHECK(first != second);
    CHECK(scene.launch(2, stream) == first);
    CHECK(scene.launch(3, stream) == second);
    CHECK(scene.pieces.size() == 1);
    CHECK(scene.memory.held() == Bytes{2 * tensor_bytes});
  }
}

TEST_CASE("a run that goes on otherwise than the one before gets what it needs besides") {
  // A chain of three in one stream, and a task apart.
  Scene scene({{1}, {2}, {}, {}});
  for (const std::uint32_t task : {0U, 1U, 2U, 3U}) scene.launch(task, 0);
  scene.memory.reset();
  CHECK(scene.memory.held() == Bytes{2 * tensor_bytes});
  // The same at first; then task 3 in another stream, where nothing has ended for certain.
  const float* first = scene.launch(0, 0);
  const float* second = scene.launch(1, 0);
  const float* apart = scene.launch(3, 1);
  CHECK(apart != first);
  CHECK(apart != second);
  CHECK(scene.memory.held() == Bytes{3 * tensor_bytes});
}

TEST_CASE("tasks that may run at the same time share no memory") {
  // Two chains of two tasks in two streams.
  Scene scene({{1}, {}, {3}, {}});
  const float* one = scene.launch(0, 0);
  const float* two = scene.launch(1, 0);
  // Both tensors of the first chain are free now, but its tasks may still run.
  const float* three = scene.launch(2, 1);
  const float* four = scene.launch(3, 1);
  CHECK(three != one);
  CHECK(three != two);
  CHECK(four != one);
  CHECK(four != two);
  CHECK(scene.memory.held() == Bytes{4 * tensor_bytes});
}

TEST_CASE("a tensor that its reader meets first shares no memory with one before it") {
  // Task 1 reads what 2 writes, and is launched before it: a graph that is loaded early.
  Scene scene({{}, {}, {1}});
  const float* before = scene.launch(0, 0);
  scene.memory.enter(TaskId{1}, 0);
  CHECK(scene.memory.at(TensorId{2}) != before);
  scene.memory.leave(TaskId{1});
}

TEST_CASE("a large tensor makes space for small ones when it has gone") {
  detail::MemoryParts parts;
  const auto ended = [](TaskId) { return true; };
  const auto large = parts.take(4 * 64, ended);
  parts.give_back(large, {TaskId{0}});
  const auto one = parts.take(64, ended);
  const auto two = parts.take(2 * 64 - 10, ended);
  CHECK(one.piece == large.piece);
  CHECK(two.piece == large.piece);
  CHECK(two.at == 64);
  // 64 floats are left, the space of `one` beside nothing: 2 * 64 fit nowhere.
  parts.give_back(one, {});
  CHECK(parts.take(2 * 64, ended).piece == 1);
  // Where `one` was and where `two` was lie side by side.
  parts.give_back(two, {});
  CHECK(parts.take(4 * 64, ended).piece == large.piece);
  CHECK(parts.pieces() == std::vector<std::size_t>{4 * 64, 2 * 64});
  // What may still run keeps its memory.
  detail::MemoryParts others;
  others.give_back(others.take(64, ended), {TaskId{3}});
  CHECK(others.take(64, [](TaskId task) { return task != TaskId{3}; }).piece == 1);
}
