// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_calibration.hpp"

#include "calibration/device_experiments.hpp"
#include "calibration/device_report.hpp"
#include "calibration/simulated_device_bench.hpp"
#include "hw_models/measured.hpp"
#include "hw_models/registry.hpp"
#include "real_exec/executor/device_executor.hpp"
#include "real_exec/executor/recording_backend.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/graph/product_layout.hpp"
#include "sim/machine/cache_contents.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/plan/plan_check.hpp"
#include "studies/execution/calibrate_verb.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

const RuleProgress quiet = [](std::string_view, std::size_t, std::size_t) {};

DeviceReport sheet_of(const Platform& device, const Platform& believed) {
  SimulatedDeviceBench bench{device};
  return make_device_report(bench, believed, {.runs = 3}, quiet);
}

const MeasuredRule& rule(const DeviceReport& sheet, std::string_view name) {
  const MeasuredRule* found = sheet.find(name);
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace

TEST_CASE("a device that is what it is believed to be agrees in every rule that is measured") {
  const Platform h200 = load_machine("h200").platform;
  const DeviceReport sheet = sheet_of(h200, h200);
  CHECK(sheet.rules.size() == 34);
  for (const MeasuredRule& one : sheet.rules) {
    CAPTURE(one.name);
    CHECK((one.verdict == RuleVerdict::agrees || one.verdict == RuleVerdict::not_measured));
  }
  CHECK(rule(sheet, "connections").value == 8.0);
  // `fluid` has no places of blocks, and no capacity beside a kernel that has its slots; `blocks`
  // does.
  CHECK(rule(sheet, "empty_units_first").verdict == RuleVerdict::not_measured);
  CHECK(rule(sheet, "empty_units_first").assumed == 1.0);
  CHECK(rule(sheet, "priority_blocking").verdict == RuleVerdict::not_measured);
  CHECK(rule(sheet, "priority_blocking").assumed == 1.0);

  Platform by_block = h200;
  by_block.sharing = SharingModel::blocks;
  const DeviceReport whole = sheet_of(by_block, h200);
  for (const char* name : {"empty_units_first", "head_of_line_blocking", "priority_blocking"}) {
    CAPTURE(name);
    CHECK(rule(whole, name).verdict == RuleVerdict::agrees);
  }
}

TEST_CASE("the rules can be read off every GPU that ships") {
  for (const char* name : {"m40", "p100", "v100", "a100", "h100", "h200"}) {
    CAPTURE(name);
    const Platform platform = load_machine(name).platform;
    const Device& device = platform.devices[DeviceId{0}];
    const DeviceReport sheet = sheet_of(platform, platform);
    CHECK(rule(sheet, "connections").value == device.connections);
    CHECK(rule(sheet, "priority_levels").value == device.priority_levels);
    CHECK(rule(sheet, "resident_kernels").value == device.resident_kernels);
    CHECK(rule(sheet, "launch_queue_depth").value == platform.hosts[HostId{0}].launch_queue_depth);
    CHECK(*rule(sheet, "stream_gap").value == doctest::Approx(to_us(device.stream_gap)));
    CHECK(*rule(sheet, "event_latency").value == doctest::Approx(to_us(device.event_latency)));
    CHECK(rule(sheet, "starts_in_tail").value == 1.0);
  }
}

TEST_CASE("a device that differs is told where, and its machine gets what was measured") {
  const MachineSpec base = load_machine("h200");
  Platform device = base.platform;
  device.devices[DeviceId{0}].connections = 32;
  device.devices[DeviceId{0}].event_latency = 3us;
  device.devices[DeviceId{0}].priority_levels = 3;
  device.devices[DeviceId{0}].programmatic_gap = 210ns;
  device.hosts[HostId{0}].costs.launch = 3us;
  const DeviceReport sheet = sheet_of(device, base.platform);
  for (const char* name : {"connections", "event_latency", "priority_levels", "host_launch"}) {
    CAPTURE(name);
    CHECK(rule(sheet, name).verdict == RuleVerdict::differs);
  }
  CHECK(rule(sheet, "stream_gap").verdict == RuleVerdict::agrees);

  const MachineSpec measured = with_measured_rules(base, sheet);
  const Device& made = measured.platform.devices[DeviceId{0}];
  CHECK(made.connections == 32);
  CHECK(made.priority_levels == 3);
  CHECK(to_us(made.event_latency) == doctest::Approx(3.0));
  CHECK(to_us(made.programmatic_gap.value()) == doctest::Approx(0.21));
  CHECK(to_us(measured.platform.hosts[HostId{0}].costs.launch) == doctest::Approx(3.0));
  const auto source = std::find_if(
      measured.sources.begin(), measured.sources.end(), [](const NumberSource& number) {
        return number.pointer == "/device/event_latency_us";
      });
  REQUIRE(source != measured.sources.end());
  CHECK(source->origin == Origin::measured);
  CHECK(source->text.find("rule event_latency") != std::string::npos);
  // What no rule is about stays as it was.
  CHECK(made.sm_limits == base.platform.devices[DeviceId{0}].sm_limits);
}

TEST_CASE("what is only a bound does not become a number of the machine") {
  const MachineSpec base = load_machine("h200");
  Platform device = base.platform;
  device.devices[DeviceId{0}].connections = 0;  // one per stream
  const DeviceReport sheet = sheet_of(device, base.platform);
  CHECK(rule(sheet, "connections").at_least);
  CHECK(rule(sheet, "connections").verdict == RuleVerdict::differs);  // more than 40 are not 8
  CHECK(with_measured_rules(base, sheet).platform.devices[DeviceId{0}].connections == 8);
}

TEST_CASE("the device report is valid by its schema, and readable") {
  const Platform h200 = load_machine("h200").platform;
  const DeviceReport sheet = sheet_of(h200, h200);
  const nlohmann::json document = nlohmann::json::parse(device_report_json(sheet));
  CHECK(document["rules"].size() == sheet.rules.size());
  CHECK(document["rules"][0]["verdict"] == "agrees");
  const nlohmann::json schema = nlohmann::json::parse(device_report_schema());
  const auto& allowed = schema["properties"]["rules"]["items"]["properties"];
  for (const nlohmann::json& one : document["rules"]) {
    for (const auto& [key, unused] : one.items()) CHECK(allowed.contains(key));
    for (const nlohmann::json& key : schema["properties"]["rules"]["items"]["required"]) {
      CHECK(one.contains(key.get<std::string>()));
    }
  }
  const std::string text = device_report_text(sheet);
  CHECK(text.find("connections") != std::string::npos);
  CHECK(text.find("yes") != std::string::npos);
  const std::string table = device_report_markdown(sheet);
  CHECK(std::count(table.begin(), table.end(), '\n') == static_cast<long>(sheet.rules.size() + 6));
}

TEST_CASE("the duration of a kernel is that without the gaps around it") {
  const Platform h200 = load_machine("h200").platform;
  const Device& device = h200.devices[DeviceId{0}];
  SimulatedDeviceBench bench{h200};
  const Kernel product = gemm_kernel(1024, 1024, 1024, DataType::fp32, false);
  const KernelSample sample =
      measure_kernel(bench, {.runs = 3}, product, to_us(device.graph_node_gap), {}, 132);
  const Estimate truth =
      make_cost_model("tiled_gemm")
          ->estimate({.name = "gemm", .kind = TaskKind::gemm, .kernels = {product}}, device);
  CHECK(to_us(sample.duration) == doctest::Approx(to_us(truth.duration)));
  CHECK(sample.operation == "gemm");
  CHECK(sample.repetitions == 3);
}

TEST_CASE("small kernels slow each other down as far as they share memory bandwidth") {
  Platform platform = load_machine("h200").platform;
  Device& device = platform.devices[DeviceId{0}];
  const auto factor = [&](double memory, double unit) {
    device.rates.memory = Bandwidth{memory};
    device.rates.unit_bandwidth = Bandwidth{unit};
    device.rates.l2 = Bytes{};
    SimulatedDeviceBench bench{platform};
    const CutRule cut{.flops_per_block = 1e9, .bytes_per_block = 65536};
    return measure_kernel_co_run(
               bench, {.runs = 1}, TaskKind::pointwise, to_us(device.graph_node_gap), cut, 132)
        .factor;
  };
  device.kernel_floor = Duration{0};
  device.rates.memory_efficiency = 1.0;
  // 16 kernels on 8 units each; a unit moves 10 GB/s, all 128 of them 1280 GB/s.
  CHECK(factor(10'000e9, 10e9) == doctest::Approx(1.0).epsilon(0.02));
  CHECK(factor(640e9, 10e9) == doctest::Approx(2.0).epsilon(0.05));
  CHECK(factor(320e9, 10e9) == doctest::Approx(4.0).epsilon(0.05));
}

TEST_CASE("a calibrated machine predicts kernels between those that were measured") {
  const MachineSpec base = load_machine("h200");
  SimulatedDeviceBench bench{base.platform};
  const DeviceCalibration made =
      calibrate_device(bench, base, {.name = "mine", .quick = true}, quiet);
  CHECK(made.machine.name == "mine");
  const Device& device = made.machine.platform.devices[DeviceId{0}];
  REQUIRE(device.profile != nullptr);
  CHECK(device.profile->noise == doctest::Approx(0.0));
  CHECK(default_cost_model_of(device) == "measured");

  Kernel product = gemm_kernel(2048, 1024, 512, DataType::tf32, false);
  const Operation operation{.name = "gemm", .kind = TaskKind::gemm, .kernels = {product}};
  const Duration truth = make_cost_model("tiled_gemm")
                             ->estimate(operation, base.platform.devices[DeviceId{0}])
                             .duration;
  const Duration predicted = Measured{}.estimate(operation, device).duration;
  // Four sides of 64 to 4096 in steps of 16 are few, and tiles have steps: within a half.
  CHECK(to_us(predicted) == doctest::Approx(to_us(truth)).epsilon(0.5));
}

TEST_CASE("products are measured in every layout, in the cache and from memory") {
  const MachineSpec base = load_machine("h200");
  SimulatedDeviceBench bench{base.platform};
  const DeviceCalibration made =
      calibrate_device(bench, base, {.name = "mine", .quick = true}, quiet);
  const Device& device = made.machine.platform.devices[DeviceId{0}];
  std::map<std::string, std::array<std::size_t, 2>> counts;  // from memory, in the cache
  for (const KernelSample& sample : device.profile->samples) {
    const Kernel& kernel = sample.kernel;
    const bool cached = kernel.bytes_cached > Bytes{0};
    ++counts[sample.operation].at(cached ? 1 : 0);
    if (cached) {
      CHECK(kernel.bytes_cached == kernel.bytes_read);
      CHECK(2 * (kernel.bytes_read + kernel.bytes_written).count() <= device.rates.l2.count());
    } else if (sample.operation.starts_with("gemm")) {
      CHECK(kernel.working_set > device.rates.l2);  // more than the cache was written before
    }
    if (sample.operation == "gemm_tn") CHECK(accumulates(kernel));
  }
  for (const char* products : {"gemm", "gemm_nt", "gemm_tn", "pointwise", "reduction"}) {
    CAPTURE(products);
    const auto [cold, hot] = counts[products];
    CHECK(hot > 0);
    CHECK(cold >= hot);
  }
  CHECK(counts["copy_host_to_device"][1] == 0);
  // The profile says what of a graph's operands is in the cache.
  CHECK(profiled_caches(device).last.size == device.rates.l2);
}

TEST_CASE("a chain from memory writes over the cache first and uses each operand once") {
  const Kernel product = gemm_kernel(64, 1024, 4096, DataType::fp32, false);
  const Microbenchmark hot = graph_chain(5, product);
  CHECK(hot.graph.task_count() == 5);
  const Microbenchmark cold = graph_chain(5, {"gemm_nt", product}, Bytes{100 << 20});
  REQUIRE(cold.graph.task_count() == 6);
  CHECK(cold.graph.operation(TaskId{0}).bytes_written() == Bytes{100 << 20});
  std::set<std::int16_t> layers;
  for (std::uint32_t i = 1; i < 6; ++i) {
    CHECK(cold.graph.operation(TaskId{i}).name == "gemm_nt");
    layers.insert(cold.graph.tags(TaskId{i}).layer);
  }
  CHECK(layers.size() == 5);
}

TEST_CASE("what a call costs is measured by its kind") {
  Platform device = load_machine("h200").platform;
  SimulatedDeviceBench bench{device};
  const auto readings = measure_call_kinds(bench, {.runs = 3});
  REQUIRE(readings.size() == 3);
  const double launch = to_us(device.hosts[HostId{0}].costs.launch);
  CHECK(median(readings[0].values) == doctest::Approx(launch));  // point-wise: as any
  CHECK(median(readings[1].values) == doctest::Approx(0.0));     // products: nothing on top
  CHECK(median(readings[2].values) == doctest::Approx(0.0));
}

TEST_CASE("a device is known by the machine in its name") {
  CHECK(base_machine("NVIDIA H200", "").name == "h200");
  CHECK(base_machine("NVIDIA A100-SXM4-80GB", "").name == "a100");
  CHECK(base_machine("Tesla V100-SXM2-16GB", "").name == "v100");
  CHECK(base_machine("NVIDIA H200", "p100").name == "p100");  // what is asked for
  try {
    (void)base_machine("NVIDIA RTX 9999", "");
    FAIL("a machine was found for an unknown device");
  } catch (const InputError& error) {
    CHECK(error.problem().file == "--base");
    CHECK(error.problem().hint.find("h200") != std::string::npos);
  }
}

TEST_CASE("calibrating a device writes its machine and the device report beside it") {
  const testing::TemporaryFolder folder;
  const std::string out = (folder.path() / "mine.json").string();
  const MachineSpec base = load_machine("h200");
  SimulatedDeviceBench bench{base.platform};
  std::ostringstream text;
  std::ostringstream notes;
  REQUIRE(run(CalibrateOptions{.device = "cuda", .out = out, .quick = true},
              bench,
              base,
              Terminal{text, notes}) == exit_done);
  CHECK(load_machine(out).name == "gpu");
  const auto sheet = nlohmann::json::parse(read_file(folder.path() / "mine.device_report.json"));
  CHECK(sheet["machine"] == "h200");
  CHECK(read_file(folder.path() / "mine.device_report.md").find("| question |") !=
        std::string::npos);
  CHECK(text.str().find("connections") != std::string::npos);
  CHECK(text.str().find("gemm tf32") != std::string::npos);
}

TEST_CASE("a device calibration that is stopped writes nothing") {
  const testing::TemporaryFolder folder;
  const std::string out = (folder.path() / "mine.json").string();
  const MachineSpec base = load_machine("h200");
  SimulatedDeviceBench bench{base.platform};
  std::ostringstream text;
  std::ostringstream notes;
  const StopFlag stop{true};
  CHECK_THROWS_AS((void)run(CalibrateOptions{.device = "cuda", .out = out, .quick = true},
                            bench,
                            base,
                            Terminal{text, notes, false, &stop}),
                  Interrupted);
  CHECK(std::filesystem::is_empty(folder.path()));
}

namespace {

/// DeviceExecutor on a backend that does nothing: what a device would be asked. Limits of an H200.
class AskedOfADevice final : public DeviceBench {
 public:
  [[nodiscard]] DeviceFacts facts() const override {
    return {.name = "none", .software = "none", .date = "no day", .units = 4, .priority_levels = 6};
  }
  [[nodiscard]] const SmLimits& limits() const override {
    return h200_.platform.devices[DeviceId{0}].sm_limits;
  }
  void run(const Microbenchmark& benchmark,
           const std::function<bool(const BenchRun&)>& again) override {
    CHECK(check(benchmark.graph, h200_.platform, benchmark.plan).empty());
    backend_.times.clear();
    if (benchmark.time_tasks) {
      for (const TaskId task : benchmark.graph.tasks()) {
        const Time ended{task.value() * 1us};
        backend_.times.push_back({.task = task, .started = ended, .ended = ended});
      }
    }
    DeviceExecutor executor{
        backend_, {.timing = benchmark.time_tasks ? TaskTiming::events : TaskTiming::none}};
    Execution execution;
    BenchRun made;
    do {
      executor.run(benchmark.graph, benchmark.plan, execution);
      made.trace = execution.trace;
      ++runs;
    } while (again(made));
    CHECK(backend_.runs_ended() == runs);
  }

  std::uint32_t runs = 0;

 private:
  MachineSpec h200_ = load_machine("h200");
  RecordingBackend backend_{{.name = "none",
                             .least_priority = 0,
                             .greatest_priority = -5,
                             .units = 4,
                             .memory = {},
                             .programmatic_launches = true}};
};

}  // namespace

TEST_CASE("every microbenchmark is a plan without findings that an executor of devices takes") {
  for (const DeviceExperiment& experiment : device_experiments()) {
    CAPTURE(experiment.name);
    AskedOfADevice bench;
    const auto readings = experiment.measure(bench, {.runs = 1});
    CHECK(bench.runs >= 2);  // one that counts, one that does not
    CHECK_FALSE(readings.empty());
  }
  AskedOfADevice bench;
  for (const MeasuredKernel& kernel :
       profiled_kernels(load_machine("h200").platform.devices[DeviceId{0}], true)) {
    (void)measure_kernel(bench, {.runs = 1}, kernel, 0, {}, 132);
  }
}

TEST_CASE(
    "where kernels are timed by events, what memory bounds is measured at each power of two") {
  const MachineSpec machine = load_machine("manycore_cpu");
  const auto sizes = [&](bool quick, bool all_sizes) {
    std::size_t copies = 0;
    for (const MeasuredKernel& one :
         profiled_kernels(machine.platform.devices[DeviceId{0}], quick, all_sizes)) {
      copies += one.kernel.kind == TaskKind::copy_device_to_device ? 1 : 0;
    }
    return copies;
  };
  CHECK(sizes(false, false) == 8);  // 4 KiB to 64 MiB, each four times the one before
  CHECK(sizes(false, true) == 15);
  CHECK(sizes(true, true) == sizes(true, false));
}

}  // namespace schedlab
