// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/pool_bounds.hpp"

#include "sim/base/rng.hpp"
#include "sim/bounds/ladder.hpp"
#include "sim/bounds/task_kinds.hpp"
#include "tests/sim/sharing_scene.hpp"
#include "tests/support/random_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using bounds::Use;

namespace {

/// By its definition.
std::int64_t largest_subset(const std::vector<Use>& uses, std::int64_t capacity) {
  __extension__ using Wide = __int128;
  std::int64_t best = 0;
  for (const Use& by_head : uses) {
    for (const Use& by_tail : uses) {
      Wide amount = 0;
      for (const Use& use : uses) {
        if (use.head >= by_head.head && use.tail >= by_tail.tail) amount += use.amount;
      }
      if (amount == 0) continue;
      const auto work = static_cast<std::int64_t>((amount + capacity - 1) / capacity);
      best = std::max(best, by_head.head + work + by_tail.tail);
    }
  }
  return best;
}

/// 60 tasks of 6 operations on a device of 5 units.
struct OperationsScene {
  Platform platform;
  TaskGraph graph;
  CostTable costs;

  OperationsScene(std::uint64_t seed, SharingModel sharing)
      : platform(test::random_platform(seed)) {
    Rng rng{seed};
    platform.sharing = sharing;
    Device& device = platform.devices[DeviceId{0}];
    device.unit_class_of.fill(device.unit_classes.push_back({"sm", 5}));
    std::map<std::string, Estimate> estimates;
    TaskGraphBuilder builder;
    for (int i = 0; i < 6; ++i) {
      const std::string name = "k" + std::to_string(i);
      estimates[name] = test::grid(Duration{static_cast<std::int64_t>(1 + rng.below(1'000'000))},
                                   static_cast<std::uint32_t>(1 + rng.below(40)),
                                   static_cast<std::uint32_t>(1 + rng.below(4)));
      estimates[name].share = 0.05 + 0.95 * rng.uniform();
      builder.add_operation({.name = name, .kind = TaskKind::gemm});
    }
    for (std::uint32_t task = 0; task < 60; ++task) {
      builder.add_task(OperationId{static_cast<std::uint32_t>(rng.below(6))});
      if (task == 0 || rng.below(3) == 0) continue;
      builder.add_edge(TaskId{static_cast<std::uint32_t>(rng.below(task))}, TaskId{task});
    }
    graph = std::move(builder).build();
    costs = CostTable{graph, platform, test::GivenEstimates{estimates}};
  }
  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

}  // namespace

TEST_CASE("the subset bound is that of the best two thresholds, where sums fit in 64 bits or not") {
  Rng rng{11};
  // Of 2^40 ps times a capacity of 2^24 units the sums do not fit.
  for (const auto& [longest, units] : {std::pair{20ULL, 4ULL}, {1ULL << 40U, 1ULL << 24U}}) {
    for (int round = 0; round < 200; ++round) {
      const auto capacity = static_cast<std::int64_t>(1 + rng.below(units));
      std::vector<Use> uses(1 + rng.below(24));
      for (Use& use : uses) {
        use.head = static_cast<std::int64_t>(rng.below(longest));
        use.tail = static_cast<std::int64_t>(rng.below(longest));
        use.duration = static_cast<std::int64_t>(1 + rng.below(longest));
        use.amount = use.duration * static_cast<std::int64_t>(1 + rng.below(units / 4));
      }
      const std::int64_t expected = largest_subset(uses, capacity);
      CHECK(bounds::subset_bound(uses, capacity).bound == expected);
      // Sorted, and by the places of tails, of which some are of no use.
      std::vector<std::int64_t> tails;
      for (const Use& use : uses) tails.insert(tails.end(), {use.tail, use.tail / 2});
      std::ranges::sort(tails);
      tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
      std::ranges::sort(uses, std::ranges::greater{}, &Use::head);
      std::vector<bounds::RankedUse> ranked;
      for (const Use& use : uses) {
        const auto place = std::ranges::lower_bound(tails, use.tail) - tails.begin();
        ranked.push_back({use.head, use.amount, static_cast<std::uint32_t>(place)});
      }
      const auto found = bounds::subset_bound(uses, capacity);
      const auto again = bounds::subset_bound(ranked, tails, capacity);
      CHECK(again.bound == expected);
      CHECK(again.head == found.head);
      CHECK(again.tail == found.tail);
    }
  }
}

TEST_CASE("rules say the same of all tasks of one kind, each of which has a task") {
  for (const SharingModel sharing :
       {SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}) {
    OperationsScene scene{7, sharing};
    const TaskKinds kinds{scene.problem()};
    CHECK(kinds.examples().size() == 6);
    const BoundProblem on{.problem = scene.problem()};
    for (const TaskId task : scene.graph.tasks()) {
      const TaskId example = kinds.examples()[kinds.of(task)];
      CHECK(min_duration(on.problem, task) == min_duration(on.problem, example));
      CHECK(min_start(on, task) == min_start(on, example));
      for (const Pool& pool : pools_of(on)) {
        CHECK(amount(on, pool, task) == amount(on, pool, example));
      }
    }
    IdVector<TaskId, Duration> durations = scene.costs.durations();
    durations[TaskId{3}] += Duration{1};
    scene.costs.set_task_durations(std::move(durations));
    CHECK(TaskKinds{scene.problem()}.examples().size() == 60);
  }
}

TEST_CASE("a ladder without windows has the witnesses of one with them") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    for (const SharingModel sharing : {SharingModel::exclusive, SharingModel::fluid}) {
      const OperationsScene scene{seed, sharing};
      const BoundProblem on{.problem = scene.problem()};
      const auto ladder = bound_ladder(on);
      CHECK(ladder == bound_ladder(on, {.energetic_work = 1}));  // too little for any window
      for (const BoundWitness& witness : ladder) {
        CHECK(refuse_witness(on, witness).value_or("") == "");
      }
    }
  }
}
