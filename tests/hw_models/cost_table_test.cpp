// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fixed.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

using namespace schedlab::literals;

TaskGraph one_task(Operation operation) {
  TaskGraphBuilder builder;
  const OperationId id = builder.add_operation(std::move(operation));
  builder.add_task(id);
  return std::move(builder).build();
}

Operation gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.name = "gemm",
          .kind = TaskKind::gemm,
          .kernels = {gemm_kernel(m, n, k, DataType::fp32, false)}};
}

CostTable::Entry entry_of(const Operation& operation,
                          const Platform& platform,
                          const CostModel& model) {
  return CostTable{one_task(operation), platform, model}.entry(TaskId{0});
}

}  // namespace

TEST_CASE("a kernel holds as many whole units as its share of them, rounded up") {
  const Platform platform = testing::small_machine();  // 4 units
  CHECK(entry_of(gemm(300, 100, 1000), platform, TiledGemm{1}).units == 3);
  CHECK(entry_of(gemm(900, 900, 1000), platform, TiledGemm{1}).units == 4);
  CHECK(entry_of(gemm(1, 1, 1000), platform, TiledGemm{1}).units == 1);
  CHECK(entry_of(gemm(1, 1, 1), platform, FixedCost{1us, 0.30}).units == 2);  // ceil(1.2)
  CHECK(entry_of(gemm(1, 1, 1), platform, FixedCost{1us, 0.25}).units == 1);
  CHECK(entry_of(gemm(1, 1, 1), platform, FixedCost{1us, 0.01}).units == 1);
}

TEST_CASE("products and copies cost the host their calls beyond the launches of their kernels") {
  Platform platform = testing::small_machine();
  HostCosts& costs = platform.hosts[HostId{0}].costs;
  costs.launch = 2us;
  costs.product_call = 3us;
  costs.copy_call = 1us;
  const Kernel product = gemm_kernel(8, 8, 8, DataType::fp32, false);
  const Kernel copy{.kind = TaskKind::copy_device_to_device};
  const Operation both{
      .name = "both", .kind = TaskKind::composite, .kernels = {product, product, copy}};
  CHECK(entry_of(gemm(8, 8, 8), platform, FixedCost{1us, 1.0}).calls == Duration{3us});
  CHECK(entry_of(both, platform, FixedCost{1us, 1.0}).calls == Duration{7us});
  const Operation cell{.name = "cell", .kernels = {{.kind = TaskKind::pointwise}}};
  CHECK(entry_of(cell, platform, FixedCost{1us, 1.0}).calls == Duration{0});

  // One after the other on a stream: cell, product, cell. Every engine, also where launches are
  // free.
  TaskGraphBuilder builder;
  const OperationId cells = builder.add_operation(cell);
  const OperationId products = builder.add_operation(gemm(8, 8, 8));
  builder.add_task(cells);
  builder.add_task(products);
  builder.add_task(cells);
  const TaskGraph graph = std::move(builder).build();
  Plan plan;
  plan.streams.push_back({});
  for (const TaskId task : graph.tasks()) {
    plan.hosts[HostId{0}].calls.push_back(HostCall::launch(StreamId{0}, task));
  }
  for (const Duration launch : {Duration{2us}, Duration{0}}) {
    for (const SharingModel sharing : {SharingModel::exclusive, SharingModel::fluid}) {
      for (const EngineKind engine : {EngineKind::automatic, EngineKind::event}) {
        platform.sharing = sharing;
        costs.launch = launch;
        const CostTable table{graph, platform, FixedCost{1us, 1.0}};
        const Problem problem{graph, platform, table};
        const Trace trace = simulate(problem, plan, {.engine = engine});
        REQUIRE(trace.tasks.size() == 3);
        CHECK(trace.tasks[0].submitted == Time{launch});
        CHECK(trace.tasks[1].submitted == Time{2 * launch + 3us});
        CHECK(trace.tasks[2].submitted == Time{3 * launch + 3us});
        CHECK(host_issue_time(problem, plan, HostId{0}) == 3 * launch + 3us);
      }
    }
  }
}

TEST_CASE("every share gives exactly that many units on every machine, up to units_per_kernel") {
  for (const std::string& name : machine_names()) {
    const MachineSpec machine = load_machine(name);
    const Device& device = machine.platform.devices[DeviceId{0}];
    const std::uint32_t units = device.rates.matrix_units;
    for (std::uint32_t busy = 1; busy <= units; ++busy) {
      CAPTURE(name);
      CAPTURE(busy);
      const double share = double(busy) / double(units);
      const std::uint32_t most = device.rates.units_per_kernel;
      CHECK(entry_of(gemm(1, 1, 1), machine.platform, FixedCost{1us, share}).units ==
            (most > 0 ? std::min(busy, most) : busy));
    }
  }
}

TEST_CASE("a kernel on unlimited units holds none") {
  Platform platform = testing::small_machine();
  platform.devices[DeviceId{0}].unit_classes[UnitClassId{0}].count = 0;
  const CostTable::Entry entry = entry_of(gemm(300, 100, 1000), platform, TiledGemm{1});
  CHECK(entry.units == 0);
  CHECK_FALSE(entry.unit_class.valid());
  CHECK(entry.estimate.duration == 22us);
}

}  // namespace schedlab
