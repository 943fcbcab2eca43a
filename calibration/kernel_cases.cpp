// SPDX-License-Identifier: Apache-2.0
#include "calibration/kernel_cases.hpp"

#include "policies/registry.hpp"
#include "policies/wavefront.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan_builder.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

namespace schedlab {
namespace {

// Each shape in a small and in a large model: how much of its operands a kernel finds in caches
// depends on what runs between its turns.
enum class Footprint : std::uint8_t { small, large };
constexpr std::int64_t large_hidden = 400;  // from here on four layers are large
constexpr ShapePoint large_weights{.hidden = 640, .batch = 5};

RecurrentSpec model(const ShapePoint& point, Footprint footprint) {
  const bool small = footprint == Footprint::small;
  return {.layers = small                         ? 2
                    : point.hidden < large_hidden ? 6
                                                  : 4,
          .steps = small ? 6 : 14,
          .batch = point.batch,
          .hidden = point.hidden,
          .pass = RecurrentPass::training,
          .granularity = Granularity::fine};
}

RecurrentSpec batched(const ShapePoint& point, Footprint footprint, std::int64_t steps) {
  RecurrentSpec spec = model(point, footprint);
  spec.accumulation = Accumulation::batched;
  spec.accumulation_steps = steps;
  spec.steps = ceil_div(spec.steps, steps) * steps;
  return spec;
}

void add_variants(std::uint32_t units, std::vector<KernelCase>& cases) {
  for (const ShapePoint& point : {ShapePoint{96, 20}, {384, 72}, {192, 42}, {80, 6}, {640, 12}}) {
    for (const RecurrentCell cell : {RecurrentCell::gru, RecurrentCell::gru_reset_before}) {
      RecurrentSpec gru = model(point, Footprint::large);
      gru.cell = cell;
      cases.push_back({gru, units});
      cases.push_back({gru, 1});
    }
    RecurrentSpec apart = batched(point, Footprint::small, 6);
    apart.granularity = Granularity::matmul;
    cases.push_back({apart, units});
    cases.push_back({apart, 1});
    RecurrentSpec partial = model(point, Footprint::large);
    partial.accumulation = Accumulation::partial;
    partial.optimizer = Optimizer::adam;
    cases.push_back({partial, units});
    cases.push_back({partial, 1});
  }
}

/// Each four times, in four layers: proxy kernels have weights of their own in every layer.
void add_generic(const Kernel& kernel, std::uint32_t blocks, TaskGraphBuilder& builder) {
  constexpr std::int16_t layers = 4;
  Kernel cut = kernel;
  const bool host_copy =
      kernel.kind == TaskKind::copy_host_to_device || kernel.kind == TaskKind::copy_device_to_host;
  cut.grid.blocks = host_copy ? 1 : blocks;
  const OperationId operation = builder.add_operation(
      {.name = std::string{to_string(kernel.kind)}, .kind = kernel.kind, .kernels = {cut}});
  for (std::int16_t layer = 0; layer < layers; ++layer) {
    const TaskId task = builder.add_task(operation, {.layer = layer});
    if (task.value() > 0) builder.add_edge(TaskId{task.value() - 1}, task);
  }
}

void add_products(std::int64_t m,
                  std::int64_t n,
                  std::int64_t k,
                  std::uint32_t blocks,
                  TaskGraphBuilder& builder) {
  Kernel product = gemm_kernel(m, n, k, DataType::fp32, false);
  add_generic(product, blocks, builder);
  product.kind = TaskKind::convolution;
  add_generic(product, blocks, builder);
}

std::string_view words_of(TaskOrder order) {
  switch (order) {
    case TaskOrder::by_step:
      return "";
    case TaskOrder::by_layer:
      return ", layer by layer";
    case TaskOrder::weights_later:
      return ", weight gradients later";
    case TaskOrder::weights_last:
      return ", weight gradients last";
  }
  return "";
}

Plan one_stream(TaskOrder order, const Problem& problem, std::int64_t steps) {
  if (order == TaskOrder::by_step) return make_policy("single_stream")->plan(problem);
  if (order == TaskOrder::by_layer) return make_policy("layer_by_layer")->plan(problem);
  const TaskGraph& graph = problem.graph;
  const auto tasks = static_cast<std::int64_t>(graph.task_count());
  // Half of the tasks and more belong to the backward pass.
  const std::int64_t delay = order == TaskOrder::weights_last ? tasks : tasks / (2 * steps);
  std::vector<std::int64_t> keys(graph.task_count());
  std::int64_t place = 0;
  for (const TaskId task : graph.topological_order()) {
    const bool waits = graph.operation(task).task_class == TaskClass::weight_gradient;
    keys[task.value()] = place++ + (waits ? delay : 0);
  }
  PlanBuilder builder{problem};
  const StreamId stream =
      builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = "stream"});
  for (const TaskId task : order_by_key(graph, [&](TaskId one) { return keys[one.value()]; })) {
    builder.place(task, stream);
  }
  return std::move(builder).build("calibration");
}

}  // namespace

BenchCase generic_case(std::uint32_t blocks) {
  TaskGraphBuilder builder;
  for (const std::int64_t m : {16, 48, 160, 512, 1600}) {
    for (const std::int64_t n : {16, 96, 512}) {
      for (const std::int64_t k : {24, 128, 512}) add_products(m, n, k, blocks, builder);
    }
  }
  // Between the points of that grid, and long sums.
  constexpr std::array<std::array<std::int64_t, 3>, 10> between{{{90, 40, 56},
                                                                 {90, 220, 250},
                                                                 {280, 40, 250},
                                                                 {280, 220, 56},
                                                                 {900, 40, 56},
                                                                 {900, 220, 250},
                                                                 {28, 220, 1500},
                                                                 {90, 96, 1500},
                                                                 {280, 220, 1500},
                                                                 {900, 40, 1500}}};
  for (const auto& [m, n, k] : between) add_products(m, n, k, blocks, builder);
  for (const TaskKind kind : {TaskKind::pointwise,
                              TaskKind::reduction,
                              TaskKind::copy_device_to_device,
                              TaskKind::copy_host_to_device,
                              TaskKind::copy_device_to_host}) {
    for (std::int64_t kib = 4; kib <= 8192; kib *= 2) {
      for (const std::int64_t parts : {1, 2, 4}) {  // bytes read per byte written
        if (parts > 1 && kind != TaskKind::pointwise && kind != TaskKind::reduction) continue;
        add_generic({.kind = kind,
                     .flops = Flops{static_cast<double>(kib * 256)},
                     .bytes_read = Bytes{kib * 1024},
                     .bytes_written = Bytes{kib * 1024 / parts}},
                    blocks,
                    builder);
      }
    }
  }
  BenchCase made{.name = fmt::format("kernels of all kinds, {} blocks", blocks),
                 .graph = std::move(builder).build(),
                 .plan = {},
                 .proxies = true};
  const Platform platform = ideal_platform();
  const CostTable costs{made.graph, platform};
  made.plan = make_policy("single_stream")->plan({made.graph, platform, costs});
  return made;
}

const std::vector<ShapePoint>& calibrated_shapes() {
  static const std::vector<ShapePoint> points{{96, 20},
                                              {384, 72},
                                              {640, 12},
                                              {160, 52},
                                              {336, 24},
                                              {208, 10},
                                              {704, 48},
                                              {288, 40},
                                              {80, 6},
                                              {384, 18},
                                              {96, 56},
                                              {768, 24},
                                              {160, 12},
                                              {320, 5},
                                              {192, 42},
                                              {448, 14}};
  return points;
}

KernelCase speed_check(std::uint32_t blocks) {
  return {model({208, 10}, Footprint::small), blocks};
}

std::vector<KernelCase> kernel_cases(std::uint32_t units, bool quick) {
  constexpr std::array<std::int64_t, 3> several{6, 3, 10};  // steps of a weight product, in turn
  std::vector<KernelCase> cases;
  const std::vector<ShapePoint>& points = calibrated_shapes();
  for (std::size_t i = 0; i < (quick ? points.size() / 2 : points.size()); ++i) {
    const Footprint here = i % 2 == 0 ? Footprint::small : Footprint::large;
    const Footprint there = i % 2 == 0 ? Footprint::large : Footprint::small;
    const RecurrentSpec together = batched(points[i], here, several[i % 3]);
    cases.push_back({model(points[i], there), units});
    cases.push_back({together, units});
    if (!quick) cases.push_back({model(points[i], here), units});
    if (units == 1) continue;
    cases.push_back({i % 4 < 2 ? model(points[i], there) : together, 1});
    if (units >= 4) cases.push_back({i % 4 < 2 ? together : model(points[i], there), units / 2});
  }
  // Large weights with little work for each: of one layer they stay in caches of 32 MiB, gradients
  // and all, of four they come from memory in the forward pass too. Other models are in between.
  for (const std::int64_t layers : {1, 4}) {
    RecurrentSpec spec = model(large_weights, Footprint::large);
    spec.layers = layers;
    cases.push_back({spec, units});
  }
  if (!quick) add_variants(units, cases);
  // Where the same operands come from other caches: what a schedule changes, and all else equal.
  constexpr TaskOrder orders[] = {
      TaskOrder::weights_last, TaskOrder::by_layer, TaskOrder::weights_later};
  for (std::size_t i = 0; i < (quick ? points.size() / 2 : points.size()); ++i) {
    const RecurrentSpec spec = model(points[i], Footprint::small);
    cases.push_back({spec, units, orders[i % 3]});
    if (!quick) cases.push_back({spec, units, orders[(i + 1) % 3]});
  }
  return cases;
}

BenchCase bench_case(const KernelCase& what) {
  // One FLOP or byte is work enough for a block of its own: as many blocks as there are units.
  const CutRule everything{.flops_per_block = 1, .bytes_per_block = 1};
  const RecurrentSpec& spec = what.spec;
  BenchCase made{.name = fmt::format("hidden {}, batch {}, {} layers, {} steps, {} blocks{}",
                                     spec.hidden,
                                     spec.batch,
                                     spec.layers,
                                     spec.steps,
                                     what.blocks,
                                     words_of(what.order)),
                 .graph = CutKernels{everything, what.blocks}.apply(recurrent(spec)),
                 .plan = {},
                 .recurrent = spec,
                 .blocks = what.blocks};
  const Platform platform = ideal_platform();
  const CostTable costs{made.graph, platform};
  made.plan = one_stream(what.order, {made.graph, platform, costs}, spec.steps);
  return made;
}

}  // namespace schedlab
