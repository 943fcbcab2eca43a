// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/simulator.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::test {

/// Estimates by operation name.
class GivenEstimates final : public CostModel {
 public:
  explicit GivenEstimates(std::map<std::string, Estimate> estimates)
      : estimates_(std::move(estimates)) {}
  [[nodiscard]] std::string_view name() const override { return "given"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    return estimates_.at(operation.name);
  }

 private:
  std::map<std::string, Estimate> estimates_;
};

/// A device of `units` units of one class, three priority levels and a free host; kernels are
/// launched one after another, each on a stream of its own.
struct SharingScene {
  Platform platform = ideal_platform(3);
  TaskGraphBuilder builder;
  Plan plan;
  std::map<std::string, Estimate> estimates;
  std::vector<BlockPlacement> placements;

  SharingScene(SharingModel sharing, std::uint32_t units) {
    platform.sharing = sharing;
    device().unit_class_of.fill(device().unit_classes.push_back({"sm", units}));
  }
  [[nodiscard]] Device& device() { return platform.devices[DeviceId{0}]; }
  /// Names differ. `at_us` must not fall from kernel to kernel.
  void kernel(const std::string& name,
              Estimate estimate,
              int priority = 0,
              std::uint32_t at_us = 0) {
    estimates[name] = estimate;
    const StreamId stream = plan.streams.push_back({.device = DeviceId{0}, .priority = priority});
    auto& calls = plan.hosts[HostId{0}].calls;
    if (at_us > clock_) calls.push_back(HostCall::sleep_ns((at_us - clock_) * 1000));
    clock_ = std::max(clock_, at_us);
    calls.push_back(
        HostCall::launch(stream, builder.add_task(builder.add_operation({.name = name}))));
  }
  /// Once: takes the graph out of the builder.
  [[nodiscard]] Trace run() {
    const TaskGraph graph = std::move(builder).build();
    const CostTable costs{graph, platform, GivenEstimates{estimates}};
    return simulate({graph, platform, costs}, plan, {.placements = &placements});
  }
  /// Units on which blocks of the task were placed, a block an entry, in the order of placement.
  [[nodiscard]] std::vector<std::uint32_t> units_of(std::uint32_t task) const {
    std::vector<std::uint32_t> units;
    for (const BlockPlacement& p : placements) {
      if (p.task == TaskId{task} && p.blocks > 0) {
        units.insert(units.end(), static_cast<std::size_t>(p.blocks), p.unit);
      }
    }
    return units;
  }

 private:
  std::uint32_t clock_ = 0;
};

/// Blocks of an unknown shape, `per_unit` to a unit.
[[nodiscard]] inline Estimate grid(Duration duration,
                                   std::uint32_t blocks,
                                   std::uint32_t per_unit = 1) {
  Estimate e;
  e.duration = duration;
  e.blocks = blocks;
  e.blocks_per_unit = per_unit;
  return e;
}

/// Blocks of a known shape that only pass time, as in published experiments with spinning kernels.
[[nodiscard]] inline Estimate spinning(Duration duration, std::uint32_t blocks, BlockShape shape) {
  Estimate e = grid(duration, blocks);
  e.block = shape;
  e.compute_share = 0.0F;
  return e;
}

/// Limits of one multiprocessor of compute capability 7.0.
[[nodiscard]] inline SmLimits volta_limits() {
  return {.threads = 2048,
          .blocks = 32,
          .registers = 65536,
          .registers_per_thread = 255,
          .register_unit = 256,
          .sub_partitions = 4,
          .shared_memory = 96 * 1024,
          .shared_memory_per_block = 96 * 1024,
          .shared_memory_unit = 256,
          .reserved_shared_memory = 0};
}

}  // namespace schedlab::test
