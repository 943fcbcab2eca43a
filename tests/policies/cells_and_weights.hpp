// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/machine/variability.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace schedlab::test {

/// The backward pass of an LSTM on a Volta-like device whose units are all that counts: its host is
/// free, and memory bandwidth plenty. Critical cells last `cell_us`, the blocks of the weight
/// gradients beside them `block_us` a wave and step.
struct CellsAndWeights {
  int cell_us = 0;
  int block_us = 0;

  static constexpr std::uint32_t units = 80;
  static constexpr LstmSpec shape{
      .layers = 4, .steps = 10, .batch = 64, .hidden = 1024, .pass = LstmPass::backward};

  /// Shorter to longer than each other.
  static std::vector<CellsAndWeights> all() {
    std::vector<CellsAndWeights> scenes;
    for (const int cell_us : {5, 15, 50}) {
      for (const int block_us : {5, 20, 50, 200}) scenes.push_back({cell_us, block_us});
    }
    return scenes;
  }

  static Platform platform(SharingModel sharing) {
    Platform platform = ideal_platform(6);
    platform.sharing = sharing;
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", units}));
    device.connections = 32;
    device.resident_kernels = 128;
    device.sm_limits = volta_limits();
    return platform;
  }
};

/// One block to a unit at full rate, as many as fit of the usual shapes of matrix kernels.
class CellsAndWeightsCosts final : public CostModel {
 public:
  explicit CellsAndWeightsCosts(CellsAndWeights scene) : scene_(scene) {}
  [[nodiscard]] std::string_view name() const override { return "cells_and_weights"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    constexpr std::uint32_t units = CellsAndWeights::units;
    constexpr LstmSpec shape = CellsAndWeights::shape;
    constexpr std::uint32_t weight_blocks = 256;  // of 128 x 128 results: gradients of 1024 x 4096
    constexpr std::uint32_t cell_blocks = 64;     // of 64 x 64 results: 64 x 4096
    Estimate e;
    if (operation.task_class != TaskClass::weight_gradient) {
      e.duration = from_us(scene_.cell_us);
      e.blocks = cell_blocks;
      e.block = {.threads = 64, .registers = 128, .shared_memory = 8192};
    } else {
      // A product over all steps has the same blocks, each so many times as long.
      constexpr double one_step = 2.0 * shape.batch * shape.hidden * 4 * shape.hidden;
      const auto steps =
          static_cast<std::int64_t>(std::lround(operation.flops().count() / one_step));
      e.duration = from_us(scene_.block_us) * steps * ((weight_blocks + units - 1) / units);
      e.blocks = weight_blocks;
      e.block = {.threads = 256, .registers = 128, .shared_memory = 16384};
    }
    e.share = std::min(1.0, static_cast<double>(e.blocks) / units);
    return e;
  }

 private:
  CellsAndWeights scene_;
};

struct Candidate {
  std::string name;
  std::map<std::string, OptionValue> options;
  Granularity granularity = Granularity::fine;
  bool published = true;  ///< S1 compares it with critical-first
};

/// All run the same kernels; cudnn_like sums the weight gradients of all steps in one.
inline const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all{
      {"critical_first", {}},
      {"cudnn_like",
       {{"layers_in_flight", std::int64_t{2}}, {"streams_per_layer", std::int64_t{1}}},
       Granularity::kernel_and_weight},
      {"eager_fifo", {}, Granularity::fine, false},
      {"heft_no_insertion", {}, Granularity::fine, false},
      {"single_stream", {}}};
  return all;
}

/// A candidate in a scene under one model of sharing, as often as asked.
class CandidateRuns {
 public:
  CandidateRuns(const CellsAndWeights& scene, const Candidate& candidate, SharingModel sharing)
      : graph_(lstm(with(candidate.granularity))),
        platform_(CellsAndWeights::platform(sharing)),
        costs_(graph_, platform_, CellsAndWeightsCosts{scene}),
        policy_(make_policy(candidate.name, candidate.options)) {}

  /// Every task as long as estimated.
  [[nodiscard]] double exact_us() { return makespan_us(costs_); }

  /// In one sample every task of a graph is equally long whatever the policy and the model of
  /// sharing. Policies decide by the durations without noise, as in a sweep.
  [[nodiscard]] double noisy_us(const Variability& variability, std::uint64_t sample) {
    vary_costs(variability, sample, graph_, platform_, costs_, varied_);
    return makespan_us(varied_);
  }

 private:
  static LstmSpec with(Granularity granularity) {
    LstmSpec spec = CellsAndWeights::shape;
    spec.granularity = granularity;
    return spec;
  }
  [[nodiscard]] double makespan_us(const CostTable& costs) {
    const Problem expected{graph_, platform_, costs_};
    const Problem real{graph_, platform_, costs};
    if (const auto online = policy_->online(expected)) {
      return to_us(simulator_.record(real, *online).trace.makespan());
    }
    if (!plan_) plan_ = policy_->plan(expected);
    return to_us(simulator_.run(real, *plan_).makespan());
  }

  TaskGraph graph_;
  Platform platform_;
  CostTable costs_;
  CostTable varied_;
  std::unique_ptr<Policy> policy_;
  std::optional<Plan> plan_;
  Simulator simulator_;
};

}  // namespace schedlab::test
