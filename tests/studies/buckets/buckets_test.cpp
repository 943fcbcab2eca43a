// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/buckets/bucket_files.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/buckets_verb.hpp"
#include "studies/buckets/memory_time.hpp"
#include "studies/buckets/step_simulation.hpp"
#include "studies/buckets/study_progress.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

const std::string small_workload = R"("kind": "lstm", "layers": 2, "hidden": 64)";

/// A card on which few batches fit, so that trying them all is quick.
const std::string small_card =
    R"({"scenario": {"machine": {"base": "m40", "memory_capacity_gib": 0.0625}}})";

/// Lengths 1 to 12, 40 sequences, on an M40; `rest` replaces or adds members.
json small_study(const std::string& rest = "{}") {
  json study = json::parse(R"({
    "schedlab": "buckets", "version": 1, "name": "small",
    "lengths": {"kind": "uniform", "longest": 12, "sequences": 40},
    "training": {"batch": 4},
    "rule": ["fixed_step", "optimal"], "buckets": [1, 3],
    "scenario": {"workload": {)" +
                           small_workload + R"(}, "machine": "m40", "policy": "diagonal"}})");
  study.merge_patch(json::parse(rest));
  return study;
}

BucketSpec parsed(const json& study) {
  return parse_bucket_spec(study.dump(), "study.json");
}

BucketStudy studied(const BucketSpec& spec) {
  return run_bucket_study(spec, nullptr, [](std::uint64_t, std::uint64_t) {});
}

/// One step by itself, from a spec of its own.
Duration simulated(std::int64_t steps, std::int64_t batch, const std::string& pass) {
  const Spec spec =
      parse_spec(fmt::format(R"({{"workload": {{{}, "pass": "{}", "steps": {}, "batch": {}}},
                       "machine": "m40", "policy": "diagonal"}})",
                             small_workload,
                             pass,
                             steps,
                             batch),
                 "one.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  return runner.run_fully(0).trace.makespan();
}

std::string problem(const json& study) {
  return testing::refusal([&] {
    const BucketSpec spec = parsed(study);
    static_cast<void>(studied(spec));
  });
}

TEST_CASE("batches of equal memory and tokens stay within what the longest bucket needs") {
  for (const char* batching : {"tokens", "memory"}) {
    CAPTURE(batching);
    const BucketSpec spec = parsed(small_study(fmt::format(
        R"({{"training": [{{"batch": 4}}, {{"batch": 4, "batching": "{}"}}],
             "rule": ["fixed_step", "increasing_step", "optimal"], "buckets": [1, 3]}})",
        batching)));
    const BucketStudy study = studied(spec);
    REQUIRE(study.rows.size() == 12);
    double least = 1e300;
    for (const BucketRow& row : study.rows) {
      CAPTURE(row.rule);
      CAPTURE(row.buckets);
      CHECK(row.sequences == 40);
      if (row.setup == row.setup.plain()) continue;
      // One bucket is the same; more hold more rows in no more memory, and take less time.
      const BucketRow* const plain = plain_row(study, row);
      REQUIRE(plain != nullptr);
      CHECK(row.memory <= plain->memory);
      CHECK((row.buckets == 1 || row.batch_rows.front() > 4));
      CHECK(row.batching_gain.value() >= 1);
      least = std::min(least, to_seconds(row.time.total));
      if (row.rule == "optimal" && row.buckets == 3) CHECK(to_seconds(row.time.total) == least);
    }
  }
}

TEST_CASE("batching and packing are refused where they cannot be") {
  CHECK(problem(small_study(
            R"({"training": {"batch": 4, "batching": "memory", "sorting": "none"}})")) ==
        "study.json: /training: found batching or packing of unsorted sequences, expected "
        "\"sorting\": \"by_length\"");
  CHECK(
      problem(
          small_study(
              R"({"training": [{"batch": 4, "packing": "packed"}], "models": {"per_batch": "serial"}})"))
          .starts_with("study.json: /training/0: found batching or packing beside steps"));
}

TEST_CASE("a pass takes exactly what simulating every batch by itself takes") {
  const BucketSpec spec = parsed(small_study());
  const BucketStudy study = studied(spec);
  REQUIRE(study.rows.size() == 4);
  for (const BucketRow& row : study.rows) {
    // The long way: sort, cut into batches of four, one simulation for each.
    std::vector<std::int64_t> lengths = spec.data[0].lengths;
    std::sort(lengths.begin(), lengths.end());
    Duration sum{0};
    for (std::size_t last = 3; last < lengths.size(); last += 4) {
      const auto bucket =
          std::lower_bound(row.boundaries.begin(), row.boundaries.end(), lengths[last]);
      sum += simulated(*bucket, 4, "training");
    }
    CAPTURE(row.rule);
    CHECK(row.iterations == 10);
    CHECK(row.time.total == sum);
  }
}

TEST_CASE("recomputation is simulated as the workload's option says") {
  const BucketSpec spec = parsed(small_study(
      R"({"training": {"batch": 4, "recompute": "data_drop"}, "rule": "fixed_step", "buckets": 1})"));
  const BucketStudy study = studied(spec);
  CHECK(study.rows.front().time.total ==
        10 * simulated(12, 4, R"(training", "recompute": "data_drop)"));
  CHECK(study.rows.front().time.total > 10 * simulated(12, 4, "training"));
}

TEST_CASE("the output layer counts in time where the network has classes") {
  const BucketSpec spec = parsed(small_study(
      R"({"network": {"projection": 32, "classes": 500}, "rule": "fixed_step", "buckets": 1})"));
  const Spec output = parse_spec(
      R"({"workload": {"kind": "output_layer", "steps": 12, "batch": 4, "width": 32, "classes": 500},
          "machine": "m40", "policy": "diagonal"})",
      "output.json");
  const Grid grid(output);
  ScenarioSpace space(output, grid);
  ScenarioRunner runner(space);
  const Duration more = runner.run_fully(0).trace.makespan();
  CHECK(studied(spec).rows.front().time.total == 10 * (simulated(12, 4, "training") + more));
}

TEST_CASE("auto finds the batch that fits and compares what can be recomputed") {
  BucketSpec spec = parsed(small_study(
      R"({"training": {"batch": "auto", "recompute": "auto"}, "rule": "fixed_step", "buckets": 1,
          "network": {"classes": 1000000}, "batch_multiple": 4})"));
  REQUIRE(spec.training.size() == 4);
  resolve_batches(spec);
  const BucketStudy study = studied(spec);
  const auto best = [](const BucketRow& row) { return row.best; };
  CHECK(std::count_if(study.rows.begin(), study.rows.end(), best) == 1);
  for (const BucketRow& row : study.rows) {
    CAPTURE(to_string(row.setup.recompute));
    CHECK(row.fits);
    CHECK(row.setup.batch % 4 == 0);
    CHECK(row.setup.batch == study.largest_batch.at(row.setup));
  }
  // What is kept decides little here: the scores are two arrays of 12 * 10^6 * 4 bytes = 96 MB a
  // sequence, the weights 3 * 65 * 10^6 * 4 bytes = 0.78 GB; (12.88 - 0.78) / 0.096 = 126, so 124.
  CHECK(study.rows.front().setup.batch == 124);
}

TEST_CASE("memory and time of every choice, and which are worth it") {
  const BucketSpec spec = parsed(small_study(small_card));
  const std::vector<MemoryTimePoint> points = memory_time_points(spec, nullptr);
  REQUIRE_FALSE(points.empty());
  for (const MemoryTimePoint& point : points) {
    // Nothing is as good in both and better in one than what is efficient.
    const bool beaten =
        std::any_of(points.begin(), points.end(), [&](const MemoryTimePoint& other) {
          return other.memory <= point.memory && other.sequences_per_s >= point.sequences_per_s &&
                 (other.memory < point.memory || other.sequences_per_s > point.sequences_per_s);
        });
    CHECK(point.efficient == !beaten);
    if (point.setup.batch > 64) continue;  // whose tensors the single scenario would refuse
    CHECK(point.step == simulated(12,
                                  point.setup.batch,
                                  fmt::format(R"(training", "recompute": "{})",
                                              to_string(point.setup.recompute.kind))));
  }
  // Keeping everything takes as long as keeping what is needed, and more memory.
  CHECK_FALSE(points.front().efficient);
  CHECK(memory_time_table(points).rows.size() == points.size());
  const BucketSpec other =
      parsed(small_study(R"({"scenario": {"workload": {"kind": "sentiment_lstm"}}})"));
  CHECK(memory_time_points(other, nullptr).empty());
}

TEST_CASE("truncation is compared where a setup asks for it, and needs less memory") {
  const BucketSpec spec = parsed(small_study(
      R"({"training": [{"batch": 4}, {"batch": 4, "truncate_steps": 3, "recompute": "auto"}],
          "scenario": {"machine": {"base": "m40", "memory_capacity_gib": 0.0625}}})"));
  REQUIRE(spec.training.size() == 3);
  CHECK(to_string(spec.training[2].recompute) == "data_drop truncated 3");
  const std::vector<MemoryTimePoint> points = memory_time_points(spec, nullptr);
  int compared = 0;
  for (const MemoryTimePoint& cut : points) {
    if (cut.setup.recompute.truncate_steps == 0) continue;
    CHECK(cut.setup.recompute.truncate_steps == 3);
    for (const MemoryTimePoint& whole : points) {
      TrainingSetup same = cut.setup;
      same.recompute.truncate_steps = 0;
      if (whole.setup != same) continue;
      CHECK(cut.memory < whole.memory);
      CHECK(cut.step != whole.step);
      ++compared;
    }
  }
  CHECK(compared >= 4);
}

TEST_CASE("on two ranks a pass has half the iterations, which sum gradients besides") {
  const BucketSpec spec = parsed(small_study(
      R"({"training": [{"batch": 4}, {"batch": 4, "ranks": 2}], "rule": "fixed_step",
          "buckets": 1, "scenario": {"machine": "h200"}})"));
  const BucketStudy study = studied(spec);
  REQUIRE(study.rows.size() == 2);
  CHECK(study.rows[0].iterations == 10);
  CHECK(study.rows[1].iterations == 5);
  CHECK(study.rows[1].time.total * 2 > study.rows[0].time.total);
  CHECK(study.rows[0].memory == study.rows[1].memory);
}

TEST_CASE("the fastest pass that fits is chosen, and stored models count in memory") {
  // A model of 5 GB: one fits into 12 GiB, three do not.
  const BucketSpec spec = parsed(small_study(R"({"models": {"bytes": 5000000000}})"));
  const BucketStudy study = studied(spec);
  for (const BucketRow& row : study.rows) {
    CHECK(row.fits == (row.buckets == 1));
    CHECK(row.chosen == (row.buckets == 1 && row.rule == "fixed_step"));
    if (row.buckets == 3) CHECK(row.speed_up.value() > 1);
  }
  const BucketSpec light = parsed(small_study());
  const BucketStudy free = studied(light);
  CHECK(std::count_if(free.rows.begin(), free.rows.end(), [](const BucketRow& row) {
          return row.chosen && row.buckets == 3;
        }) == 1);
}

TEST_CASE("models for every batch have no padding but that within a batch, and cost their time") {
  const BucketSpec spec = parsed(small_study(
      R"({"training": {"batch": 1}, "models": {"build_us": 1000, "per_batch": "serial"}})"));
  const BucketStudy study = studied(spec);
  const BucketRow& last = study.rows.back();
  CHECK(last.rule == "per_batch");
  CHECK(last.padding_share == 0);
  CHECK(last.time.building == 40 * Duration{1'000'000'000});
  // Stored: one model per bucket.
  CHECK(study.rows.front().time.building == Duration{1'000'000'000});
}

/// One training step of the small workload, as launched so.
Summary launched(std::int64_t steps, const std::string& launch) {
  const Spec spec = parse_spec(fmt::format(R"({{"workload": {{{}, "pass": "training", "steps": {},
                       "batch": 1}}, "machine": {{"base": "h200", "host": "pytorch_eager"}},
                       "policy": "single_stream", "launch": {}}})",
                                           small_workload,
                                           steps,
                                           launch),
                               "one.json");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  return runner.run(0, false).summary;
}

TEST_CASE("graphs of buckets are compiled and loaded once, and pay after some runs or never") {
  const std::string graph = R"({"name": "graph_launch", "load": true})";
  json study = small_study(
      R"({"lengths": {"longest": 8}, "training": {"batch": 1}, "rule": "fixed_step", "buckets": [1, 2],
          "models": {"build_us": 5000, "dynamic_launch": "eager"},
          "scenario": {"machine": {"base": "h200", "host": "pytorch_eager"},
                       "policy": "single_stream"}})");
  study["scenario"]["launch"] = json::parse(graph);
  const BucketSpec spec = parsed(study);
  const BucketStudy found = studied(spec);
  REQUIRE(found.rows.size() == 3);
  Duration eager{0};  // every batch of one sequence at its own length
  for (const std::int64_t length : spec.data[0].lengths) {
    eager += launched(length, "\"eager\"").makespan;
  }
  const BucketRow& dynamic = found.rows.back();
  CHECK(dynamic.rule == "dynamic");
  CHECK(dynamic.padding_share == 0);
  CHECK(dynamic.time.models == 0);
  CHECK(dynamic.time.total == eager);
  CHECK_FALSE(dynamic.break_even_runs.has_value());
  for (const std::size_t row : {std::size_t{0}, std::size_t{1}}) {
    const BucketRow& bucketed = found.rows[row];
    Duration building{0};
    Duration training{0};
    for (std::size_t i = 0; i < bucketed.boundaries.size(); ++i) {
      const Summary once = launched(bucketed.boundaries[i], graph);
      building += Duration{5'000'000'000} + once.load;
      training += bucketed.batches[i] * (once.makespan - once.load);
    }
    CAPTURE(row);
    CHECK(bucketed.time.models == static_cast<std::int64_t>(bucketed.boundaries.size()));
    CHECK(bucketed.time.building == building);
    CHECK(bucketed.time.training == training);
    CHECK(bucketed.break_even_runs.value() ==
          doctest::Approx(40 * to_seconds(building) / to_seconds(eager - training)));
  }
  // One model at a time: graphs are compiled again and again, which costs more than it gains.
  study["models"]["cached"] = 1;
  const BucketStudy thrashing = studied(parsed(study));
  CHECK(thrashing.rows[0].break_even_runs == found.rows[0].break_even_runs);
  CHECK(thrashing.rows[1].time.models > 10);
  CHECK_FALSE(thrashing.rows[1].break_even_runs.has_value());
}

TEST_CASE("buckets writes its files, and its results fit their schema") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "study.json";
  write_file_atomically(path, small_study(small_card).dump());
  std::ostringstream out;
  std::ostringstream err;
  const std::string target = (folder.path() / "out").string();
  CHECK(run(BucketsOptions{.spec = path.string(), .out = target, .json = true},
            Terminal{.out = out, .err = err, .interactive = false, .stop = nullptr}) == exit_done);
  read_checked_json(out.str(), bucket_results_schema(), "x");
  CHECK(json::parse(out.str()).at("rows").size() == 4);
  CHECK(json::parse(out.str()).at("rows").at(0).at("break_even_runs").is_null());
  for (const char* name :
       {"buckets.json", "buckets.csv", "report.html", "boundaries.svg", "epoch_time.svg"}) {
    CHECK(std::filesystem::exists(std::filesystem::path{target} / name));
  }
}

TEST_CASE("unsorted batches pad more, and steps of both orders are simulated once") {
  const BucketSpec spec = parsed(small_study(
      R"({"training": [{"batch": 4}, {"batch": 4, "sorting": "none"}], "rule": "fixed_step"})"));
  StudyProgress kept;
  const BucketStudy study = run_bucket_study(
      spec, nullptr, [](std::uint64_t, std::uint64_t) {}, &kept);
  REQUIRE(study.rows.size() == 4);
  // One bucket: every batch has 12 steps either way. Three: 4, 8 and 12.
  CHECK(study.rows[0].time.total == study.rows[2].time.total);
  CHECK(study.rows[1].padding_share < study.rows[3].padding_share);
  CHECK(study.rows[1].speed_up.value() > study.rows[3].speed_up.value());
  CHECK(kept.step(spec.training[0], 12) == kept.step(spec.training[1], 12));
}

TEST_CASE("no rule is faster than optimal boundaries, few batches or many, sorted or not") {
  const std::vector<std::string> data{
      R"({"kind": "uniform", "longest": 24, "sequences": 200})",
      R"({"kind": "power_law", "longest": 24, "exponent": 0.5, "sequences": 200})",
      R"({"kind": "power_law", "longest": 24, "exponent": 0.2, "sequences": 200})",
      R"({"kind": "log_normal", "longest": 24, "median": 6, "sigma": 0.8, "sequences": 200})"};
  const BucketSpec spec = parsed(
      small_study(fmt::format(R"({{"lengths": [{}], "training": [{{"batch": 4}}, {{"batch": 64}},
                      {{"batch": 8, "sorting": "none"}}], "buckets": [1, 2, 3, 6],
                      "rule": ["fixed_step", "by_distribution", "increasing_step", "optimal"]}})",
                              fmt::join(data, ", "))));
  const BucketStudy study = studied(spec);
  REQUIRE(study.rows.size() == 4 * 3 * 4 * 4);
  int faster = 0;
  for (const BucketRow& best : study.rows) {
    if (best.rule != to_string(BoundaryRule::optimal)) continue;
    CHECK(best.boundaries.back() == 24);
    for (const BucketRow& row : study.rows) {
      if (row.data != best.data || row.setup != best.setup || row.buckets != best.buckets) continue;
      CAPTURE(spec.data[row.data].label);
      CAPTURE(row.setup.batch);
      CAPTURE(row.rule);
      CAPTURE(row.buckets);
      CHECK(best.time.total <= row.time.total);
      if (row.rule == to_string(BoundaryRule::increasing_step)) {
        faster += best.time.total < row.time.total ? 1 : 0;
      }
    }
  }
  CHECK(faster > 24);  // of 48; with one bucket all are equal
}

TEST_CASE("a study that was stopped goes on with the steps it has, and gives the same") {
  const TemporaryFolder folder;
  const BucketSpec spec = parsed(small_study());
  const auto file = folder.path() / "progress.json";
  const BucketStudy whole = studied(spec);
  StopFlag stop{false};
  StudyProgress first{file, spec, ""};
  const BucketStudy part = run_bucket_study(
      spec, &stop, [&](std::uint64_t done, std::uint64_t) { stop = done == 2; }, &first);
  CHECK_FALSE(part.complete);
  REQUIRE(part.rows.size() == 2);
  CHECK(part.rows[1].time.total == whole.rows[1].time.total);
  first.save();

  StudyProgress second{file, spec, ""};
  second.resume();
  // Steps of length 12 come from the file: a wrong one there is a wrong one here.
  std::optional<StepCost> cost = second.step(spec.training[0], 12);
  REQUIRE(cost.has_value());
  cost->step += Duration{1};
  second.add_step(spec.training[0], 12, *cost);
  const BucketStudy changed = run_bucket_study(
      spec, nullptr, [](std::uint64_t, std::uint64_t) {}, &second);
  CHECK(changed.rows[0].time.total == whole.rows[0].time.total + 10 * Duration{1});

  StudyProgress third{file, spec, ""};
  third.resume();
  const BucketStudy rest = run_bucket_study(
      spec, nullptr, [](std::uint64_t, std::uint64_t) {}, &third);
  CHECK(rest.complete);
  CHECK(bucket_json(rest) == bucket_json(whole));
  const BucketSpec other = parsed(small_study(R"({"seed": 2})"));
  CHECK_THROWS_WITH_AS((StudyProgress{file, other, ""}.resume()),
                       doctest::Contains("progress.json: found another spec"),
                       InputError);
  write_file_atomically(file, "{");
  CHECK_THROWS_WITH_AS(third.resume(), doctest::Contains("found no JSON"), InputError);
}

TEST_CASE("what is wrong with a study is named by file and place") {
  CHECK(problem(small_study(R"({"lengths": {"longest": 0}})")).find("study.json: /lengths") == 0);
  CHECK(problem(small_study(R"({"lengths": {"shortest": 20}})"))
            .find("study.json: /lengths/shortest: found 20, expected at most the longest") == 0);
  CHECK(problem(small_study(R"({"lengths": {"kind": "file", "path": "no.csv", "longest": null,
                                            "sequences": null}})"))
            .find("no.csv: found no such file") != std::string::npos);
  CHECK(problem(small_study(R"({"rule": "optimall"})")).find("/rule") != std::string::npos);
  CHECK(problem(small_study(R"({"scenario": {"workload": {"kind": "grid"}}})"))
            .find("study.json: /scenario: /workload") == 0);
  CHECK(problem(small_study(R"({"scenario": {"machine": ["m40", "v100"]}})"))
            .find("expected one scenario") != std::string::npos);
  CHECK(problem(small_study(R"({"scenario": {"workload": {"recompute": "sqrt"}}})"))
            .find("/scenario/workload: found recompute, checkpoints or truncate_steps, expected "
                  "them in /training") != std::string::npos);
  CHECK(problem(small_study(R"({"training": {"truncate_steps": 4, "recompute": "sqrt"}})"))
            .find("/training/recompute: found sqrt with truncate_steps") != std::string::npos);
  CHECK(problem(small_study(R"({"training": {"batch": "most"}})")).find("/training") !=
        std::string::npos);
  CHECK(problem(small_study(R"({"training": {"sorting": "length"}})")).find("/training") !=
        std::string::npos);
  CHECK(problem(small_study(R"({"training": {"recompute": "data_drop"},
                                "scenario": {"workload": {"kind": "sentiment_lstm"}}})"))
            .find("/scenario/workload: found a workload without the option recompute") !=
        std::string::npos);
}

}  // namespace
}  // namespace schedlab
