// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cache_reuse.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace schedlab::literals;

struct Options {
  std::int64_t steps = 4;
  bool persistent = true;
  bool accumulate = false;
  std::int64_t more_elements = 0;  ///< of the weight tensor, beyond 1000 x 250
};

/// `steps` products [100, 1000] x weights[1000, 250], each reading the one tensor of weights.
TaskGraph recurrent(const Options& options) {
  TaskGraphBuilder builder;
  const OperationId step =
      builder.add_operation({.name = "step",
                             .kind = TaskKind::gemm,
                             .kernels = {gemm_kernel(100, 250, 1000, DataType::fp32, false)}});
  const TensorId weights =
      builder.add_tensor({.name = "W",
                          .bytes = Bytes{4 * (250'000 + options.more_elements)},
                          .accumulate = options.accumulate,
                          .persistent = options.persistent});
  TaskId before;
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const TaskId task = builder.add_task(step);
    if (options.accumulate) builder.writes(task, weights);
    builder.reads(task, weights);
    if (i > 0) builder.add_edge(before, task);
    before = task;
  }
  return std::move(builder).build();
}

Platform cached_machine(std::int64_t l2) {
  Platform platform = testing::small_machine();
  platform.devices[DeviceId{0}].rates.l2 = Bytes{l2};
  platform.devices[DeviceId{0}].rates.l2_bandwidth = 4000_GB_per_s;
  return platform;
}

Bytes credit(const TaskGraph& graph, const Platform& platform) {
  const CacheReuse reuse{graph, platform};
  const auto operation = reuse.with_cached_bytes(
      OperationId{0}, graph.operations()[OperationId{0}], platform.devices[DeviceId{0}]);
  return operation ? operation->kernels[0].bytes_cached : Bytes{0};
}

}  // namespace

TEST_CASE("weights that every step reads come from memory once, if half of the cache holds them") {
  // 1 MB, 4 readers: each read is credited with 3/4 of it.
  CHECK(credit(recurrent({}), cached_machine(2'000'000)) == Bytes{750'000});
  CHECK(credit(recurrent({}), cached_machine(1'999'999)) == Bytes{0});
  CHECK(credit(recurrent({.steps = 100}), cached_machine(2'000'000)) == Bytes{990'000});
  CHECK(credit(recurrent({.more_elements = 250}), cached_machine(4'000'000)) ==
        Bytes{750'750});  // with a bias
}

TEST_CASE("what is not a weight read again gets no credit") {
  const Platform platform = cached_machine(1 << 30);
  CHECK(credit(recurrent({.steps = 1}), platform) == Bytes{0});
  CHECK(credit(recurrent({.persistent = false}), platform) == Bytes{0});
  CHECK(credit(recurrent({.accumulate = true}), platform) == Bytes{0});
  CHECK(credit(recurrent({.more_elements = 12'345}), platform) == Bytes{0});  // not one operand
  CHECK(credit(recurrent({}), testing::small_machine()) == Bytes{0});         // no cache
}

TEST_CASE("all weights of a graph must fit together") {
  TaskGraphBuilder builder;
  for (int layer = 0; layer < 3; ++layer) {
    const OperationId step =
        builder.add_operation({.name = "step",
                               .kind = TaskKind::gemm,
                               .kernels = {gemm_kernel(100, 250, 1000, DataType::fp32, false)}});
    const TensorId weights = builder.add_tensor({.bytes = Bytes{1'000'000}, .persistent = true});
    for (int i = 0; i < 2; ++i) builder.reads(builder.add_task(step), weights);
  }
  const TaskGraph graph = std::move(builder).build();
  CHECK(CacheReuse{graph, cached_machine(1)}.working_set() == Bytes{3'000'000});
  CHECK(credit(graph, cached_machine(6'000'000)) == Bytes{500'000});
  CHECK(credit(graph, cached_machine(5'999'999)) == Bytes{0});
}

TEST_CASE("results stay in the output buffers for the critical tasks that read them next") {
  // A cell writes 400 kB (100 x 1000 gradients); a critical product and a weight product read them.
  const auto graph_of = [](int readers, bool persistent) {
    TaskGraphBuilder builder;
    const OperationId cell = builder.add_operation({.name = "cell", .kind = TaskKind::pointwise});
    const OperationId data =
        builder.add_operation({.name = "data",
                               .kind = TaskKind::gemm,
                               .task_class = TaskClass::critical_matmul,
                               .kernels = {gemm_kernel(100, 250, 1000, DataType::fp32, false)}});
    const OperationId weight =
        builder.add_operation({.name = "weight",
                               .kind = TaskKind::gemm,
                               .task_class = TaskClass::weight_gradient,
                               .kernels = {gemm_kernel(1000, 250, 100, DataType::fp32, false)}});
    const TensorId gates = builder.add_tensor({.bytes = Bytes{400'000}, .persistent = persistent});
    const TaskId producer = builder.add_task(cell);
    builder.writes(producer, gates);
    for (const OperationId reader : {data, weight}) {
      if (readers-- == 0) break;
      const TaskId task = builder.add_task(reader);
      builder.add_edge(producer, task);
      builder.reads(task, gates);
    }
    return std::move(builder).build();
  };
  // Four matrix units: half of four buffers of 200 kB is just enough.
  const auto machine = [](std::int64_t buffer) {
    Platform platform = cached_machine(500'000);  // too small for the weights' rule
    platform.devices[DeviceId{0}].rates.output_buffer = Bytes{buffer};
    return platform;
  };
  const auto cached = [](const TaskGraph& graph, const Platform& platform, unsigned operation) {
    const CacheReuse reuse{graph, platform};
    const auto known = reuse.with_cached_bytes(OperationId{operation},
                                               graph.operations()[OperationId{operation}],
                                               platform.devices[DeviceId{0}]);
    return known ? known->kernels[0].bytes_cached : Bytes{0};
  };
  CHECK(machine(1).devices[DeviceId{0}].rates.matrix_units == 4);
  const TaskGraph graph = graph_of(2, false);
  CHECK(cached(graph, machine(200'000), 1) == Bytes{400'000});
  CHECK(cached(graph, machine(200'000), 2) == Bytes{0});  // weights come later
  CHECK(cached(graph, machine(199'999), 1) == Bytes{0});
  CHECK(cached(graph, machine(0), 1) == Bytes{0});
  CHECK(cached(graph_of(1, false), machine(200'000), 1) == Bytes{0});  // used once: streams through
  CHECK(cached(graph_of(2, true), machine(200'000), 1) == Bytes{0});
}

TEST_CASE("the machine file of an Ascend says how large its output buffers are") {
  const MachineSpec machine = load_machine("ascend_910b");
  CHECK(machine.platform.devices[DeviceId{0}].rates.output_buffer == Bytes{128 * 1024});
}

TEST_CASE("the costs of a graph have the credit, for the device that has the cache") {
  const TaskGraph graph = recurrent({});
  Platform platform = cached_machine(2'000'000);
  platform.devices[DeviceId{0}].rates.memory = 100_GB_per_s;
  // 1.5 MB = 400 kB + 1 MB + 100 kB: 15 us at 100 GB/s; 7.5 us without the 750 kB. Three tiles of
  // 100 x 100 take 20 us: without split-k compute decides, and the traffic shows.
  const CostTable with{graph, platform, TiledGemm{1}};
  CHECK(with.duration(TaskId{0}) == 22us);
  CHECK(with.entry(TaskId{0}).estimate.bandwidth.count() == doctest::Approx(0.75e6 / 22e-6));
  platform.devices[DeviceId{0}].rates.l2 = Bytes{0};
  const CostTable without{graph, platform, TiledGemm{1}};
  CHECK(without.entry(TaskId{0}).estimate.bandwidth.count() == doctest::Approx(1.5e6 / 22e-6));
}

TEST_CASE("a coarse task gives its credit to the kernel that reads most, no more than it reads") {
  TaskGraphBuilder builder;
  const OperationId node = builder.add_operation(
      {.name = "node",
       .kind = TaskKind::composite,
       .kernels = {{.kind = TaskKind::pointwise, .bytes_read = Bytes{9'000'000}},
                   gemm_kernel(100, 250, 1000, DataType::fp32, false),
                   gemm_kernel(100, 500, 1000, DataType::fp32, false)}});
  const TensorId small = builder.add_tensor({.bytes = Bytes{1'000'000}, .persistent = true});
  const TensorId large = builder.add_tensor({.bytes = Bytes{2'000'000}, .persistent = true});
  for (int i = 0; i < 1000; ++i) {
    const TaskId task = builder.add_task(node);
    builder.reads(task, small);
    builder.reads(task, large);
  }
  const TaskGraph graph = std::move(builder).build();
  const Platform platform = cached_machine(100'000'000);
  const CacheReuse reuse{graph, platform};
  const Operation operation =
      reuse
          .with_cached_bytes(
              OperationId{0}, graph.operations()[OperationId{0}], platform.devices[DeviceId{0}])
          .value();
  CHECK(operation.kernels[0].bytes_cached == Bytes{0});
  CHECK(operation.kernels[2].bytes_cached == operation.kernels[2].bytes_read);  // 2.4 MB
  CHECK(operation.kernels[1].bytes_cached == Bytes{2'997'000 - 2'400'000});
}

}  // namespace schedlab
