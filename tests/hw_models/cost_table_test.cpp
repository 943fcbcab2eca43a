// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fixed.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
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
