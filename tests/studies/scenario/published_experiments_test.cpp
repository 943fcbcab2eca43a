// SPDX-License-Identifier: Apache-2.0
// The experiments on queues, priorities and placement that ship as specs come out as published:
// docs/sharing_models.md says what was published where.
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/spec.hpp"
#include "tests/support/checkout.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace schedlab {
namespace {

class Experiment {
 public:
  explicit Experiment(const std::string& name)
      : spec_(load_spec(
            (testing::checkout() / fmt::format("experiments/published_{}.json", name)).string())),
        grid_(spec_),
        space_(spec_, grid_) {
    space_.components().check_all();
  }
  [[nodiscard]] std::uint64_t size() const { return grid_.size(); }

  struct Times {
    double start_us = -1;
    double end_us = -1;
    friend bool operator==(const Times&, const Times&) = default;
  };
  void run(std::uint64_t scenario = 0) {
    ScenarioRunner runner(space_);
    run_ = runner.run_fully(scenario);
    CHECK(run_.findings.empty());
    const Summary summary = runner.run(scenario, false).summary;
    CHECK(summary.utilization > 0);
    CHECK(summary.utilization <= summary.busy_share);
  }
  [[nodiscard]] Times of(const std::string& task) const {
    for (const TaskSpan& span : run_.trace.tasks) {
      if (run_.scenario.problem->graph->name(span.task) != task) continue;
      return {to_us(span.started.time_since_epoch()), to_us(span.ended.time_since_epoch())};
    }
    return {};
  }

 private:
  Spec spec_;
  Grid grid_;
  ScenarioSpace space_;
  FullRun run_;
};

using Times = Experiment::Times;

}  // namespace

TEST_CASE("published: an urgent kernel that does not fit blocks one that would") {
  Experiment e{"priority_blocking"};
  e.run();
  CHECK(e.of("running") == Times{0, 1000});  // nothing is evicted
  CHECK(e.of("urgent") == Times{1000, 1500});
  CHECK(e.of("small") == Times{1000, 1200});  // submitted at 200, with capacity for it all the time
}

TEST_CASE("published: urgent kernels take over at the end of blocks, and the others starve") {
  Experiment e{"priority_at_block_ends"};
  e.run();
  CHECK(e.of("urgent_1") == Times{200, 300});  // submitted at 150, in the middle of a wave
  CHECK(e.of("urgent_2") == Times{300, 400});
  CHECK(e.of("urgent_3") == Times{400, 500});
  CHECK(e.of("urgent_4") == Times{500, 600});
  CHECK(e.of("low") == Times{0, 900});  // 0-200 and 600-900: five waves of 100
}

TEST_CASE("published: only the head of the queue is placed") {
  Experiment e{"head_of_line"};
  e.run();
  CHECK(e.of("large") == Times{1000, 1500});
  CHECK(e.of("small") == Times{1000, 1200});
}

TEST_CASE("published: the next kernel gets what the last wave leaves over") {
  Experiment e{"leftover"};
  e.run();
  CHECK(e.of("first") == Times{0, 200});
  CHECK(e.of("second") == Times{100, 200});
  CHECK(e.of("third") == Times{200, 300});
}

TEST_CASE("published: the ninth stream on eight connections waits for a stranger's dispatch") {
  Experiment e{"false_dependency"};
  REQUIRE(e.size() == 2);
  e.run(0);  // 8 connections
  CHECK(e.of("next") == Times{100, 200});
  CHECK(e.of("ninth") == Times{100, 150});
  for (int i = 1; i < 8; ++i) CHECK(e.of("other_" + std::to_string(i)) == Times{0, 50});
  e.run(1);  // 9 connections
  CHECK(e.of("next") == Times{100, 200});
  CHECK(e.of("ninth") == Times{0, 50});
}

TEST_CASE("published: one thread less per block makes a kernel slower") {
  Experiment e{"least_loaded"};
  REQUIRE(e.size() == 2);
  e.run(0);  // 673 threads: 22 warps, one block fits beside `one`, two on the other unit
  CHECK(e.of("two") == Times{0, 1000});
  e.run(1);  // 672 threads: 21 warps, one beside `one`, three on the other unit, which gets both
  CHECK(e.of("two") == Times{0, 2000});
}

}  // namespace schedlab
