// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/machine/cost_model.hpp"
#include "tests/hw_models/synthetic_profile.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace schedlab::testing {

/// Kernels take true_seconds(); what only its duration is known of takes that, on one unit.
class TrueCosts final : public CostModel {
 public:
  explicit TrueCosts(std::uint32_t units) : units_(units) {}
  [[nodiscard]] std::string_view name() const override { return "true"; }
  [[nodiscard]] Estimate estimate(const Operation& operation,
                                  const Device& /*device*/) const override {
    Estimate result{.duration = operation.fixed_duration, .share = 1.0 / units_, .blocks = 1};
    double seconds = 0;
    for (const Kernel& kernel : operation.kernels) {
      seconds += true_seconds(kernel, units_);
      result.blocks = std::max(1U, kernel.grid.blocks);
      result.share = static_cast<double>(std::min(result.blocks, units_)) / units_;
    }
    if (!operation.kernels.empty()) result.duration = round_up_seconds(seconds);
    return result;
  }

 private:
  std::uint32_t units_;
};

/// A computer whose times are known: the simulator with true_seconds(), and calls and latencies of
/// round numbers. Noise: relative, on each task of each run.
class SimulatedBench final : public CalibrationBench {
 public:
  SimulatedBench(std::uint32_t workers, double noise) : workers_(workers), noise_(noise) {}

  [[nodiscard]] std::uint32_t workers() const override { return workers_; }
  [[nodiscard]] BenchDevice device() const override {
    return {.cpu = "simulated CPU",
            .compiler = "none",
            .library = "none",
            .date = "2026-11-21",
            .last_level_cache = last_level_cache,
            .unit_cache = unit_cache};
  }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  Bytes last_level_cache{};  ///< as the system says; nothing that runs depends on it
  Bytes unit_cache{};        ///< likewise
  /// Called before each run.
  std::function<void()> before_run;

  void run(const BenchCase& what, const std::function<bool(const Execution&)>& again) override {
    using namespace schedlab::literals;
    Platform platform;
    platform.sharing = SharingModel::fluid;
    Device& device = platform.devices[DeviceId{0}];
    const UnitClassId cores = device.unit_classes.push_back({.name = "core", .count = workers_});
    device.unit_class_of.fill(cores);
    device.priority_levels = 8;
    device.stream_gap = 300ns;
    device.event_latency = 700ns;
    if (!what.preloaded) {
      device.launch_latency = 400ns;
      platform.hosts[HostId{0}].costs = {.launch = 500ns,
                                         .record = 100ns,
                                         .wait = 200ns,
                                         .query = 50ns,
                                         .synchronize = 150ns,
                                         .wake_up = 2us};
    }
    CostTable costs{what.graph, platform, TrueCosts{workers_}};
    const IdVector<TaskId, Duration> exact = costs.durations();
    Execution execution;
    do {
      if (before_run) before_run();
      ++runs_;
      IdVector<TaskId, Duration> noisy = exact;
      for (Duration& duration : noisy) {
        const double factor = std::max(0.1, 1 + noise_ * normal(rng_));
        duration = round_up_seconds(to_seconds(duration) * factor);
      }
      costs.set_task_durations(std::move(noisy));
      execution.trace =
          Simulator{}.run({what.graph, platform, costs}, what.plan, {.record_hosts = true});
      execution.blocks.clear();
      for (const TaskSpan& span : execution.trace.tasks) {
        const std::uint32_t blocks = costs.entry(span.task).estimate.blocks;
        // Where the simulator has torn a kernel's blocks apart: the first and the last.
        const Duration one = costs.duration(span.task);
        for (std::uint32_t block = 0; block < std::max(1U, blocks); ++block) {
          const Time started = block == 0 ? span.started : span.ended - one;
          execution.blocks.push_back({.task = span.task,
                                      .block = block,
                                      .worker = block % workers_,
                                      .started = started,
                                      .ended = started + one});
        }
      }
      std::stable_sort(
          execution.blocks.begin(),
          execution.blocks.end(),
          [](const BlockSpan& a, const BlockSpan& b) { return a.started < b.started; });
    } while (again(execution));
  }

 private:
  std::uint32_t workers_;
  double noise_;
  Rng rng_{3};
  std::size_t runs_ = 0;
};

}  // namespace schedlab::testing
