// SPDX-License-Identifier: Apache-2.0
// Tasks of several kernels on machines whose costs are estimated: the device runs them one by one.
#include "hw_models/kernel_steps.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/plan/graph_capture.hpp"
#include "studies/scenario/result_columns.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

namespace schedlab {
namespace {

using namespace std::chrono_literals;
using C = HostCall;

constexpr StreamId s0{0};
constexpr StreamId s1{1};

/// Kernels take 10 us for every row m of theirs, on n of two units.
class Rows final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "rows"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    Estimate whole{.share = 0};
    for (const Kernel& kernel : operation.kernels) {
      whole.duration += kernel.m * std::chrono::duration_cast<Duration>(10us);
      whole.share = std::max(whole.share, static_cast<double>(kernel.n) / 2);
    }
    return whole;
  }
};

Platform two_units() {
  Platform platform;
  platform.sharing = SharingModel::exclusive;
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({.name = "unit", .count = 2}));
  return platform;
}

/// Equal tasks of a kernel on both units and one on a single unit, 10 us each.
TaskGraph wide_then_narrow(std::uint32_t tasks) {
  const Kernel wide{.kind = TaskKind::pointwise, .m = 1, .n = 2};
  const Kernel narrow{.kind = TaskKind::pointwise, .m = 1, .n = 1};
  TaskGraphBuilder builder;
  const OperationId pair = builder.add_operation(
      {.name = "pair", .kind = TaskKind::composite, .kernels = {wide, narrow}});
  for (std::uint32_t i = 0; i < tasks; ++i) builder.add_task(pair);
  return std::move(builder).build();
}

struct Scene {
  TaskGraph graph;
  Platform platform;
  std::unique_ptr<CostModel> model;
  CostTable costs{graph, platform, *model};
  std::shared_ptr<const KernelSteps> steps = KernelSteps::of(graph, platform, costs, *model);

  [[nodiscard]] Trace whole(const Plan& plan) const {
    return simulate({graph, platform, costs}, plan);
  }
  [[nodiscard]] Trace by_kernel(const Plan& plan) const {
    Simulator simulator;
    Trace trace;
    run_by_kernel(
        simulator, steps.get(), {steps->graph(), platform, steps->costs(plan)}, plan, {}, trace);
    return trace;
  }
};

Plan side_by_side() {
  Plan plan;
  plan.streams.resize(2);
  plan.hosts[HostId{0}].calls = {C::launch(s0, TaskId{0}), C::launch(s1, TaskId{1})};
  return plan;
}

}  // namespace

TEST_CASE("composite tasks: a narrow kernel leaves the other unit to another task") {
  const Scene scene{wide_then_narrow(2), two_units(), std::make_unique<Rows>()};
  const Plan plan = side_by_side();
  // Whole: each holds both units for 20 us.
  CHECK(scene.whole(plan).makespan() == 40us);
  // By kernels: wide 0 to 10, wide 10 to 20 (it was there first), both narrow ones 20 to 30.
  const Trace trace = scene.by_kernel(plan);
  CHECK(trace.makespan() == 30us);
  REQUIRE(trace.tasks.size() == 2);
  CHECK(trace.tasks[0].started == Time{});
  CHECK(trace.tasks[1].started == Time{std::chrono::duration_cast<Duration>(10us)});
  CHECK(scene.by_kernel(capture_graphs(plan)).makespan() == 30us);
}

TEST_CASE("composite tasks: the host pays for all kernels before the first starts") {
  Platform platform = two_units();
  platform.hosts[HostId{0}].costs.launch = 3us;
  const Scene scene{wide_then_narrow(2), platform, std::make_unique<Rows>()};
  const Trace trace = scene.by_kernel(side_by_side());
  CHECK(trace.tasks[0].submitted == Time{std::chrono::duration_cast<Duration>(6us)});
  CHECK(trace.tasks[0].started == Time{std::chrono::duration_cast<Duration>(6us)});
  CHECK(trace.tasks[1].submitted == Time{std::chrono::duration_cast<Duration>(12us)});
}

TEST_CASE("composite tasks: only co-running makes steps necessary") {
  const Scene scene{wide_then_narrow(3), two_units(), std::make_unique<Rows>()};
  CHECK(scene.steps->needed(side_by_side()));
  CHECK(scene.steps->needed(capture_graphs(side_by_side())));
  Plan alone;
  alone.streams.resize(2);
  alone.hosts[HostId{0}].calls = {C::launch(s0, TaskId{0}), C::launch(s0, TaskId{1})};
  CHECK_FALSE(scene.steps->needed(alone));
  alone.hosts[HostId{0}].calls.push_back(C::launch(s1, TaskId{2}));
  CHECK(scene.steps->needed(alone));
}

TEST_CASE("composite tasks: alone they take what whole tasks take, on every machine") {
  for (const char* name : {"v100", "h200", "ascend_910b", "sw26010_pro", "manycore_cpu"}) {
    for (const char* model : {"tiled_gemm", "roofline"}) {
      for (const SharingModel sharing :
           {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
        CAPTURE(name);
        CAPTURE(model);
        CAPTURE(static_cast<int>(sharing));
        Platform platform = load_machine(name).platform;
        platform.sharing = sharing;
        const Scene scene{lstm({.layers = 2,
                                .steps = 4,
                                .batch = 32,
                                .hidden = 256,
                                .granularity = Granularity::coarse}),
                          platform,
                          make_cost_model(model)};
        REQUIRE(scene.steps != nullptr);
        const Plan plan =
            make_policy("single_stream")->plan({scene.graph, scene.platform, scene.costs});
        // Blocks round each wave of a kernel up by some picoseconds.
        const auto tolerance = sharing == SharingModel::exclusive ? Duration{0} : Duration{100'000};
        for (const Plan& each : {plan, capture_graphs(plan)}) {
          CHECK_FALSE(scene.steps->needed(each));
          const Duration whole = scene.whole(each).makespan();
          const Duration steps = scene.by_kernel(each).makespan();
          CHECK(steps >= whole - tolerance);
          CHECK(steps <= whole + tolerance);
        }
      }
    }
  }
}

TEST_CASE("composite tasks: no policy beats the lower bound or keeps a device busier than it is") {
  const Spec spec = parse_spec(
      R"({"workload": [{"kind": "lstm", "layers": 3, "steps": 6, "batch": 32, "hidden": 256,
                        "pass": "training", "granularity": "coarse"},
                       {"kind": "gru", "layers": 3, "steps": 6, "batch": 16, "hidden": 512,
                        "granularity": "coarse"}],
          "machine": [{"base": "v100", "sharing": ["exclusive", "fluid", "blocks"]}, "ascend_910b"],
          "policy": ["single_stream", "diagonal", "cudnn_like", "heft", "eager_fifo",
                     "greedy_stages", "critical_first"],
          "launch": ["eager", "graph_launch"]})",
      "composite.json");
  const Grid grid(spec, result_column_names(true));
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  for (std::uint64_t scenario = 0; scenario < grid.size(); ++scenario) {
    CAPTURE(grid.describe(scenario));
    const ScenarioResult result = runner.run(scenario, true);
    if (result.failed) continue;
    CHECK(result.findings == 0);
    CHECK(result.summary.gap >= 1.0);
    CHECK(result.summary.busy_share <= 1.0);
    CHECK(result.summary.utilization <= result.summary.busy_share);
  }
}

}  // namespace schedlab
