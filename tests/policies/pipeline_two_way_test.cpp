// SPDX-License-Identifier: Apache-2.0
// Schedules in which micro-batches come to a rank from both sides, against their published forms.
#include "tests/policies/pipeline_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace schedlab {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using testing::equal_pipeline;
using testing::PipelineRun;

struct PassTimes {
  Duration forward;
  Duration data;
  Duration weight;

  [[nodiscard]] Duration all() const { return forward + data + weight; }
};

PipelineSpec placed_pipeline(StagePlacement placement,
                             std::uint32_t ranks,
                             std::int64_t microbatches,
                             const PassTimes& times = {1us, 1us, 1us}) {
  PipelineSpec spec = testing::placed_pipeline(placement, ranks, microbatches);
  for (StageProfile& stage : spec.profile.stages) {
    stage.forward.fixed = times.forward;
    stage.backward_data.fixed = times.data;
    stage.backward_weight.fixed = times.weight;
    stage.kept_activations = 100_B;
  }
  return spec;
}

/// Makespan less the work of a rank.
Duration bubble(const PipelineRun& run, Duration work) {
  return run.trace.makespan() - work;
}

const std::vector<PassTimes>& several_times() {
  static const std::vector<PassTimes> times{{1us, 1us, 1us}, {3us, 3us, 2us}, {4us, 4us, 1us}};
  return times;
}

}  // namespace

TEST_CASE("the bubble of DualPipe is (R/2 - 1)(forward + 2 backward - 3 weight gradients)") {
  // Backward is data and weight gradient; of a pair that overlaps one pass follows the other. The
  // form holds where forward and data gradient last the same, weight gradients not longer.
  for (const PassTimes& t : several_times()) {
    for (const std::uint32_t ranks : {2U, 4U, 6U, 8U}) {
      for (const std::int64_t more : {0, 2, 10}) {
        CAPTURE(ranks);
        CAPTURE(more);
        const std::int64_t m = 2 * ranks + more;
        const PipelineRun run{placed_pipeline(StagePlacement::bidirectional, ranks, m, t),
                              "pipeline_dualpipe"};
        CHECK(bubble(run, m * t.all()) ==
              (ranks / 2 - 1) * (t.forward + 2 * (t.data + t.weight) - 3 * t.weight));
      }
    }
  }
}

TEST_CASE("the bubble of DualPipeV is that of DualPipe on twice as many ranks") {
  for (const PassTimes& t : several_times()) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 4U}) {
      for (const std::int64_t more : {0, 1, 5}) {
        CAPTURE(ranks);
        CAPTURE(more);
        const std::int64_t m = 2 * ranks + more;
        const PipelineRun run{placed_pipeline(StagePlacement::v, ranks, m, t),
                              "pipeline_dualpipe_v"};
        CHECK(bubble(run, 2 * m * t.all()) ==
              (ranks - 1) * (t.forward + 2 * (t.data + t.weight) - 3 * t.weight));
      }
    }
  }
}

TEST_CASE("ZB-V leaves no rank idle between its first and last pass where all passes are equal") {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 7U}) {
    for (const std::int64_t more : {0, 1, 6}) {
      CAPTURE(ranks);
      CAPTURE(more);
      const std::int64_t m = 2 * ranks - 1 + more;
      const PipelineRun run{placed_pipeline(StagePlacement::v, ranks, m), "pipeline_zb_v"};
      // The last rank begins after R - 1 forward passes.
      CHECK(bubble(run, 2 * m * 3us) == (ranks - 1) * 1us);
      std::map<std::uint32_t, Duration> busy;
      std::map<std::uint32_t, std::pair<Time, Time>> span;
      for (const TaskSpan& task : run.trace.tasks) {
        if (task.started == task.ended) continue;  // updates
        const std::uint32_t rank = run.graph.rank(task.task);
        const auto [found, is_new] = span.try_emplace(rank, task.started, task.ended);
        found->second.first = std::min(found->second.first, task.started);
        found->second.second = std::max(found->second.second, task.ended);
        busy[rank] += task.ended - task.started;
      }
      for (const auto& [rank, ends] : span) CHECK(ends.second - ends.first == busy[rank]);
    }
  }
}

TEST_CASE("the bubble of Chimera is R - 2 passes where all last the same") {
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    for (const std::int64_t units : {1, 2, 5}) {
      CAPTURE(ranks);
      CAPTURE(units);
      const std::int64_t m = units * ranks;
      // Forward 2 us, backward 1 + 1 us.
      const PipelineRun run{
          placed_pipeline(StagePlacement::bidirectional, ranks, m, {2us, 1us, 1us}),
          "pipeline_chimera"};
      CHECK(bubble(run, m * 4us) == (ranks - 2) * 2us);
    }
  }
}

TEST_CASE("Chimera with backward twice as long as forward: (R - 2) / (3/2 M + R - 2) of the time") {
  for (const std::int64_t ranks : {2, 4, 6, 8}) {
    CAPTURE(ranks);
    const PipelineRun run{
        placed_pipeline(StagePlacement::bidirectional, static_cast<std::uint32_t>(ranks), ranks),
        "pipeline_chimera"};
    // Work of a rank: M x 3 us; x / (3 M + x) = (R - 2) / (3/2 M + R - 2) for x = 2 (R - 2).
    CHECK(bubble(run, ranks * 3us) == 2 * (ranks - 2) * 1us);
  }
}

TEST_CASE("activations of two-way schedules: what their publications state") {
  for (const std::int64_t ranks : {2, 4, 8}) {
    CAPTURE(ranks);
    const auto peaks = [&](StagePlacement placement, const char* policy, std::int64_t m) {
      return PipelineRun{placed_pipeline(placement, static_cast<std::uint32_t>(ranks), m), policy}
          .peaks();
    };
    // Both ends take turns, so every rank holds R + 1 at most, those of the middle as many.
    const auto dual = peaks(StagePlacement::bidirectional, "pipeline_dualpipe", 4 * ranks);
    CHECK(*std::max_element(dual.begin(), dual.end()) == Bytes{100 * (ranks + 1)});
    const auto dual_v = peaks(StagePlacement::v, "pipeline_dualpipe_v", 4 * ranks);
    CHECK(*std::max_element(dual_v.begin(), dual_v.end()) == Bytes{100 * (2 * ranks + 1)});
    const auto zb = peaks(StagePlacement::v, "pipeline_zb_v", 4 * ranks);
    CHECK(*std::max_element(zb.begin(), zb.end()) == Bytes{100 * 2 * ranks});
    const auto chimera = peaks(StagePlacement::bidirectional, "pipeline_chimera", ranks);
    CHECK(*std::min_element(chimera.begin(), chimera.end()) == Bytes{100 * (ranks / 2 + 1)});
    CHECK(*std::max_element(chimera.begin(), chimera.end()) ==
          Bytes{100 * std::max(ranks, std::int64_t{2})});
  }
}

TEST_CASE("two directions keep each stage's parameters twice and sum both copies' gradients") {
  PipelineSpec spec = placed_pipeline(StagePlacement::bidirectional, 4, 8);
  for (StageProfile& stage : spec.profile.stages) {
    stage.parameters = 1000_B;
    stage.kept_activations = 0_B;
  }
  const PipelineRun run{spec, "pipeline_chimera"};
  for (const Bytes peak : run.peaks()) CHECK(peak == 4000_B);  // parameters, gradients; two stages
  const CollectiveTable& sums = run.graph.collectives();
  REQUIRE(sums.size() == 4);
  for (const CollectiveId id : sums.ids()) {
    CHECK(sums.spec(id).bytes == 1000_B);
    REQUIRE(sums.tasks(id).size() == 2);
    const std::uint32_t sum = run.graph.rank(sums.tasks(id)[0]) + run.graph.rank(sums.tasks(id)[1]);
    CHECK(sum == 3);  // ranks k and 3 - k
  }
}

TEST_CASE("two-way schedules are sound for any number of micro-batches and several replicas") {
  for (const auto& [policy, placement] :
       {std::pair{"pipeline_dualpipe", StagePlacement::bidirectional},
        std::pair{"pipeline_chimera", StagePlacement::bidirectional},
        std::pair{"pipeline_naive", StagePlacement::bidirectional},
        std::pair{"pipeline_dualpipe_v", StagePlacement::v},
        std::pair{"pipeline_zb_v", StagePlacement::v},
        std::pair{"pipeline_flush", StagePlacement::v}}) {
    for (const std::uint32_t ranks : {2U, 4U}) {
      for (const std::int64_t microbatches : {2, 3, 5, 9}) {
        CAPTURE(policy);
        CAPTURE(ranks);
        CAPTURE(microbatches);
        PipelineSpec spec = placed_pipeline(placement, ranks, microbatches, {3us, 4us, 2us});
        spec.replicas = 2;
        spec.batch *= 2;
        for (StageProfile& stage : spec.profile.stages) stage.parameters = 8_B;
        const PipelineRun run{spec, policy};
        CHECK(run.trace.tasks.size() == run.graph.task_count());
      }
    }
  }
}

TEST_CASE("a schedule for other stages than the workload has says what to give it") {
  const auto error_of = [](const PipelineSpec& spec, const char* policy) {
    try {
      const PipelineRun run{spec, policy};
    } catch (const InfeasibleError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(
      error_of(equal_pipeline(4, 8), "pipeline_dualpipe").find(R"("placement": "bidirectional")") !=
      std::string::npos);
  CHECK(error_of(equal_pipeline(4, 8), "pipeline_zb_v").find(R"("placement": "v")") !=
        std::string::npos);
  CHECK(error_of(placed_pipeline(StagePlacement::v, 4, 8), "pipeline_interleaved_1f1b")
            .find(R"("placement": "loop")") != std::string::npos);
}

}  // namespace schedlab
