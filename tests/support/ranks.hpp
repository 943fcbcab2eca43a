// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/simulator.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// Tasks with durations and shares, placed by hand on ranks with a few streams each.
class RankScene {
 public:
  static constexpr std::uint32_t streams_per_rank = 3;

  /// `units` of one class per device; 0 = unlimited.
  explicit RankScene(std::uint32_t ranks,
                     SharingModel sharing = SharingModel::exclusive,
                     std::uint32_t units = 0) {
    platform.name = "ranks";
    platform.ranks = ranks;
    platform.sharing = sharing;
    Device& device = platform.devices[DeviceId{0}];
    device.name = "device";
    device.unit_classes.push_back({.name = "unit", .count = units});
    device.unit_class_of.fill(UnitClassId{0});
    plan.policy = "by hand";
    plan.hosts = IdVector<HostId, HostProgram>(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      plan.hosts[HostId{rank}].name = "rank " + std::to_string(rank);
      for (std::uint32_t i = 0; i < streams_per_rank; ++i) {
        plan.streams.push_back({.device = DeviceId{rank},
                                .priority = 0,
                                .name = std::to_string(rank) + "." + std::to_string(i)});
      }
    }
  }

  TaskId task(std::uint32_t rank, Duration duration, double share = 1.0) {
    const TaskId id = builder.add_task(operation(TaskKind::fixed, duration, share));
    builder.set_rank(id, rank);
    return id;
  }
  /// One part on each rank; `links`: what it takes of them alone.
  std::vector<TaskId> collective(Duration duration,
                                 double share = 1.0,
                                 std::vector<LinkShare> links = {}) {
    std::vector<TaskId> parts;
    const CollectiveId id =
        builder.add_collective({.op = CollectiveOp::all_reduce, .bytes = 1_MiB});
    const OperationId reduce = operation(TaskKind::collective, duration, share);
    links_["operation " + std::to_string(shares_.size() - 1)] = std::move(links);
    for (std::uint32_t rank = 0; rank < platform.ranks; ++rank) {
      const TaskId part = builder.add_task(
          reduce, {}, "reduce_" + std::to_string(id.value()) + "@" + std::to_string(rank));
      builder.set_rank(part, rank);
      builder.joins(part, id);
      parts.push_back(part);
    }
    return parts;
  }
  [[nodiscard]] static StreamId stream(std::uint32_t rank, std::uint32_t number) {
    return StreamId{rank * streams_per_rank + number};
  }
  void call(std::uint32_t rank, HostCall call) { plan.hosts[HostId{rank}].calls.push_back(call); }
  void launch(std::uint32_t rank, std::uint32_t stream_number, TaskId task) {
    call(rank, HostCall::launch(stream(rank, stream_number), task));
  }
  std::uint32_t message(std::uint32_t from, std::uint32_t to, Bytes bytes) {
    plan.messages.push_back({.from = HostId{from}, .to = HostId{to}, .bytes = bytes});
    return static_cast<std::uint32_t>(plan.messages.size() - 1);
  }

  /// Builds the graph; nothing can be added afterwards.
  const TaskGraph& graph() {
    if (!built_) {
      graph_ = std::move(builder).build();
      built_ = true;
    }
    return graph_;
  }
  [[nodiscard]] CostTable costs() {
    return CostTable{
        graph(), platform, Model{shares_, links_, full_bandwidth, collective_bandwidth}};
  }
  [[nodiscard]] Trace run(const SimulationOptions& options = {}) {
    const CostTable made = costs();
    return simulate({graph(), platform, made}, plan, options);
  }
  [[nodiscard]] std::vector<Finding> check() { return schedlab::check(graph(), platform, plan); }
  [[nodiscard]] static const TaskSpan& span(const Trace& trace, TaskId task) {
    return *std::find_if(
        trace.tasks.begin(), trace.tasks.end(), [&](const TaskSpan& s) { return s.task == task; });
  }

  Platform platform;
  Plan plan;
  TaskGraphBuilder builder;
  Bandwidth full_bandwidth{};        ///< of the memory, wanted by a task of share 1
  Bandwidth collective_bandwidth{};  ///< likewise by a collective's part; 0: as by a task

 private:
  class Model final : public CostModel {
   public:
    Model(const std::map<std::string, double>& shares,
          const std::map<std::string, std::vector<LinkShare>>& links,
          Bandwidth full,
          Bandwidth collective)
        : shares_(shares), links_(links), full_bandwidth_(full), collective_(collective) {}
    [[nodiscard]] std::string_view name() const override { return "by hand"; }
    [[nodiscard]] Estimate estimate(const Operation& operation,
                                    const Device& /*device*/) const override {
      const double share = shares_.at(operation.name);
      return {.duration = operation.fixed_duration,
              .share = share,
              .bandwidth = share * full_bandwidth_};
    }
    [[nodiscard]] Estimate estimate_collective(const Operation& operation,
                                               const CollectiveSpec& /*spec*/,
                                               std::span<const std::uint32_t> /*ranks*/,
                                               const Platform& /*platform*/,
                                               DeviceId /*kind*/) const override {
      Estimate result = estimate(operation, Device{});
      if (collective_ > Bandwidth{}) result.bandwidth = result.share * collective_;
      return result;
    }
    [[nodiscard]] std::vector<LinkShare> collective_links(
        const Operation& operation,
        const CollectiveSpec& /*spec*/,
        std::span<const std::uint32_t> /*ranks*/,
        const Platform& /*platform*/) const override {
      return links_.at(operation.name);
    }

   private:
    const std::map<std::string, double>& shares_;
    const std::map<std::string, std::vector<LinkShare>>& links_;
    Bandwidth full_bandwidth_;
    Bandwidth collective_;
  };

  OperationId operation(TaskKind kind, Duration duration, double share) {
    const std::string name = "operation " + std::to_string(shares_.size());
    shares_[name] = share;
    return builder.add_operation({.name = name, .kind = kind, .fixed_duration = duration});
  }

  std::map<std::string, double> shares_;
  std::map<std::string, std::vector<LinkShare>> links_;
  TaskGraph graph_;
  bool built_ = false;
};

}  // namespace schedlab::testing
