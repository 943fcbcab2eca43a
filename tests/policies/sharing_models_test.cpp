// SPDX-License-Identifier: Apache-2.0
// How far the fast model of sharing (fluid) is from the reference (blocks) where it is used: the
// backward pass of an LSTM, urgent cells beside long weight kernels.
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "workloads/lstm.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

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
constexpr LstmSpec shape{
    .layers = 4, .steps = 10, .batch = 64, .hidden = 1024, .pass = LstmPass::backward};

/// Critical tasks last `cell`, weight kernels `block` a wave and step; one block to a unit at full
/// rate, as many as fit of the usual shapes of matrix kernels.
class CellsAndWeights final : public CostModel {
 public:
  CellsAndWeights(Duration cell, Duration block) : cell_(cell), block_(block) {}
  [[nodiscard]] std::string_view name() const override { return "cells_and_weights"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    Estimate e;
    if (operation.task_class != TaskClass::weight_gradient) {
      e.duration = cell_;
      e.blocks = cell_blocks;
      e.block = {.threads = 64, .registers = 128, .shared_memory = 8192};
    } else {
      // A product over all steps has the same blocks, each so many times as long.
      constexpr double one_step = 2.0 * shape.batch * shape.hidden * 4 * shape.hidden;
      const auto steps =
          static_cast<std::int64_t>(std::lround(operation.flops().count() / one_step));
      e.duration = block_ * steps * ((weight_blocks + units - 1) / units);
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
  device.sm_limits = test::volta_limits();
  return platform;
}

struct Candidate {
  std::string name;
  std::map<std::string, OptionValue> options;
  Granularity granularity = Granularity::fine;
  bool published = true;  ///< S1 compares it with critical-first
};

double makespan_us(const TaskGraph& graph,
                   const Candidate& candidate,
                   const CostModel& model,
                   SharingModel sharing) {
  const Platform platform = volta(sharing);
  const CostTable costs{graph, platform, model};
  const Problem problem{graph, platform, costs};
  const auto made = make_policy(candidate.name, candidate.options);
  if (const auto online = made->online(problem)) {
    return to_us(Simulator{}.record(problem, *online).trace.makespan());
  }
  return to_us(simulate(problem, made->plan(problem)).makespan());
}

/// All run the same kernels; cudnn_like sums the weight gradients of all steps in one.
const std::vector<Candidate> candidates{
    {"critical_first", {}},
    {"cudnn_like", {{"separate_kernels", true}}, Granularity::kernel_and_weight},
    {"eager_fifo", {}, Granularity::fine, false},
    {"heft", {}, Granularity::fine, false},
    {"single_stream", {}}};

/// Of each candidate, in microseconds.
struct Makespans {
  std::vector<double> fluid;
  std::vector<double> blocks;
};

Makespans makespans_under(const CostModel& model) {
  Makespans found;
  for (const Candidate& candidate : candidates) {
    LstmSpec spec = shape;
    spec.granularity = candidate.granularity;
    const TaskGraph graph = lstm(spec);
    found.fluid.push_back(makespan_us(graph, candidate, model, SharingModel::fluid));
    found.blocks.push_back(makespan_us(graph, candidate, model, SharingModel::blocks));
  }
  return found;
}

/// How much longer the slower of two takes.
double slower_by(double a, double b) {
  return std::max(a, b) / std::min(a, b) - 1;
}

/// Policies that are further apart than this in one model stand in the same order in the other.
constexpr double clear_in_fluid = 0.05;
constexpr double clear_in_blocks = 0.09;

}  // namespace

TEST_CASE("fluid is near blocks for LSTM backward, and orders the published policies alike") {
  std::vector<double> apart;
  std::string table =
      "\ncell us, block us, policy: fluid us, blocks us, fluid over blocks less 1 in %\n";
  int swapped = 0;
  int told_by_fluid = 0;
  int told_by_blocks = 0;
  for (const int cell_us : {5, 15, 50}) {
    for (const int block_us : {5, 20, 50, 200}) {
      const auto [fluid, blocks] =
          makespans_under(CellsAndWeights{from_us(cell_us), from_us(block_us)});
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double off = fluid[i] / blocks[i] - 1;
        apart.push_back(std::abs(off));
        table += fmt::format("{:3} {:4} {:15} {:8.0f} {:8.0f} {:6.1f}\n",
                             cell_us,
                             block_us,
                             candidates[i].name,
                             fluid[i],
                             blocks[i],
                             100 * off);
      }
      for (std::size_t a = 0; a < candidates.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const double f = fluid[a] / fluid[b] - 1;
          const double k = blocks[a] / blocks[b] - 1;
          const double apart_in_fluid = slower_by(fluid[a], fluid[b]);
          const double apart_in_blocks = slower_by(blocks[a], blocks[b]);
          told_by_fluid += apart_in_fluid > clear_in_fluid ? 1 : 0;
          told_by_blocks += apart_in_blocks > clear_in_blocks ? 1 : 0;
          if (f * k >= 0) continue;
          CHECK_FALSE((candidates[a].published && candidates[b].published));
          CHECK(apart_in_fluid <= clear_in_fluid);
          CHECK(apart_in_blocks <= clear_in_blocks);
          // Where critical kernels are shorter than the blocks of others, only near ties swap.
          if (cell_us < block_us) CHECK(apart_in_blocks <= 0.01);
          swapped += std::abs(f - k) > 0.01 ? 1 : 0;  // nearer than that they have no order
          table += fmt::format("    order of {} and {}: {:.1f} % in fluid, {:.1f} % in blocks\n",
                               candidates[a].name,
                               candidates[b].name,
                               100 * f,
                               100 * k);
        }
      }
    }
  }
  std::sort(apart.begin(), apart.end());
  const double median = apart[apart.size() / 2];
  table += fmt::format("median {:.2f} %, worst {:.1f} %; {} pairs clear in fluid, {} in blocks",
                       100 * median,
                       100 * apart.back(),
                       told_by_fluid,
                       told_by_blocks);
  MESSAGE(table);
  CHECK(median <= 0.05);
  // Of 120 pairs. All involve list schedulers, which fluid makes faster than critical_first by 2 to
  // 5 % and blocks slower by up to 9 %: docs/sharing_models.md says why.
  CHECK(swapped <= 11);
  // The two bounds must mean something: most pairs are further apart.
  CHECK(told_by_fluid >= 80);
  CHECK(told_by_blocks >= 60);
}

}  // namespace schedlab
