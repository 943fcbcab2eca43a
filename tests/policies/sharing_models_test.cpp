// SPDX-License-Identifier: Apache-2.0
// How far the fast model of sharing (fluid) is from the reference (blocks) where it is used: the
// backward pass of an LSTM, urgent cells beside long weight kernels.
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "workloads/lstm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace schedlab {
namespace {

constexpr std::uint32_t units = 80;
constexpr std::uint32_t weight_blocks = 256;  // of 128 x 128 results: gradients of 1024 x 4096
constexpr std::uint32_t cell_blocks = 64;     // of 64 x 64 results: 64 x 4096

/// Critical tasks last `cell`, weight kernels `block` a wave; one block to a unit at full rate, as
/// many as fit of the usual shapes of matrix kernels.
class CellsAndWeights final : public CostModel {
 public:
  CellsAndWeights(Duration cell, Duration block) : cell_(cell), block_(block) {}
  [[nodiscard]] std::string_view name() const override { return "cells_and_weights"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    Estimate e;
    if (is_critical(operation.task_class)) {
      e.duration = cell_;
      e.blocks = cell_blocks;
      e.block = {.threads = 64, .registers = 128, .shared_memory = 8192};
    } else {
      e.duration = block_ * ((weight_blocks + units - 1) / units);
      e.blocks = weight_blocks;
      e.block = {.threads = 256, .registers = 128, .shared_memory = 16384};
    }
    e.share = std::min(1.0, static_cast<double>(e.blocks) / units);
    return e;
  }

 private:
  Duration cell_;
  Duration block_;
};

Platform volta(SharingModel sharing) {
  Platform platform = ideal_platform(6);
  platform.sharing = sharing;
  Device& device = platform.devices[DeviceId{0}];
  device.unit_class_of.fill(device.unit_classes.push_back({"sm", units}));
  device.connections = 32;
  device.resident_kernels = 128;
  device.sm_limits = {.threads = 2048,
                      .blocks = 32,
                      .registers = 65536,
                      .registers_per_thread = 255,
                      .register_unit = 256,
                      .sub_partitions = 4,
                      .shared_memory = 96 * 1024,
                      .shared_memory_per_block = 96 * 1024,
                      .shared_memory_unit = 256};
  return platform;
}

double makespan_us(const TaskGraph& graph,
                   const std::string& policy,
                   const CostModel& model,
                   SharingModel sharing) {
  const Platform platform = volta(sharing);
  const CostTable costs{graph, platform, model};
  const Problem problem{graph, platform, costs};
  const auto made = make_policy(policy);
  if (const auto online = made->online(problem)) {
    return to_us(Simulator{}.record(problem, *online).trace.makespan());
  }
  return to_us(simulate(problem, made->plan(problem)).makespan());
}

const std::vector<std::string> policy_names{
    "critical_first", "cudnn_like", "diagonal", "single_stream"};

}  // namespace

TEST_CASE("fluid is near blocks for LSTM backward, and orders the policies alike") {
  std::vector<double> apart;
  int swapped = 0;
  for (const int cell_us : {5, 15, 50}) {
    for (const int block_us : {5, 20, 50, 200}) {
      const CellsAndWeights model{from_us(cell_us), from_us(block_us)};
      std::map<std::string, double> fluid;
      std::map<std::string, double> blocks;
      for (const std::string& name : policy_names) {
        LstmSpec spec{.layers = 4, .steps = 10, .batch = 64, .hidden = 1024};
        spec.granularity = make_policy(name)->granularity();
        const TaskGraph graph = lstm(spec);
        fluid[name] = makespan_us(graph, name, model, SharingModel::fluid);
        blocks[name] = makespan_us(graph, name, model, SharingModel::blocks);
        apart.push_back(std::abs(fluid[name] / blocks[name] - 1));
        MESSAGE(cell_us << " " << block_us << " " << name << " fluid " << fluid[name] << " blocks "
                        << blocks[name] << " " << 100 * (fluid[name] / blocks[name] - 1) << " %");
      }
      for (const std::string& a : policy_names) {
        for (const std::string& b : policy_names) {
          if (a < b && (fluid[a] < fluid[b]) != (blocks[a] < blocks[b])) {
            ++swapped;
            MESSAGE("swapped " << a << " " << b);
          }
        }
      }
    }
  }
  std::sort(apart.begin(), apart.end());
  MESSAGE("median " << apart[apart.size() / 2] << " worst " << apart.back());
  CHECK(apart[apart.size() / 2] <= 0.05);
  CHECK(swapped == 0);
}

}  // namespace schedlab
