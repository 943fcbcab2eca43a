// SPDX-License-Identifier: Apache-2.0
// Many ranks in one run: seconds and memory of every step from graph to summary.
//
//   neighbours  each rank a step of 20 tasks on two streams, one all-reduce over all ranks, and a
//               message to the next rank with one from the rank before
//   pipeline    groups of 2,500 stages with one rank each: micro-batches forward, then backward,
//               blocking messages between neighbours, an all-reduce among the groups' equal stages
#include "hw_models/collective.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "sim/trace/summary.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/clock.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::bench {
namespace {

class ByDuration final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "fixed"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    return {.duration = operation.fixed_duration, .share = 0.25, .bandwidth = {}};
  }
  [[nodiscard]] Estimate estimate_collective(const Operation& operation,
                                             const CollectiveSpec& spec,
                                             std::span<const std::uint32_t> ranks,
                                             const Platform& platform,
                                             DeviceId kind) const override {
    return collective_cost(operation, spec, ranks, platform, kind);
  }
};

Platform cluster(std::uint32_t ranks, SharingModel sharing) {
  Platform platform;
  platform.name = "cluster";
  platform.ranks = ranks;
  platform.sharing = sharing;
  platform.hosts[HostId{0}].costs = {
      .launch = 2us, .record = 1us, .wait = 1us, .synchronize = 1us, .send = 1us, .receive = 1us};
  Device& device = platform.devices[DeviceId{0}];
  device.name = "device";
  device.unit_classes.push_back({.name = "sm", .count = 100});
  device.unit_class_of.fill(UnitClassId{0});
  Network& network = platform.network;
  network.topology = Topology::nvlink_node;
  network.ranks_per_node = 8;
  network.nics_per_node = 4;
  network.device = {400_GB_per_s, 300ns};
  network.node = {50_GB_per_s, 1us};
  network.switch_latency = 200ns;
  network.leaf_ports = 32;
  network.leaf_oversubscription = 2.0;
  network.eager_threshold = 64_KiB;
  network.collectives = {.units = 8, .base = 10us, .step_in_node = 1us, .step_between_nodes = 2us};
  return platform;
}

/// Graph and plan, made together.
struct Workload {
  TaskGraphBuilder builder;
  Plan plan;
  OperationId work;
  OperationId reduce;

  explicit Workload(std::uint32_t ranks, std::uint32_t streams_per_rank) {
    work = builder.add_operation({.name = "work", .fixed_duration = 50us});
    reduce = builder.add_operation({.name = "all_reduce", .kind = TaskKind::collective});
    plan.hosts = IdVector<HostId, HostProgram>(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t i = 0; i < streams_per_rank; ++i) {
        plan.streams.push_back({.device = DeviceId{rank}});
      }
    }
  }
  void call(std::uint32_t rank, HostCall call) { plan.hosts[HostId{rank}].calls.push_back(call); }
  TaskId task(std::uint32_t rank, OperationId operation) {
    const TaskId task = builder.add_task(operation);
    builder.set_rank(task, rank);
    return task;
  }
  std::uint32_t message(std::uint32_t from, std::uint32_t to, Bytes bytes) {
    plan.messages.push_back({.from = HostId{from}, .to = HostId{to}, .bytes = bytes});
    return static_cast<std::uint32_t>(plan.messages.size() - 1);
  }
};

Workload neighbours(std::uint32_t ranks) {
  Workload made{ranks, 2};
  const CollectiveId sum =
      made.builder.add_collective({.op = CollectiveOp::all_reduce, .bytes = 25_MiB});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    made.message(rank, (rank + 1) % ranks, Bytes{1'000'000 + 1000 * (rank % 97)});
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const StreamId main{2 * rank};
    const StreamId comm{2 * rank + 1};
    const std::uint32_t from_before = (rank + ranks - 1) % ranks;
    TaskId last;
    for (int i = 0; i < 20; ++i) {
      const TaskId task = made.task(rank, made.work);
      if (last.valid()) made.builder.add_edge(last, task);
      made.call(rank, HostCall::launch(main, task));
      last = task;
      if (i != 9) continue;
      made.call(rank, HostCall::synchronize_stream(main));
      made.call(rank, HostCall::isend(rank));
      made.call(rank, HostCall::receive(from_before));
      made.call(rank, HostCall::wait_message(rank));
    }
    const TaskId part = made.task(rank, made.reduce);
    made.builder.joins(part, sum);
    made.builder.add_edge(last, part);
    made.call(rank, HostCall::record(main, EventId{rank}));
    made.call(rank, HostCall::wait(comm, EventId{rank}));
    made.call(rank, HostCall::launch(comm, part));
  }
  made.plan.event_count = ranks;
  return made;
}

Workload pipeline(std::uint32_t ranks, std::uint32_t groups, std::uint32_t microbatches) {
  Workload made{ranks, 1};
  const std::uint32_t stages = ranks / groups;
  const std::uint32_t used = stages * groups;
  std::vector<TaskId> done(std::size_t{2} * microbatches * used);
  const auto at = [&](std::uint32_t rank, std::uint32_t pass, std::uint32_t m) -> TaskId& {
    return done[(std::size_t{rank} * 2 + pass) * microbatches + m];
  };
  for (std::uint32_t rank = 0; rank < used; ++rank) {
    for (std::uint32_t pass = 0; pass < 2; ++pass) {
      for (std::uint32_t m = 0; m < microbatches; ++m)
        at(rank, pass, m) = made.task(rank, made.work);
    }
  }
  const auto message_of = [&](std::uint32_t rank, std::uint32_t pass, std::uint32_t m) {
    return (rank * 2 + pass) * microbatches + m;  // sent by this rank
  };
  for (std::uint32_t rank = 0; rank < used; ++rank) {
    for (std::uint32_t pass = 0; pass < 2; ++pass) {
      for (std::uint32_t m = 0; m < microbatches; ++m) {
        const std::uint32_t to = pass == 0 ? rank + 1 : rank - 1;
        made.message(rank, std::min(to, ranks - 1), 4_MiB);
      }
    }
  }
  for (std::uint32_t rank = 0; rank < used; ++rank) {
    const std::uint32_t stage = rank % stages;
    for (std::uint32_t pass = 0; pass < 2; ++pass) {
      const bool first = pass == 0 ? stage == 0 : stage + 1 == stages;
      const bool last = pass == 0 ? stage + 1 == stages : stage == 0;
      for (std::uint32_t m = 0; m < microbatches; ++m) {
        const TaskId task = at(rank, pass, m);
        if (!first) {
          const std::uint32_t from = pass == 0 ? rank - 1 : rank + 1;
          made.call(rank, HostCall::receive(message_of(from, pass, m)));
          made.builder.add_edge(at(from, pass, m), task);
        }
        if (pass == 1) made.builder.add_edge(at(rank, 0, m), task);
        made.call(rank, HostCall::launch(StreamId{rank}, task));
        if (last) continue;
        made.call(rank, HostCall::synchronize_stream(StreamId{rank}));
        made.call(rank, HostCall::send(message_of(rank, pass, m)));
      }
    }
  }
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const CollectiveId sum =
        made.builder.add_collective({.op = CollectiveOp::all_reduce, .bytes = 64_MiB});
    for (std::uint32_t group = 0; group < groups; ++group) {
      const std::uint32_t rank = group * stages + stage;
      const TaskId part = made.task(rank, made.reduce);
      made.builder.joins(part, sum);
      for (std::uint32_t m = 0; m < microbatches; ++m) {
        made.builder.add_edge(at(rank, 1, m), part);
      }
      made.call(rank, HostCall::launch(StreamId{rank}, part));
    }
  }
  return made;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void measure(const std::string& name, Workload made, const Platform& platform) {
  auto seconds = [last = processor_seconds()]() mutable {
    const double now = processor_seconds();
    return now - std::exchange(last, now);
  };
  const TaskGraph graph = std::move(made.builder).build();
  const double build = seconds();
  const CostTable costs{graph, platform, ByDuration{}};
  const Problem problem{graph, platform, costs};
  const double cost = seconds();
  const auto findings = check(graph, platform, made.plan);
  if (!findings.empty()) throw std::runtime_error(name + ": " + findings.front().message);
  const double checked = seconds();
  Simulator simulator;
  const Trace trace = simulator.run(problem, made.plan);
  const double first = seconds();
  if (simulator.run(problem, made.plan) != trace) throw std::runtime_error(name + ": not the same");
  const double second = seconds();
  Summarizer summarizer;
  const Summary summary =
      summarizer.summarize(problem, made.plan, trace, graph_lower_bounds(problem));
  const double summarized = seconds();
  fmt::print(
      "{:<24} {:>8} tasks {:>8} calls {:>7} messages | graph {:.3f} costs {:.3f} check {:.3f} "
      "run {:.3f} again {:.3f} summary {:.3f} s | simulator {:.0f} MiB, peak {:.0f} MiB | "
      "makespan {:.3f} ms\n",
      name,
      graph.task_count(),
      made.plan.call_count(),
      made.plan.messages.size(),
      build,
      cost,
      checked,
      first,
      second,
      summarized,
      static_cast<double>(simulator.memory_bytes()) / (1 << 20),
      peak_mib(),
      to_us(summary.makespan) * 1e-3);
}

}  // namespace

int run(int argc, char** argv) {
  const std::string flag = argc > 1 ? argv[1] : "--ranks=10000";
  if (argc > 2 || !flag.starts_with("--ranks=")) {
    fmt::print(stderr, "usage: ranks_bench [--ranks=N]\n");
    return 2;
  }
  const auto ranks = static_cast<std::uint32_t>(std::stoul(flag.substr(8)));
  for (const SharingModel sharing : {SharingModel::exclusive, SharingModel::fluid}) {
    const Platform platform = cluster(ranks, sharing);
    const std::string word{to_string(sharing)};
    for (const std::uint32_t count : {ranks / 10, ranks}) {
      Platform part = platform;
      part.ranks = count;
      measure(fmt::format("neighbours {} {}", count, word), neighbours(count), part);
      measure(fmt::format("pipeline {} {}", count, word), pipeline(count, 4, 4), part);
    }
  }
  return 0;
}

}  // namespace schedlab::bench
