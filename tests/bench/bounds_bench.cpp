// SPDX-License-Identifier: Apache-2.0
// What the ladder of lower bounds costs on one core: a grid like that of a recurrent net's backward
// pass, on whole units and on shared ones. Every witness is checked before anything is timed.
//   bounds_bench [--tasks=N] [--runs=N]
#include "sim/bounds/ladder.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/clock.hpp"
#include "tests/support/scenes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace schedlab::bench {
namespace {

/// Blocks and bytes of two sorts of kernels.
class GridCosts final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "grid"; }
  [[nodiscard]] Estimate estimate(const Operation&, const Device&) const override {
    Estimate e;
    e.duration = 20us;
    e.share = 0.1;
    e.bandwidth = Bandwidth{100e9};
    e.blocks = 16;
    e.compute_share = 0.8F;
    return e;
  }
};

struct Grid {
  TaskGraph graph;
  Platform platform = ideal_platform();
  CostTable costs;

  Grid(std::uint32_t tasks, SharingModel sharing)
      : graph(testing::gradient_grid(layers, std::max(1U, tasks / layers))) {
    platform.sharing = sharing;
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", 21}));
    device.rates.memory = 900_GB_per_s;
    device.stream_gap = 1us;
    device.event_latency = 1us;
    platform.hosts[HostId{0}].costs.launch = 3us;
    costs = CostTable{graph, platform, GridCosts{}};
  }
  [[nodiscard]] BoundProblem problem() const { return {.problem = {graph, platform, costs}}; }

 private:
  static constexpr std::uint32_t layers = 10;
};

void measure(SharingModel sharing, std::uint32_t tasks, int runs) {
  const Grid grid{tasks, sharing};
  const BoundProblem on = grid.problem();
  const auto ladder = bound_ladder(on);
  for (const BoundWitness& witness : ladder) {
    if (const auto wrong = refuse_witness(on, witness)) throw std::runtime_error(*wrong);
  }
  double seconds = std::numeric_limits<double>::max();
  for (int run = 0; run < runs; ++run) {
    const double before = processor_seconds();
    if (largest(bound_ladder(on)).bound != largest(ladder).bound) {
      throw std::runtime_error("the bound differs from run to run");
    }
    seconds = std::min(seconds, processor_seconds() - before);
  }
  fmt::print("{:>10} {:>9} tasks  {:>12.1f} us by {:<12}  {}\n",
             to_string(sharing),
             grid.graph.task_count(),
             to_us(largest(ladder).bound),
             to_string(largest(ladder).kind),
             runs == 0 ? "checked" : fmt::format("{:.3f} s", seconds));
}

}  // namespace

int run(int argc, char** argv) {
  std::uint32_t tasks = 0;
  int runs = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&](std::string_view name) { return std::string{flag.substr(name.size())}; };
    if (flag.starts_with("--tasks=")) {
      tasks = static_cast<std::uint32_t>(std::stoul(value("--tasks=")));
    } else if (flag.starts_with("--runs=")) {
      runs = std::stoi(value("--runs="));
    } else {
      throw std::invalid_argument(fmt::format("unknown flag {}: --tasks=N, --runs=N", flag));
    }
  }
  for (const std::uint32_t count : {100'000U, 1'000'000U}) {
    if (tasks != 0 && count != 100'000U) continue;
    for (const SharingModel sharing : {SharingModel::exclusive, SharingModel::fluid}) {
      measure(sharing, tasks != 0 ? tasks : count, runs);
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace schedlab::bench
