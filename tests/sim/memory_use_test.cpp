// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/memory_use.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_builder.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/metrics.hpp"
#include "sim/trace/metrics_json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

struct Scene {
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  Plan plan;
  Trace trace;

  Scene(TaskGraph g, std::uint32_t devices, std::uint32_t streams)
      : graph(std::move(g)), platform(ideal_platform()) {
    platform.devices.resize(devices, *platform.devices.begin());
    for (const DeviceId device : platform.devices.ids()) {
      platform.devices[device].name = "device " + std::to_string(device.value());
    }
    costs = CostTable{graph, platform};
    PlanBuilder builder{problem()};
    for (std::uint32_t i = 0; i < streams; ++i) {
      builder.add_stream({.device = DeviceId{i % devices}});
    }
    for (const TaskId task : graph.tasks()) builder.place(task, StreamId{task.value() % streams});
    plan = std::move(builder).build("round robin");
    trace = simulate(problem(), plan);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

/// Tasks of 1 to 20 us; tensors with one writer, several or none, up to four readers, some kept all
/// the time. `instants`: some tasks last no time.
TaskGraph random_graph_with_tensors(std::uint64_t seed, bool instants) {
  constexpr std::uint32_t tasks = 40;
  Rng rng{seed};
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "t"});
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const bool instant = instants && rng.below(4) == 0;
    b.add_task(op, {}, Duration{instant ? 0 : 1'000'000 + std::int64_t(rng.below(19'000'000))});
  }
  for (std::uint32_t i = 0; i < 60; ++i) {
    const auto kind = rng.below(6);
    const TensorId tensor =
        b.add_tensor({.name = i % 3 == 0 ? "" : (i % 3 == 1 ? "a(" : "b[") + std::to_string(i),
                      .bytes = Bytes{static_cast<std::int64_t>(rng.below(1000))},
                      .accumulate = kind == 0,
                      .persistent = kind == 1});
    const auto first = static_cast<std::uint32_t>(rng.below(tasks - 1));
    if (kind != 2) b.writes(TaskId{first}, tensor);
    if (kind == 0) b.writes(TaskId{first + 1}, tensor);
    std::set<std::uint32_t> readers;
    for (auto n = rng.below(5); n > 0 && first + 2 < tasks; --n) {
      readers.insert(first + 2 + static_cast<std::uint32_t>(rng.below(tasks - first - 2)));
    }
    for (const std::uint32_t reader : readers) b.reads(TaskId{reader}, tensor);
  }
  return std::move(b).build();
}

/// What each tensor holds, asked of the trace at one moment; by device.
std::vector<std::int64_t> held_at(const Scene& scene, Time at) {
  std::vector<std::int64_t> held(scene.platform.devices.size(), 0);
  std::map<std::uint32_t, TaskSpan> span;
  for (const TaskSpan& one : scene.trace.tasks) span[one.task.value()] = one;
  const TensorTable& tensors = scene.graph.tensors();
  for (const TensorId tensor : tensors.ids()) {
    const auto writers = tensors.writers(tensor);
    const auto readers = tensors.readers(tensor);
    const auto starters = writers.empty() ? readers : writers;
    const auto enders = readers.empty() ? writers : readers;
    if (starters.empty() && !tensors.persistent(tensor)) continue;
    const auto earlier = [&](TaskId a, TaskId b) {
      return span.at(a.value()).started < span.at(b.value()).started;
    };
    const auto later = [&](TaskId a, TaskId b) {
      return span.at(a.value()).ended < span.at(b.value()).ended;
    };
    DeviceId home{0};
    bool alive = tensors.persistent(tensor);
    if (!starters.empty()) {
      const TaskSpan& first =
          span.at(std::min_element(starters.begin(), starters.end(), earlier)->value());
      const TaskSpan& last =
          span.at(std::max_element(enders.begin(), enders.end(), later)->value());
      home = first.device;
      alive = alive || (first.started <= at && at < last.ended);
    }
    if (alive) held[home.value()] += tensors.bytes(tensor).count();
  }
  return held;
}

}  // namespace

TEST_CASE("every rank has a memory of its own, though all are alike") {
  TaskGraphBuilder b;
  const OperationId op =
      b.add_operation({.name = "t", .fixed_duration = std::chrono::microseconds{2}});
  Plan plan;
  plan.hosts = IdVector<HostId, HostProgram>(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const TaskId task = b.add_task(op);
    b.set_rank(task, rank);
    b.writes(task, b.add_tensor({.name = "x", .bytes = Bytes{100 * (rank + 1)}}));
    plan.streams.push_back({.device = DeviceId{rank}, .priority = 0, .name = {}});
    plan.hosts[HostId{rank}].calls.push_back(HostCall::launch(StreamId{rank}, task));
  }
  const TaskGraph graph = std::move(b).build();
  Platform platform = ideal_platform();
  platform.ranks = 3;
  const CostTable costs{graph, platform};
  const Problem problem{graph, platform, costs};
  const std::vector<DeviceMemory> memory = memory_use(problem, simulate(problem, plan));
  REQUIRE(memory.size() == 3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    CHECK(memory[rank].device == "rank " + std::to_string(rank));
    CHECK(memory[rank].peak == Bytes{100 * (rank + 1)});
  }
}

TEST_CASE("the curve holds what is alive at every moment, by brute force") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const std::uint32_t devices = seed % 2 == 0 ? 1 : 3;
    const Scene scene{random_graph_with_tensors(seed, false), devices, 5};
    const std::vector<DeviceMemory> memory = memory_use(scene.problem(), scene.trace);
    REQUIRE(memory.size() == devices);
    std::set<Time> moments{Time{}};
    for (const TaskSpan& span : scene.trace.tasks) moments.insert({span.started, span.ended});
    std::vector<std::int64_t> peak(devices, 0);
    for (const Time at : moments) {
      const std::vector<std::int64_t> expected = held_at(scene, at);
      for (std::uint32_t d = 0; d < devices; ++d) {
        const auto& curve = memory[d].curve;
        const auto after = std::upper_bound(
            curve.begin(), curve.end(), at, [](Time t, const MemoryPoint& p) { return t < p.at; });
        REQUIRE(after != curve.begin());
        CHECK((after - 1)->held == Bytes{expected[d]});
        peak[d] = std::max(peak[d], expected[d]);
      }
    }
    Bytes fullest{};
    for (std::uint32_t d = 0; d < devices; ++d) {
      const DeviceMemory& one = memory[d];
      CHECK(one.peak == Bytes{peak[d]});
      CHECK(held_at(scene, one.peak_at)[d] == peak[d]);
      CHECK(one.peak >= one.persistent);
      Bytes held{};
      for (const MemoryHolder& holder : one.holders) held += holder.bytes;
      CHECK(held == one.peak);
      for (std::size_t i = 1; i < one.curve.size(); ++i) {
        CHECK(one.curve[i - 1].at < one.curve[i].at);
        CHECK(one.curve[i - 1].held != one.curve[i].held);
      }
      CHECK(one.curve.back().held == one.persistent);  // at the end all is freed
      fullest = std::max(fullest, one.peak);
    }
    CHECK(fullest == compute_metrics(scene.problem(), scene.plan, scene.trace).peak_memory);
  }
}

TEST_CASE("with tasks that last no time the peak is that of the summary, and its holders add up") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Scene scene{random_graph_with_tensors(seed, true), 2, 4};
    const Metrics metrics = compute_metrics(scene.problem(), scene.plan, scene.trace);
    Bytes fullest{};
    for (const DeviceMemory& one : metrics.memory) {
      Bytes held{};
      for (const MemoryHolder& holder : one.holders) held += holder.bytes;
      CHECK(held == one.peak);
      fullest = std::max(fullest, one.peak);
    }
    CHECK(fullest == metrics.peak_memory);
  }
}

TEST_CASE("putting consumers off keeps what they read alive") {
  // Four producers of 100 bytes and a consumer for each. One after the other: 100 at most. All
  // producers first: 400 when the last one starts.
  const auto peak = [](bool consumers_last) {
    TaskGraphBuilder b;
    const OperationId op = b.add_operation({.name = "t", .fixed_duration = 1us});
    std::vector<TaskId> producers;
    std::vector<TaskId> consumers;
    for (std::uint32_t i = 0; i < 4; ++i) {
      producers.push_back(b.add_task(op));
      if (!consumers_last) consumers.push_back(b.add_task(op));
    }
    for (std::uint32_t i = 0; consumers_last && i < 4; ++i) consumers.push_back(b.add_task(op));
    for (std::uint32_t i = 0; i < 4; ++i) {
      const TensorId dg = b.add_tensor({.name = "dG(" + std::to_string(i) + ")", .bytes = 100_B});
      b.writes(producers[i], dg);
      b.reads(consumers[i], dg);
    }
    const Scene scene{std::move(b).build(), 1, 1};
    return memory_use(scene.problem(), scene.trace).front();
  };
  CHECK(peak(false).peak == 100_B);
  const DeviceMemory late = peak(true);
  CHECK(late.peak == 400_B);
  CHECK(late.peak_at == Time{} + 3us);
  REQUIRE(late.holders.size() == 1);
  CHECK(late.holders[0] == MemoryHolder{.name = "dG", .tensors = 4, .bytes = 400_B});
}

TEST_CASE("a run that does not fit is refused with capacity, peak, moment and holders") {
  TaskGraphBuilder b;
  const OperationId op = b.add_operation({.name = "cell", .fixed_duration = 5us});
  b.add_task(op);
  b.add_task(op);
  const TensorId w = b.add_tensor({.name = "W", .bytes = 2_MiB, .persistent = true});
  const TensorId x = b.add_tensor({.bytes = 3_MiB});
  b.reads(TaskId{0}, w);
  b.writes(TaskId{1}, x);
  const Scene scene{std::move(b).build(), 1, 1};
  std::vector<DeviceMemory> memory = memory_use(scene.problem(), scene.trace);
  CHECK(memory[0].peak == 5_MiB);
  CHECK_NOTHROW(expect_memory_suffices(memory));  // no limit
  memory[0].capacity = 5_MiB;
  CHECK_NOTHROW(expect_memory_suffices(memory));
  memory[0].capacity = 4_MiB;
  try {
    expect_memory_suffices(memory);
    FAIL("accepted");
  } catch (const InfeasibleError& error) {
    const std::string text = error.what();
    CHECK(text.find("device \"device 0\" has 4.00 MiB, this run needs 5.00 MiB at 5.000 us") !=
          std::string::npos);
    CHECK(text.find("output of cell 3.00 MiB (1 tensor), W 2.00 MiB (1 tensor)") !=
          std::string::npos);
  }
}

TEST_CASE("slices keep the peak, however few they are") {
  const std::vector<MemoryPoint> curve{
      {Time{}, 10_B}, {Time{} + 40us, 90_B}, {Time{} + 41us, 20_B}, {Time{} + 75us, 0_B}};
  const Time end = Time{} + 100us;
  CHECK(memory_in_slices(curve, end, 1) == std::vector<Bytes>{90_B});
  CHECK(memory_in_slices(curve, end, 4) == std::vector<Bytes>{10_B, 90_B, 20_B, 0_B});
  CHECK(memory_in_slices(curve, Time{}, 4).empty());
  CHECK(readable_bytes(1536_B) == "1.50 KiB");
  CHECK(readable_bytes(12_B) == "12 B");
}

TEST_CASE("metrics.json and the trace carry the memory") {
  const Scene scene{random_graph_with_tensors(3, false), 2, 4};
  const Metrics metrics = compute_metrics(scene.problem(), scene.plan, scene.trace);
  const std::string json = metrics_json(metrics, scene.problem(), scene.plan, "t");
  CHECK(json.find("\"held_at_peak\": [{\"name\": ") != std::string::npos);
  const TraceDocument document = make_document(scene.problem(), scene.plan, scene.trace, "t");
  const std::string with = chrome_json(document, metrics.memory);
  CHECK(with.find("\"name\":\"memory\"") != std::string::npos);
  CHECK(chrome_json(document).find("\"name\":\"memory\"") == std::string::npos);
  CHECK(read_chrome_json(with, "t.json") == document);
}
