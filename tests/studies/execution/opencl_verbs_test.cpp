// SPDX-License-Identifier: Apache-2.0
// Verbs on an OpenCL device of this computer; skipped where there is none.
#include "calibration/device_calibration.hpp"
#include "calibration/device_experiments.hpp"
#include "calibration/opencl_bench.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/buckets/buckets_verb.hpp"
#include "studies/execution/baseline_verb.hpp"
#include "studies/execution/execute_verb.hpp"
#include "studies/execution/opencl_device.hpp"
#include "studies/spec/spec.hpp"
#include "tests/real_exec/opencl/opencl_device.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using nlohmann::json;
using testing::opencl_missing;
using testing::TemporaryFolder;

constexpr const char* lstm = R"({"machine": "manycore_cpu", "policy": "diagonal", "workload":
  {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 3, "batch": 3, "hidden": 16}})";

struct OpenClSession {
  TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;

  [[nodiscard]] std::string written(const std::string& name, const std::string& text) const {
    const auto path = folder.path() / name;
    write_file_atomically(path, text);
    return path.string();
  }
  [[nodiscard]] std::string target() const { return (folder.path() / "out").string(); }
  [[nodiscard]] Terminal terminal() {
    return {.out = out, .err = err, .interactive = false, .stop = nullptr};
  }
  [[nodiscard]] json result(const char* name) const {
    return json::parse(read_file(std::filesystem::path{target()} / name));
  }
};

}  // namespace

TEST_CASE("baseline: CLBlast in one queue, checked against double precision") {
  if (opencl_missing()) return;
  OpenClSession session;
  BaselineOptions options;
  options.spec = session.written("spec.json", lstm);
  options.out = session.target();
  options.device = "opencl";
  options.repetitions = 3;
  options.check = true;
  CHECK(run(options, session.terminal()) == 0);
  const json baseline = session.result("baseline.json");
  CHECK(baseline.at("library") == "clblast");
  const json& variant = baseline.at("workloads").at(0).at("variants").at(0);
  CHECK(variant.at("algorithm") == "one_queue");
  CHECK(variant.at("difference").get<double>() < 1e-5);
  REQUIRE(variant.at("calls").size() == 2);
  CHECK(variant.at("calls").at(1).at("call") == "backward");
  CHECK(variant.at("calls").at(1).at("runs_us").size() == 3);
}

/// The text of a machine that was calibrated on a device of this name, with tiles of this size.
std::string tuned_machine(const std::string& device, int tile) {
  MachineSpec machine = load_machine("manycore_cpu");
  machine.platform.devices[DeviceId{0}].name = device;
  const std::map<std::string, int> set{{"WGD", tile},
                                       {"KWID", 2},
                                       {"MDIMCD", 8},
                                       {"NDIMCD", 8},
                                       {"MDIMAD", 8},
                                       {"NDIMBD", 8},
                                       {"VWMD", 4},
                                       {"VWND", 4},
                                       {"PADA", 0},
                                       {"PADB", 0}};
  for (const auto& [name, value] : set) {
    machine = with_number(std::move(machine),
                          {.pointer = "/device/clblast/XgemmDirect/" + name,
                           .value = static_cast<double>(value),
                           .origin = Origin::measured,
                           .text = "a test"});
  }
  return write_machine(machine);
}

TEST_CASE("CLBlast's parameters are those of a machine of this device, and results stay right") {
  if (opencl_missing()) return;
  OpenClSession session;
  const std::string device = opencl_devices().devices.front().name;
  BaselineOptions options;
  options.spec = session.written("spec.json", lstm);
  options.machine = session.written("tuned.json", tuned_machine(device, 32));
  options.out = session.target();
  options.device = "opencl";
  options.repetitions = 1;
  options.check = true;
  CHECK(run(options, session.terminal()) == 0);
  const json baseline = session.result("baseline.json");
  CHECK(baseline.dump().find("CLBlast with the machine's parameters on ") != std::string::npos);
  CHECK(baseline.at("workloads").at(0).at("variants").at(0).at("difference").get<double>() < 1e-5);

  const auto products_of = [&](const std::string& machines) {
    const Spec spec = parse_spec(
        R"({"workload": {"kind": "grid"}, "policy": "heft", "machine": )" + machines + "}",
        "spec.json",
        session.folder.path());
    const Grid grid(spec);
    return machine_products(Components(spec, grid), grid, 0);
  };
  const std::string same = json(options.machine).dump();
  const std::string other =
      json(session.written("other.json", tuned_machine("another device", 16))).dump();
  const std::string again = json(session.written("again.json", tuned_machine(device, 64))).dump();
  CHECK(products_of("[" + other + ", " + same + "]").at("XgemmDirect").at("WGD") == 32);
  CHECK(products_of(R"("manycore_cpu")").empty());
  CHECK(products_of(other).empty());
  CHECK_THROWS_WITH_AS(static_cast<void>(products_of("[" + same + ", " + again + "]")),
                       doctest::Contains("execute them one by one"),
                       InputError);
}

TEST_CASE("baseline: a library's device is one that there is") {
  OpenClSession session;
  BaselineOptions options;
  options.spec = session.written("spec.json", lstm);
  options.out = session.target();
  for (const char* word : {"", "tpu", "cuda:1", "opencl:0/2"}) {
    CAPTURE(word);
    options.device = word;
    CHECK_THROWS_WITH_AS(static_cast<void>(run(options, session.terminal())),
                         doctest::Contains("expected cpu, cuda, opencl or opencl:N"),
                         InputError);
  }
  CHECK_FALSE(std::filesystem::exists(session.target()));
}

TEST_CASE("buckets: passes train on an OpenCL device in the memory that was predicted") {
  if (opencl_missing()) return;
  OpenClSession session;
  BucketsOptions options;
  options.spec = session.written("study.json", R"({
    "schedlab": "buckets", "version": 1, "name": "small",
    "lengths": {"kind": "power_law", "longest": 12, "exponent": 0.5, "sequences": 32},
    "training": [{"batch": 8}, {"batch": 8, "recompute": "data_drop"}],
    "rule": "optimal", "buckets": 2,
    "scenario": {"workload": {"kind": "lstm", "include_transfers": false, "layers": 2,
                              "hidden": 32, "input": 16},
                 "machine": "manycore_cpu", "policy": "single_stream"}})");
  options.out = session.target();
  options.execute = "opencl";
  options.repetitions = 1;
  options.memory_time = false;
  CHECK(run(options, session.terminal()) == 0);
  const json epochs = session.result("executed.json").at("rows");
  REQUIRE(epochs.size() == 2);
  for (const json& epoch : epochs) {
    CAPTURE(epoch.dump());
    CHECK(epoch.at("last_squared_error").get<double>() <
          epoch.at("first_squared_error").get<double>());
  }
}

TEST_CASE("calibrate: copies and slow-downs beside others are read off queues of a device") {
  if (opencl_missing()) return;
  OpenClBench bench({}, "manycore_cpu");
  CHECK_FALSE(bench.facts().unit_kernels);
  for (const RuleReading& one : measure_copies(bench, {.runs = 1})) {
    CAPTURE(one.name);
    CHECK(one.measured());
  }
  constexpr CutRule cut{.flops_per_block = 1e6, .bytes_per_block = 65536};
  const CoRunSlowDown slow =
      measure_kernel_co_run(bench, {.runs = 1}, TaskKind::pointwise, 0, cut, bench.facts().units);
  CHECK(slow.factor >= 1.0);
}

TEST_CASE("calibrate: a split device has its groups for units, and a kernel runs on one") {
  if (opencl_missing()) return;
  const OpenClDeviceFacts device = opencl_devices().devices.front();
  if (device.max_groups < 2) {
    testing::skip("the OpenCL device cannot be split");
    return;
  }
  const OpenClBench bench({.group_units = 1}, "manycore_cpu");
  CHECK(bench.facts().unit_kernels);
  CHECK(bench.facts().units == device.units);
}

TEST_CASE("execute: streams are spread over groups of compute units") {
  if (opencl_missing()) return;
  if (opencl_devices().devices.front().max_groups < 2) {
    testing::skip("the OpenCL device cannot be split");
    return;
  }
  OpenClSession session;
  ExecuteOptions options;
  options.spec = session.written("spec.json", lstm);
  options.out = session.target();
  options.device = "opencl:0/1";
  CHECK(run_on_device(options, session.terminal()) == 0);
  CHECK(session.out.str().find("makespan") != std::string::npos);
  options.device = "opencl:0/1000";
  options.overwrite = true;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(run_on_device(options, session.terminal())),
      doctest::Contains("is not split into groups of 1000: a group has at most all of them"),
      DeviceError);
}

}  // namespace schedlab
