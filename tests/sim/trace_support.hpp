// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace schedlab::testing {

using namespace schedlab::literals;

[[nodiscard]] inline Time at(Duration time) {
  return Time{time};
}

/// A span of task `task` on stream `stream`; submitted at 0 unless said otherwise.
[[nodiscard]] inline TaskSpan span(std::uint32_t task,
                                   std::uint32_t stream,
                                   Duration started,
                                   Duration ended,
                                   Duration submitted = Duration{0}) {
  return {.task = TaskId{task},
          .stream = StreamId{stream},
          .host = HostId{0},
          .device = DeviceId{0},
          .submitted = at(submitted),
          .started = at(started),
          .ended = at(ended)};
}

/// Two critical tasks and two others on a device with ten units:
///   a (critical, 4 units, 10 us) -> b (critical, 10 units, 20 us)
///   a -> w (6 units, 10 us);  v (2 units, 5 us) needs nothing
struct TinyRun {
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  Plan plan;
  Trace trace;

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

/// Shares of the operations come from `kind`, so that the units are those of the class comment.
class TinyModel final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "tiny"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    const double share = operation.name == "a"   ? 0.4
                         : operation.name == "b" ? 1.0
                         : operation.name == "w" ? 0.6
                                                 : 0.2;
    return {.duration = operation.fixed_duration, .share = share, .bandwidth = {}, .bound = {}};
  }
};

/// The run
///   stream 0:  a 2..12      b 22..42
///   stream 1:      w 12..22 (w: 6 units)      v 50..55, submitted at 48
/// ends at 60, after the host has destroyed its streams. b waits for the units that w holds.
[[nodiscard]] inline TinyRun tiny_run() {
  TinyRun run;
  TaskGraphBuilder builder;
  const auto operation = [&builder](const char* name, Duration duration, TaskClass task_class) {
    Operation made;
    made.name = name;
    made.kind = TaskKind::gemm;
    made.task_class = task_class;
    made.fixed_duration = duration;
    return builder.add_operation(std::move(made));
  };
  const auto a = builder.add_task(operation("a", 10us, TaskClass::critical_matmul));
  const auto b = builder.add_task(operation("b", 20us, TaskClass::critical_pointwise));
  const auto w = builder.add_task(operation("w", 10us, TaskClass::weight_gradient));
  const auto v = builder.add_task(operation("v", 5us, TaskClass::weight_gradient));
  builder.add_edge(a, b);
  builder.add_edge(a, w);
  // x lives from a's start to w's end, y from v's start to v's end, z all the time.
  const TensorId x = builder.add_tensor({"x", 100_B, false, false});
  const TensorId y = builder.add_tensor({"y", 30_B, false, false});
  const TensorId z = builder.add_tensor({"z", 7_B, false, true});
  builder.writes(a, x);
  builder.reads(w, x);
  builder.writes(v, y);
  builder.writes(b, z);
  run.graph = std::move(builder).build();

  run.platform.name = "tiny";
  Device& device = run.platform.devices[DeviceId{0}];
  device.name = "tiny device";
  device.unit_classes.push_back({.name = "sm", .count = 10});
  device.unit_class_of.fill(UnitClassId{0});
  run.platform.hosts[HostId{0}].costs = {.launch = 2us, .record = 1us, .wait = 500ns};
  run.costs = CostTable{run.graph, run.platform, TinyModel{}};

  run.plan.policy = "by_hand";
  run.plan.streams.push_back({.device = DeviceId{0}, .priority = -1, .name = "main"});
  run.plan.streams.push_back({.device = DeviceId{0}, .priority = 0, .name = ""});
  run.plan.event_count = 1;
  run.plan.hosts[HostId{0}].calls = {HostCall::launch(StreamId{0}, a),
                                     HostCall::record(StreamId{0}, EventId{0}),
                                     HostCall::wait(StreamId{1}, EventId{0}),
                                     HostCall::launch(StreamId{1}, w),
                                     HostCall::launch(StreamId{0}, b),
                                     HostCall::launch(StreamId{1}, v)};
  run.trace.tasks = {span(0, 0, 2us, 12us, 2us),
                     span(2, 1, 12us, 22us, 5500ns),
                     span(1, 0, 22us, 42us, 7500ns),
                     span(3, 1, 50us, 55us, 48us)};
  run.trace.ended = at(60us);
  return run;
}

}  // namespace schedlab::testing
