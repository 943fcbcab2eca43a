// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/lstm_scene.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/rng.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace schedlab::bench {
namespace {

struct Part {
  std::string_view name;
  TaskKind kind;
  std::int64_t microseconds;
  double share;  // of the device's units
};

// Assumed; the ratios are those of a step of batch 64 and hidden size 1024.
constexpr std::array<Part, 5> parts{{{"cell", TaskKind::pointwise, 20, 0.10},
                                     {"hidden_1", TaskKind::gemm, 40, 0.30},
                                     {"hidden_2", TaskKind::gemm, 40, 0.30},
                                     {"weight_1", TaskKind::gemm, 60, 0.50},
                                     {"weight_2", TaskKind::gemm, 60, 0.50}}};

constexpr Bandwidth memory_bandwidth = 900_GB_per_s;  // assumed

/// An estimate for each part.
class Given final : public CostModel {
 public:
  using Estimates = std::array<Estimate, parts.size()>;
  explicit Given(const Estimates& estimates) : estimates_(estimates) {}
  [[nodiscard]] std::string_view name() const override { return "given"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].name == operation.name) return estimates_[k];
    }
    throw std::runtime_error("no estimate for " + operation.name);
  }

 private:
  Estimates estimates_;
};

/// `demand`: what kernels that fill the units want of the bandwidth there is.
Given shares(double demand) {
  Given::Estimates estimates;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    estimates[k] = {.duration = std::chrono::microseconds{parts[k].microseconds},
                    .share = parts[k].share,
                    .bandwidth = demand * parts[k].share * memory_bandwidth};
  }
  return Given{estimates};
}

/// What tiled_gemm says of the inner nodes of such a network, of batch 64 and hidden size 1024.
Given tiled(const Platform& platform) {
  const TaskGraph graph =
      lstm({.layers = LstmScene::layers, .steps = 3, .batch = 64, .hidden = 1024});
  const CostTable costs{graph, platform, *make_cost_model("tiled_gemm")};
  Given::Estimates estimates;
  std::size_t found = 0;
  for (const TaskId task : graph.tasks()) {
    if (graph.tags(task).layer != 1 || graph.tags(task).step != 1) continue;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].name != graph.operation(task).name) continue;
      estimates[k] = costs.entry(task).estimate;
      ++found;
    }
  }
  if (found != parts.size()) throw std::runtime_error("other kernels than expected");
  return Given{estimates};
}

// Jitter makes a kernel want up to a ninth more: still never more than there is.
constexpr double enough = 0.9;
constexpr double too_much = 2.0;

TaskGraph make_graph(std::uint32_t tasks) {
  TaskGraphBuilder builder;
  std::array<OperationId, parts.size()> operations;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    operations[k] =
        builder.add_operation({.name = std::string{parts[k].name},
                               .kind = parts[k].kind,
                               .fixed_duration = std::chrono::microseconds{parts[k].microseconds}});
  }
  constexpr std::uint32_t layers = LstmScene::layers;
  const std::uint32_t steps = std::max(1U, tasks / (5 * layers));
  builder.reserve(std::size_t{5} * layers * steps, std::size_t{6} * layers * steps);
  for (std::uint32_t step = 0; step < steps; ++step) {        // 0 is the last step
    for (std::uint32_t layer = 0; layer < layers; ++layer) {  // 0 is the top layer
      const Tags tags{.layer = static_cast<std::int16_t>(layers - 1 - layer),
                      .step = static_cast<std::int32_t>(steps - 1 - step)};
      const TaskId cell = builder.add_task(operations[0], tags);
      for (std::uint32_t k = 1; k < parts.size(); ++k) {
        builder.add_edge(cell, builder.add_task(operations[k], tags));
      }
      const std::uint32_t next_step = cell.value() + 5 * layers;
      if (step + 1 < steps) builder.add_edge(TaskId{cell.value() + 1}, TaskId{next_step});
      if (layer + 1 < layers) {
        builder.add_edge(TaskId{cell.value() + 2}, TaskId{cell.value() + 5});
      }
    }
  }
  return std::move(builder).build();
}

IdVector<TaskId, Duration> jittered(const TaskGraph& graph, const CostTable& costs) {
  Rng rng{20};
  IdVector<TaskId, Duration> durations;
  durations.reserve(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    const Duration base = costs.duration(task);
    const std::int64_t span = base.count() / 10;
    const auto jitter =
        static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(2 * span + 1)));
    durations.push_back(base - Duration{span} + Duration{jitter});
  }
  return durations;
}

Platform make_limited(SharingModel sharing) {
  Platform platform = ideal_platform(3);
  Host& host = platform.hosts[HostId{0}];
  host.costs.launch = std::chrono::nanoseconds{1000};  // assumed
  host.costs.record = std::chrono::nanoseconds{400};   // assumed
  host.costs.wait = std::chrono::nanoseconds{400};     // assumed
  host.launch_queue_depth = 1024;                      // assumed
  Device& device = platform.devices[DeviceId{0}];
  device.launch_latency = std::chrono::nanoseconds{3000};  // assumed
  device.stream_gap = std::chrono::nanoseconds{800};       // assumed
  device.event_latency = std::chrono::nanoseconds{1200};   // assumed
  device.rates.memory = memory_bandwidth;
  platform.sharing = sharing;
  device.unit_class_of.fill(device.unit_classes.push_back({"sm", 64}));
  return platform;
}

Plan make_plan(const TaskGraph& graph) {
  Plan plan;
  plan.policy = "bench";
  for (std::uint32_t s = 0; s < LstmScene::stream_count; ++s) {
    const int priority = s + 1 == LstmScene::stream_count ? 0 : (s % 2 == 0 ? -2 : -1);
    plan.streams.push_back({.device = DeviceId{0}, .priority = priority, .name = {}});
  }
  std::uint32_t next_weight_stream = 0;
  IdVector<TaskId, StreamId> stream_of(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    const auto layer = static_cast<std::uint32_t>(graph.tags(task).layer);
    const std::uint32_t part = graph.operation_id(task).value();
    std::uint32_t stream = part == 2 ? 2 * layer + 1 : 2 * layer;
    if (part > 2) {
      stream = next_weight_stream;
      next_weight_stream = (next_weight_stream + 1) % LstmScene::stream_count;
    }
    stream_of[task] = StreamId{stream};
  }
  IdVector<TaskId, EventId> event_of(graph.task_count());
  auto& calls = plan.hosts[HostId{0}].calls;
  calls.reserve(graph.task_count() * 9 / 4);
  for (const TaskId task : graph.tasks()) {
    const StreamId stream = stream_of[task];
    for (const TaskId before : graph.predecessors(task)) {
      if (stream_of[before] != stream) calls.push_back(HostCall::wait(stream, event_of[before]));
    }
    calls.push_back(HostCall::launch(stream, task));
    for (const TaskId after : graph.successors(task)) {
      if (stream_of[after] == stream) continue;
      event_of[task] = EventId{plan.event_count++};
      calls.push_back(HostCall::record(stream, event_of[task]));
      break;
    }
  }
  calls.shrink_to_fit();
  return plan;
}

}  // namespace

LstmScene::LstmScene(std::uint32_t tasks, bool all_machines)
    : graph(make_graph(tasks)),
      ideal(ideal_platform(3)),
      costs(graph, ideal),
      units(make_limited(SharingModel::exclusive)),
      fluid(make_limited(SharingModel::fluid)),
      v100(load_machine("v100").platform),
      plan(make_plan(graph)) {
  costs.set_task_durations(jittered(graph, costs));
  if (!all_machines) return;
  unit_costs = CostTable{graph, units, shares(enough)};
  fluid_costs = CostTable{graph, fluid, shares(enough)};
  short_costs = CostTable{graph, fluid, shares(too_much)};
  v100_costs = CostTable{graph, v100, tiled(v100)};
  for (CostTable* table : {&unit_costs, &fluid_costs, &short_costs, &v100_costs}) {
    table->set_task_durations(jittered(graph, *table));
  }
}

BareGraph LstmScene::bare() const {
  BareGraph bare;
  bare.streams = stream_count;
  bare.offset.push_back(0);
  bare.predecessor_count.resize(graph.task_count());
  bare.stream.resize(graph.task_count());
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch) continue;
    bare.stream[call.task().value()] = static_cast<std::uint16_t>(call.stream().value());
  }
  for (const TaskId task : graph.tasks()) {
    for (const TaskId after : graph.successors(task)) bare.successors.push_back(after.value());
    bare.offset.push_back(static_cast<std::uint32_t>(bare.successors.size()));
    bare.duration.push_back(costs.duration(task).count());
    bare.part.push_back(static_cast<std::uint8_t>(graph.operation_id(task).value()));
    bare.predecessor_count[task.value()] =
        static_cast<std::uint8_t>(graph.predecessors(task).size());
  }
  return bare;
}

}  // namespace schedlab::bench
