// SPDX-License-Identifier: Apache-2.0
// Passes over sequences of different lengths that run for real.
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/bucket_tables.hpp"
#include "studies/buckets/buckets_verb.hpp"
#include "studies/buckets/executed_epochs.hpp"
#include "studies/buckets/executed_files.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;

const EpochExecution one_worker{.workers = 1,
                                .host = "preloaded",
                                .pin = false,
                                .allocation = TensorAllocation::by_tensor,
                                .repetitions = 1};

/// 96 sequences of 1 to 16 steps, batches of 8.
json small_study(const std::string& rest = "{}") {
  json study = json::parse(R"({
    "schedlab": "buckets", "version": 1, "name": "small",
    "lengths": {"kind": "power_law", "longest": 16, "exponent": 0.5, "sequences": 96},
    "training": [{"batch": 8}, {"batch": 8, "recompute": "data_drop"}],
    "rule": ["fixed_step", "optimal"], "buckets": [1, 4],
    "scenario": {"workload": {"kind": "lstm", "include_transfers": false, "layers": 2,
                              "hidden": 32, "input": 16},
                 "machine": "manycore_cpu", "policy": "single_stream"}})");
  study.merge_patch(json::parse(rest));
  return study;
}

BucketSpec parsed(const json& study) {
  return parse_bucket_spec(study.dump(), "study.json");
}

void nothing(std::uint64_t /*done*/, std::uint64_t /*all*/) {}

std::string refusal(const std::string& rest) {
  try {
    expect_executable(parsed(small_study(rest)), one_worker);
  } catch (const InfeasibleError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every pass of a study trains a network, in the memory that was predicted") {
  const BucketSpec spec = parsed(small_study());
  const BucketStudy study = run_bucket_study(spec, nullptr, nothing);
  StudyProgress kept;
  const ExecutedStudy executed = execute_epochs(study, one_worker, kept, nullptr, nothing);
  REQUIRE(executed.epochs.size() == 8);
  CHECK(executed.complete);
  for (const ExecutedEpoch& pass : executed.epochs) {
    const BucketRow& row = study.rows[pass.row];
    CAPTURE(row.rule);
    CAPTURE(row.buckets);
    REQUIRE(pass.runs.size() == 1);
    const EpochRun& run = pass.runs.front();
    CHECK(run.finite);
    CHECK(run.last_error < run.first_error);
    CHECK(run.training > Duration{0});
    CHECK(run.total >= run.training);
    CHECK(run.models > Bytes{0});
    // The longest step decides, which every pass has.
    REQUIRE(pass.memory_error().has_value());
    CHECK(std::abs(*pass.memory_error()) < 0.05);
    CHECK(pass.predicted_speed_up.has_value());
    CHECK(pass.measured_speed_up.has_value());
  }
  // Data drop holds less, measured too: rows come by setup, rule and count.
  CHECK(executed.epochs[4].runs[0].tensors_peak < executed.epochs[0].runs[0].tensors_peak);
  // Recomputation changes no gradient: the same batches give the same errors.
  CHECK(executed.epochs[4].runs[0].last_error == executed.epochs[0].runs[0].last_error);
  // Nor does padding: one bucket or four, the sequences of a batch are the same.
  CHECK(executed.epochs[1].runs[0].first_error ==
        doctest::Approx(executed.epochs[0].runs[0].first_error).epsilon(1e-5));
  CHECK(executed.epochs[1].runs[0].last_error ==
        doctest::Approx(executed.epochs[0].runs[0].last_error).epsilon(1e-4));
  // Of what is predicted: one bucket has 12 batches of 16 steps, more buckets shorter ones.
  CHECK(executed.epochs[0].predicted > executed.epochs[1].predicted);
}

TEST_CASE("batches by bucket and packed rows train for real, as was predicted of their memory") {
  const BucketSpec spec = parsed(small_study(R"({
    "training": [{"batch": 8}, {"batch": 8, "packing": "packed"},
                 {"batch": 8, "batching": "tokens"},
                 {"batch": 8, "batching": "memory", "packing": "packed"}],
    "scenario": {"workload": {"projection": 16}}})"));
  const BucketStudy study = run_bucket_study(spec, nullptr, nothing);
  StudyProgress kept;
  const ExecutedStudy executed = execute_epochs(study, one_worker, kept, nullptr, nothing);
  REQUIRE(executed.epochs.size() == 16);
  for (const ExecutedEpoch& pass : executed.epochs) {
    const BucketRow& row = study.rows[pass.row];
    CAPTURE(row.rule);
    CAPTURE(row.buckets);
    CAPTURE(setup_label(study, row));
    const bool plain = row.setup == row.setup.plain();
    CHECK(row.sequences == 96);
    CHECK(row.batching_gain.has_value() == !plain);
    CHECK(pass.predicted_batching_gain.has_value() == !plain);
    CHECK(pass.measured_batching_gain.has_value() == !plain);
    const EpochRun& run = pass.runs.front();
    CHECK(run.finite);
    CHECK(run.last_error < run.first_error);
    CHECK(std::abs(*pass.memory_error()) < 0.05);
    // Rows of 4 times as many steps at most, for which fewer are needed.
    for (std::size_t i = 0; i < row.boundaries.size(); ++i) {
      if (row.setup.batching == Batching::sequences) CHECK(row.batch_rows[i] == 8);
      if (row.setup.batching != Batching::tokens) continue;
      CHECK(row.batch_rows[i] * row.boundaries[i] <= 8 * 16);
    }
    if (row.setup.packed) CHECK(row.padding_share < 0.45);
  }
  // One bucket: a row a sequence wastes most, which packing saves.
  CHECK(*executed.epochs[4].predicted_batching_gain > 1.5);
  CHECK(executed.epochs[4].runs[0].first_error > 0);
  const json rows = json::parse(rows_json(executed_table(study, executed)));
  CHECK(rows[4]["packing"] == "packed");
  CHECK(rows[4]["predicted_batching_gain"].get<double>() > 1.5);
}

TEST_CASE("passes from files train on the same sequences, whatever reads them") {
  const auto executed = [](const std::string& rest) {
    const BucketSpec spec = parsed(small_study(rest));
    const BucketStudy study = run_bucket_study(spec, nullptr, nothing);
    StudyProgress kept;
    return std::pair{execute_epochs(study, one_worker, kept, nullptr, nothing),
                     spec.data[0].lengths};
  };
  const auto made_up = executed(R"({"chunk_sequences": 32, "training": {"batch": 8}})").first;
  for (const int producers : {1, 3}) {
    const auto [read, lengths] = executed(fmt::format(
        R"({{"chunk_sequences": 32, "training": {{"batch": 8}},
            "reading": {{"bandwidth_gb_per_s": 0.000001, "bytes_per_step": 256,
                         "producers": {}, "chunks_ahead": 1}}}})",
        producers));
    REQUIRE(read.epochs.size() == made_up.epochs.size());
    std::int64_t steps = 0;
    for (const std::int64_t length : lengths) steps += length;
    for (std::size_t i = 0; i < read.epochs.size(); ++i) {
      const EpochRun& run = read.epochs[i].runs.front();
      CHECK(run.first_error == made_up.epochs[i].runs.front().first_error);
      CHECK(run.last_error == made_up.epochs[i].runs.front().last_error);
      CHECK(run.read == Bytes{256 * steps});
      CHECK(run.waiting > Duration{0});
      CHECK(run.total >= run.training + run.waiting);
      CHECK(made_up.epochs[i].runs.front().read == Bytes{0});
      // A thousandth of a megabyte a second: reading is what takes time.
      const EpochTime& predicted = read.epochs[i].predicted_pass;
      CHECK(predicted.training == read.epochs[i].predicted);
      CHECK(predicted.waiting > 100 * predicted.training);
    }
  }
}

TEST_CASE("truncated passes train in the memory that was predicted, less than whole ones") {
  const BucketSpec spec = parsed(small_study(
      R"({"training": [{"batch": 8}, {"batch": 8, "truncate_steps": 4},
                       {"batch": 8, "truncate_steps": 4, "recompute": "data_drop"}],
          "rule": "fixed_step"})"));
  const BucketStudy study = run_bucket_study(spec, nullptr, nothing);
  StudyProgress kept;
  const ExecutedStudy executed = execute_epochs(study, one_worker, kept, nullptr, nothing);
  REQUIRE(executed.epochs.size() == 6);
  for (const ExecutedEpoch& pass : executed.epochs) {
    CHECK(pass.runs.front().finite);
    CHECK(pass.runs.front().last_error < pass.runs.front().first_error);
    CHECK(std::abs(*pass.memory_error()) < 0.05);
  }
  const auto peak = [&](std::size_t row) { return executed.epochs[row].runs[0].tensors_peak; };
  CHECK(peak(2) < peak(0));
  CHECK(peak(4) < peak(2));
  // Dropped values change no gradient, cut gradients do.
  CHECK(executed.epochs[4].runs[0].last_error == executed.epochs[2].runs[0].last_error);
  CHECK(executed.epochs[2].runs[0].last_error != executed.epochs[0].runs[0].last_error);
}

TEST_CASE("passes that are kept are not run again, and a stop keeps those that are done") {
  const BucketSpec spec =
      parsed(small_study(R"({"training": {"batch": 8}, "rule": "fixed_step"})"));
  const BucketStudy study = run_bucket_study(spec, nullptr, nothing);
  StudyProgress kept;
  StopFlag stop{false};
  const ExecutedStudy part = execute_epochs(
      study, one_worker, kept, &stop, [&](std::uint64_t, std::uint64_t) { stop = true; });
  CHECK_FALSE(part.complete);
  CHECK(part.epochs[0].runs.size() + part.epochs[1].runs.size() == 1);
  const EpochRun known{.training = Duration{7}, .total = Duration{8}};
  kept.add_epoch(0, 0, known);
  kept.add_epoch(1, 0, known);
  const ExecutedStudy all = execute_epochs(study, one_worker, kept, nullptr, nothing);
  CHECK(all.complete);
  CHECK(all.epochs[0].runs == std::vector<EpochRun>{known});
  CHECK(all.epochs[1].measured_speed_up == 1.0);
}

TEST_CASE("what cannot be executed is refused before anything is simulated") {
  CHECK(refusal("{}") == "accepted");
  CHECK(refusal(R"({"training": [{"batch": 8, "ranks": 2}]})").find("found 2 ranks") !=
        std::string::npos);
  CHECK(refusal(R"({"scenario": {"workload": {"bidirectional": "first"}},
                    "training": {"batch": 8}})")
            .find("\"bidirectional\": \"none\"") != std::string::npos);
  CHECK(refusal(R"({"scenario": {"workload": {"optimizer": "adam"}}})").find("sgd") !=
        std::string::npos);
  CHECK(refusal(R"({"reading": {"bytes_per_step": 100}})").find("a multiple of 4 from 192 on") !=
        std::string::npos);
}

TEST_CASE("buckets --execute writes what fits its schema, and goes on where it was stopped") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "study.json";
  write_file_atomically(path, small_study(R"({"buckets": [1, 2], "rule": "optimal"})").dump());
  const std::string target = (folder.path() / "out").string();
  BucketsOptions options{.spec = path.string(),
                         .out = target,
                         .memory_time = false,
                         .execute = "cpu",
                         .workers = 1,
                         .pin = false,
                         .repetitions = 1};
  const auto run_it = [&](std::string& said) {
    std::ostringstream out;
    std::ostringstream err;
    const int code =
        run(options, Terminal{.out = out, .err = err, .interactive = false, .stop = nullptr});
    said = out.str() + err.str();
    return code;
  };
  std::string said;
  CHECK(run_it(said) == exit_done);
  CHECK(said.find("4 executed epochs: median error") != std::string::npos);
  const std::string text = read_file(std::filesystem::path{target} / "executed.json");
  read_checked_json(text, executed_epochs_schema(), "x");
  for (const char* name : {"executed.csv", "executed.svg", "report.html", "progress.json"}) {
    CHECK(std::filesystem::exists(std::filesystem::path{target} / name));
  }
  options.resume = true;
  CHECK(run_it(said) == exit_done);
  const json again = json::parse(read_file(std::filesystem::path{target} / "executed.json"));
  CHECK(again.at("rows") == json::parse(text).at("rows"));
  options.workers = 0;
  CHECK_THROWS_WITH_AS(run_it(said), doctest::Contains("found another request"), InputError);
}

}  // namespace schedlab
