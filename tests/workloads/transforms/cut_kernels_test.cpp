// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/cut_kernels.hpp"

#include "sim/base/error.hpp"
#include "sim/machine/platform.hpp"
#include "tests/workloads/formats/graph_equal.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

using namespace schedlab;
using schedlab::testing::difference;

namespace {

constexpr CutRule rule{.flops_per_block = 1e6, .bytes_per_block = 1e5};

Kernel with_work(double flops, std::int64_t bytes) {
  return {.kind = TaskKind::pointwise, .flops = Flops{flops}, .bytes_written = Bytes{bytes}};
}

}  // namespace

TEST_CASE("a kernel is cut by its FLOPs or its bytes, whichever gives more blocks") {
  CHECK(rule.blocks(with_work(3e6, 10), 8) == 3);
  CHECK(rule.blocks(with_work(3e6, 500'000), 8) == 5);
  CHECK(rule.blocks(with_work(2.4e6, 10), 8) == 2);  // rounded
  CHECK(rule.blocks(with_work(1.0, 10), 8) == 1);
  CHECK(rule.blocks(with_work(1e12, 10), 8) == 8);  // never more than there are units
  CHECK(rule.blocks(with_work(0, 0), 8) == 1);
}

TEST_CASE("cutting changes the grids and nothing else") {
  for (const LstmPass pass : {LstmPass::forward, LstmPass::backward, LstmPass::training}) {
    const TaskGraph graph = lstm({.layers = 3, .steps = 4, .batch = 8, .hidden = 64, .pass = pass});
    const TaskGraph cut = CutKernels{rule, 4}.apply(graph);
    // Wx and Wh are [64, 256]: 2 * 8 * 64 * 256 = 262144 FLOP, 4 * (2048 + 16384 + 512) bytes or so
    // = 0.79 bytes_per_block: one block. Weight gradients read and write 16384 elements: 1.4.
    bool any = false;
    for (const Operation& operation : cut.operations()) {
      for (const Kernel& kernel : operation.kernels) {
        const bool copy = kernel.kind == TaskKind::copy_host_to_device ||
                          kernel.kind == TaskKind::copy_device_to_host;
        CHECK((kernel.grid.blocks == 0) == copy);
        Kernel whole = kernel;
        whole.grid = {};
        if (!copy) CHECK(kernel.grid.blocks == rule.blocks(whole, 4));
        any = any || !copy;
      }
    }
    CHECK(any);
    // Cutting again finds nothing to cut; and but for the grids it is the graph it was.
    CHECK(difference(CutKernels{{.flops_per_block = 1, .bytes_per_block = 1}, 9}.apply(cut), cut) ==
          "");
    CHECK(cut.edge_count() == graph.edge_count());
    for (const TaskId task : graph.tasks()) {
      CHECK(cut.name(task) == graph.name(task));
      CHECK(cut.tags(task) == graph.tags(task));
      CHECK(cut.operation(task).flops().count() == graph.operation(task).flops().count());
    }
    CHECK(cut.tensors().size() == graph.tensors().size());
  }
}

TEST_CASE("what already has a grid, and graphs without kernels, stay as they are") {
  TaskGraphBuilder builder;
  Kernel given = with_work(1e9, 10);
  given.grid.blocks = 3;
  const OperationId named =
      builder.add_operation({.name = "given", .kind = TaskKind::pointwise, .kernels = {given}});
  const OperationId fixed = builder.add_operation({.name = "fixed", .fixed_duration = 3us});
  builder.set_duration(builder.add_task(named, {}, "first"), 5us);
  builder.set_duration(builder.add_task(fixed, {}, "second"), 6us);
  builder.add_edge(TaskId{0}, TaskId{1});
  const TaskGraph graph = std::move(builder).build();
  CHECK(difference(CutKernels{rule, 8}.apply(graph), graph) == "");
}

TEST_CASE("a device with a profile says how its kernels are cut") {
  Device device;
  CHECK_FALSE(CutKernels::for_device(device).has_value());
  KernelProfile profile;
  profile.cut = rule;
  device.profile = std::make_shared<const KernelProfile>(profile);
  device.rates.matrix_units = 2;
  const TaskGraph graph = lstm({.layers = 1, .steps = 2, .batch = 64, .hidden = 256});
  const TaskGraph cut = CutKernels::for_device(device)->apply(graph);
  CHECK(cut.operations()[OperationId{1}].kernels[0].grid.blocks == 2);  // a product of 33 MFLOP
  CHECK_THROWS_AS((CutKernels{CutRule{.flops_per_block = 0}, 2}), ContractViolation);
}

TEST_CASE("a kernel is cut for the units that it may spread over, not for all") {
  Device device;
  CHECK(CutKernels::units_for(8, device) == 8);
  CHECK(CutKernels::units_for(0, device) == 1);
  device.rates.units_per_kernel = 2;
  CHECK(CutKernels::units_for(8, device) == 2);
  CHECK(CutKernels::units_for(1, device) == 1);
}
