// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/library_comparison.hpp"

#include "studies/validation/library_turns.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

// 2 networks x 2 granularities x 2 policies; the last axis varies fastest.
const std::string spec_text = R"({
  "workload": {"kind": "lstm", "pass": "training", "layers": [1, 2], "steps": 2, "batch": 2, "hidden": 8,
               "granularity": ["fine", "coarse"]},
  "machine": "ideal", "policy": ["single_stream", "diagonal"]})";

struct Scene {
  Spec spec = parse_spec(spec_text, "spec.json");
  Grid grid{spec};
  ScenarioSpace space{spec, grid};
  Validation validation;
  Baselines baselines;

  Scene(const std::vector<double>& predicted, const std::vector<double>& measured) {
    for (std::uint64_t i = 0; i < grid.size(); ++i) {
      ScenarioOutcome& outcome = validation.scenarios.emplace_back();
      outcome.scenario = i;
      outcome.name = grid.describe(i);
      outcome.predicted_us = predicted[i];
      outcome.measured_us = measured[i];
    }
    baselines.workloads = baseline_workloads(grid, space.components());
  }
  void add(std::size_t workload, const char* algorithm, Duration forward, Duration backward) {
    BaselineVariant& variant = baselines.workloads.at(workload).variants.emplace_back();
    variant.variant = {algorithm, "eager"};
    variant.calls = {{.call = RnnCall::forward, .runs = {forward}},
                     {.call = RnnCall::backward, .runs = {backward}}};
  }
};

TEST_CASE("a library's time of a training step is its forward and its backward pass") {
  Scene scene({1, 2, 3, 4, 5, 6, 7, 8}, {40, 30, 20, 50, 1, 1, 1, 1});
  scene.add(0, "quick_forward", 10us, 40us);  // 50 in all
  scene.add(0, "quick_in_all", 15us, 10us);   // 25
  const auto rows = compare_with_library(scene.space, scene.validation, scene.baselines);
  REQUIRE(rows.size() == 3);  // the network with two layers was not asked of the library
  CHECK(rows[0].policy.empty());
  CHECK(rows[0].variant.algorithm == "quick_in_all");
  CHECK(rows[0].library_us == 25.0);
}

TEST_CASE("the chosen plan is the fastest as simulated over all knobs, its regret is measured") {
  // Of the first network: fine single_stream, fine diagonal, coarse single_stream, coarse diagonal.
  Scene scene({1, 2, 3, 4, 5, 6, 7, 8}, {40, 30, 20, 50, 1, 1, 1, 1});
  scene.add(0, "a", 10us, 10us);
  const auto rows = compare_with_library(scene.space, scene.validation, scene.baselines);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].scenarios == 4);
  CHECK(rows[0].fastest == 2);
  CHECK(rows[0].chosen == 0);
  CHECK(rows[0].fastest_ratio() == 1.0);  // 20 us over 20 us
  CHECK(rows[0].chosen_ratio() == 2.0);
  CHECK(rows[0].regret() == 1.0);  // 40 us instead of 20 us
  CHECK(rows[2].policy == "diagonal");
  CHECK(rows[2].scenarios == 2);
  CHECK(rows[2].fastest == 1);
  CHECK(rows[2].chosen == 1);
  CHECK(rows[2].regret() == 0.0);
}

TEST_CASE("scenarios that were not compared, and variants that did not run, do not count") {
  Scene scene({1, 2, 3, 4, 5, 6, 7, 8}, {40, 30, 20, 50, 1, 1, 1, 1});
  scene.validation.scenarios[2].note = "stopped";
  scene.add(0, "a", 10us, 10us);
  BaselineVariant& refused = scene.baselines.workloads[0].variants.emplace_back();
  refused.note = "does not do this";
  const auto rows = compare_with_library(scene.space, scene.validation, scene.baselines);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].scenarios == 3);
  CHECK(rows[0].fastest == 1);
  CHECK(library_table(scene.validation, rows).rows.size() == 3);
}

/// Notes what is asked of it, in one list with the library.
class NotingMeasurer final : public Measurer {
 public:
  explicit NotingMeasurer(std::string& notes) : notes_(notes) {}
  [[nodiscard]] std::string device() const override { return "none"; }
  [[nodiscard]] MeasuredRun measure(const MeasureRequest& /*request*/) override {
    notes_ += 'p';
    return {.trace = {}, .plan = {}, .makespan = 30us};
  }

 private:
  std::string& notes_;
};

class NotingLibrary final : public LibraryRnn {
 public:
  explicit NotingLibrary(std::string& notes) : notes_(notes) {}
  [[nodiscard]] bool has(RnnCall /*call*/) const override { return true; }
  void begin_steadily() override { notes_ += 's'; }
  Duration run(RnnCall call) override {
    notes_ += call == RnnCall::forward ? 'f' : 'b';
    return call == RnnCall::forward ? 10us : 40us;
  }
  void poison() override {}
  [[nodiscard]] RecurrentResults<float> results() override { return {}; }

 private:
  std::string& notes_;
};

TEST_CASE("a plan and the library take turns, each pass of the library from the same state") {
  const FullRun planned;
  const auto turns_of = [&](RecurrentPass pass, std::string& notes) {
    NotingMeasurer measurer{notes};
    NotingLibrary library{notes};
    return measure_in_turns(measurer,
                            {.scenario = 0, .predicted = planned},
                            library,
                            pass,
                            {.turns = 2, .warm_up = 1, .library_us = 32});
  };
  std::string notes;
  const LibraryTurns backward = turns_of(RecurrentPass::backward, notes);
  CHECK(notes == "fsbpfsbpfsbp");  // the forward pass leaves what the gradients need
  CHECK(backward.turns == 2);
  CHECK(backward.plan_us == 30.0);
  CHECK(backward.library_us == 40.0);
  CHECK(backward.ratio() == 0.75);
  CHECK(backward.library == Interval{40.0, 40.0});
  CHECK(backward.drift == 0.25);  // 40 us where it was 32
  notes.clear();
  CHECK(turns_of(RecurrentPass::training, notes).library_us == 50.0);
  CHECK(notes == "sfbpsfbpsfbp");
}

TEST_CASE("turns are columns of the table, empty where none were taken") {
  Scene scene({1, 2, 3, 4, 5, 6, 7, 8}, {40, 30, 20, 50, 1, 1, 1, 1});
  scene.add(0, "a", 10us, 10us);
  auto rows = compare_with_library(scene.space, scene.validation, scene.baselines);
  rows[0].turns = LibraryTurns{.turns = 50, .plan_us = 15, .library_us = 20};
  const Table table = library_table(scene.validation, rows);
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  const auto column = static_cast<std::size_t>(
      std::find_if(table.columns.begin(),
                   table.columns.end(),
                   [](const auto& one) { return one.name == "over_library_in_turns"; }) -
      table.columns.begin());
  CHECK(table.rows[0][column] == Cell{0.75});
  CHECK(table.rows[1][column] == Cell{});
}

}  // namespace
}  // namespace schedlab
