// SPDX-License-Identifier: Apache-2.0
// The verbs `buckets --execute cuda` and `execute --device cuda` on the emulated device.
#include "cli/cmd_execute.hpp"
#include "sim/base/file.hpp"
#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/executed_epochs.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

using testing::TemporaryFolder;

/// 24 sequences of 1 to 6 steps, batches of 4.
constexpr const char* small_study = R"({
  "schedlab": "buckets", "version": 1, "name": "small",
  "lengths": {"kind": "power_law", "longest": 6, "exponent": 0.5, "sequences": 24},
  "training": [{"batch": 4}, {"batch": 4, "recompute": "data_drop"}],
  "rule": "fixed_step", "buckets": [1, 3],
  "scenario": {"workload": {"kind": "lstm", "include_transfers": false, "layers": 2, "hidden": 16,
                            "input": 8},
               "machine": "v100", "policy": "single_stream"}})";

ExecutedStudy executed_on(const BucketStudy& study, const char* device) {
  EpochExecution request;
  request.device = device;
  request.workers = 1;
  request.pin = false;
  request.repetitions = 1;
  StudyProgress kept;
  return execute_epochs(study, request, kept, nullptr, [](std::uint64_t, std::uint64_t) {});
}

}  // namespace

TEST_CASE("passes on a device learn what passes on the CPU learn, in the predicted memory") {
  const BucketSpec spec = parse_bucket_spec(small_study, "study.json");
  const BucketStudy study = run_bucket_study(spec, nullptr, [](std::uint64_t, std::uint64_t) {});
  const ExecutedStudy device = executed_on(study, "cuda");
  const ExecutedStudy cpu = executed_on(study, "cpu");
  CHECK(device.device == "emulated, 4 multiprocessors");
  REQUIRE(device.epochs.size() == 4);
  for (std::size_t i = 0; i < device.epochs.size(); ++i) {
    const ExecutedEpoch& pass = device.epochs[i];
    CAPTURE(study.rows[pass.row].buckets);
    REQUIRE(pass.runs.size() == 1);
    CHECK(pass.runs[0].finite);
    const EpochRun& expected = cpu.epochs[i].runs.at(0);
    CHECK(pass.runs[0].first_error == doctest::Approx(expected.first_error).epsilon(1e-4));
    CHECK(pass.runs[0].last_error == doctest::Approx(expected.last_error).epsilon(1e-4));
    REQUIRE(pass.memory_error().has_value());
    CHECK(std::abs(*pass.memory_error()) < 0.05);
  }
  // Data drop holds less and changes nothing.
  CHECK(device.epochs[2].runs[0].tensors_peak < device.epochs[0].runs[0].tensors_peak);
  CHECK(device.epochs[2].runs[0].last_error == device.epochs[0].runs[0].last_error);
}

TEST_CASE("execute on a device says what tensors took that were allocated one by one") {
  const TemporaryFolder folder;
  const auto spec = folder.path() / "one.json";
  write_file_atomically(spec, R"({
    "workload": {"kind": "lstm", "pass": "training", "layers": 2, "steps": 5, "batch": 4,
                 "hidden": 16, "input": 8, "recompute": "data_drop"},
    "machine": "v100", "policy": "diagonal"})");
  ExecuteOptions options;
  options.spec = spec.string();
  options.out = (folder.path() / "out").string();
  options.device = "cuda";
  options.repetitions = 1;
  std::ostringstream out;
  std::ostringstream err;
  CHECK(run(options, Terminal{.out = out, .err = err, .interactive = false, .stop = nullptr}) ==
        exit_done);
  CHECK(out.str().find("tensors: at most") != std::string::npos);
}

}  // namespace schedlab
