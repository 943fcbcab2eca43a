// SPDX-License-Identifier: Apache-2.0
#include "calibration/cache_curve.hpp"
#include "calibration/calibration.hpp"
#include "calibration/device_times.hpp"
#include "calibration/kernel_cases.hpp"
#include "calibration/kernel_times.hpp"
#include "hw_models/measured.hpp"
#include "sim/base/error.hpp"
#include "studies/execution/calibrate_verb.hpp"
#include "tests/calibration/simulated_bench.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/models/recurrent/lstm.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using testing::SimulatedBench;

double number_of(const MachineSpec& machine, std::string_view pointer) {
  for (const NumberSource& source : machine.sources) {
    if (source.pointer == pointer) {
      CHECK(source.origin == Origin::measured);
      return source.value;
    }
  }
  FAIL("no " << pointer);
  return 0;
}

const CalibrationProgress quiet = [](std::string_view, std::size_t, std::size_t) {};

MachineSpec quick_machine(SimulatedBench& bench) {
  return calibrate(bench, {.name = "made_up", .quick = true, .seconds = 1e-9}, quiet);
}

}  // namespace

TEST_CASE("calibrated shapes keep their distance from those of validation") {
  constexpr ShapePoint validation[] = {
      {64, 32}, {128, 8}, {128, 32}, {256, 16}, {256, 64}, {512, 8}, {512, 32}, {1024, 16}};
  const auto apart = [](double a, double b) { return std::max(a / b, b / a) >= 1.5; };
  for (const KernelCase& one : kernel_cases(2, false)) {
    for (const ShapePoint& other : validation) {
      CAPTURE(one.spec.hidden);
      CAPTURE(one.spec.batch);
      CHECK((apart(static_cast<double>(one.spec.hidden), static_cast<double>(other.hidden)) ||
             apart(static_cast<double>(one.spec.batch), static_cast<double>(other.batch))));
    }
    CHECK(one.spec.hidden > 64);  // those are outside the range
    CHECK(one.spec.hidden < 1024);
  }
}

TEST_CASE("calibration finds the numbers of a known computer") {
  SimulatedBench bench{2, 0.0};
  const MachineSpec machine = quick_machine(bench);
  CHECK(number_of(machine, "/host/launch_us") == doctest::Approx(0.5));
  CHECK(number_of(machine, "/host/record_us") == doctest::Approx(0.1));
  CHECK(number_of(machine, "/host/wait_us") == doctest::Approx(0.2));
  CHECK(number_of(machine, "/host/query_us") == doctest::Approx(0.05));
  CHECK(number_of(machine, "/host/synchronize_us") == doctest::Approx(0.15));
  CHECK(number_of(machine, "/device/launch_latency_us") == doctest::Approx(0.4));
  CHECK(number_of(machine, "/device/stream_gap_us") == doctest::Approx(0.3));
  CHECK(number_of(machine, "/device/event_latency_us") == doctest::Approx(0.7));
  const Device& device = machine.platform.devices[DeviceId{0}];
  CHECK(device.unit_classes[UnitClassId{0}].count == 2);
  CHECK(machine.platform.sharing == SharingModel::fluid);
  REQUIRE(device.profile != nullptr);
  CHECK(device.profile->noise == 0.0);
  CHECK(device.profile->how.ends_with("medians over the fastest 80 % of the runs"));
  CHECK(device.profile->cpu == "simulated CPU");
  for (const KernelSample& sample : device.profile->samples) {
    CHECK(to_seconds(sample.duration) ==
          doctest::Approx(testing::true_seconds(sample.kernel, 2)).epsilon(1e-6));
    CHECK(sample.kernel.bytes_cached == Bytes{0});  // the bench does not say how large a cache is
  }
  for (const CoRunSlowDown& one : device.profile->co_run) CHECK(one.factor == doctest::Approx(1.0));
}

TEST_CASE(
    "durations are medians over undisturbed whole runs, of blocks and not of what they wait") {
  using namespace schedlab::literals;
  TaskGraphBuilder builder;
  Kernel kernel = gemm_kernel(8, 8, 8, DataType::fp32, false);
  const OperationId product =
      builder.add_operation({.name = "product", .kind = TaskKind::gemm, .kernels = {kernel}});
  builder.add_task(product);
  builder.add_task(product);
  const TaskGraph graph = std::move(builder).build();
  KernelTimes times{graph, 2};
  // Task 0 takes 10, 20, 30, 40, 100 us in five runs, its two blocks 3 us less on average; task 1
  // always 50.
  for (const Duration first : {10us, 20us, 30us, 40us, 100us}) {
    Execution run;
    const Time middle = Time{} + first;
    run.blocks = {{.task = TaskId{0}, .block = 0, .started = Time{}, .ended = middle - 5us},
                  {.task = TaskId{0}, .block = 1, .started = Time{} + 1us, .ended = middle},
                  {.task = TaskId{1}, .block = 0, .started = middle, .ended = middle + 50us}};
    run.trace.ended = middle + 50us;
    times.add(run);
  }
  const auto duration = [&](double share) {
    const auto samples = times.samples(share);
    REQUIRE(samples.size() == 1);
    CHECK(samples[0].operation == "product");
    return to_us(samples[0].duration);
  };
  // Of the runs with 10, 20, 30 us the median, and of those with 10 and 20 us.
  CHECK(duration(0.5) == doctest::Approx((17 + 50) / 2.0));
  CHECK(duration(0.25) == doctest::Approx((12 + 50) / 2.0));
}

TEST_CASE("samples know what of their operands the calibrated model leaves in the cache") {
  SimulatedBench bench{2, 0.0};
  bench.last_level_cache = Bytes{32 << 20};
  bench.unit_cache = Bytes{1 << 20};
  const MachineSpec machine = quick_machine(bench);
  const Device& device = machine.platform.devices[DeviceId{0}];
  CHECK(device.rates.l2 == Bytes{32 << 20});
  // hidden_1 reads the weights of a layer, 640 x 2560 x 4 B = 6.25 MiB, and little else. Of 1
  // layer: these and as many more three times over, 25 MiB (two matrices, two gradients), stay in
  // 27 MiB. Of 4 layers 100 MiB come between two uses.
  int seen = 0;
  for (const KernelSample& sample : device.profile->samples) {
    const Kernel& kernel = sample.kernel;
    CHECK(kernel.bytes_cached <= kernel.bytes_read);
    if (sample.operation != "hidden_1" || kernel.n != 640 || kernel.m != 5) continue;
    ++seen;
    const double share = static_cast<double>(kernel.bytes_cached.count()) /
                         static_cast<double>(kernel.bytes_read.count());
    const bool one_layer = kernel.working_set < Bytes{60 << 20};
    CHECK((one_layer ? share > 0.8 : share < 0.2));
  }
  CHECK(seen == 2);
  CHECK(device.rates.unit_cache == Bytes{1 << 20});
  // The same shapes with operands near and far: hidden 384, batch 72, two layers, one step:
  // weight_1 adds 72 x 1536 gradients of gates and 72 x 384 inputs (0.53 MiB) to a matrix of 2.3
  // MiB, always beyond 2 MiB. Cell by cell the gradients were read just before; at the end
  // everything else came between.
  double least = 1;
  double most = 0;
  for (const KernelSample& sample : device.profile->samples) {
    const Kernel& kernel = sample.kernel;
    CHECK(kernel.bytes_unit_cached <= kernel.bytes_cached);
    if (sample.operation != "weight_1" || kernel.m != 384 || kernel.k != 72) continue;
    const double share = static_cast<double>(kernel.bytes_unit_cached.count()) /
                         static_cast<double>(kernel.bytes_read.count());
    least = std::min(least, share);
    most = std::max(most, share);
  }
  CHECK(most > 0.1);
  CHECK(least < 0.05);
}

TEST_CASE("orders of a calibrated model are different ones of the same tasks") {
  const RecurrentSpec spec{.layers = 2,
                           .steps = 3,
                           .batch = 6,
                           .hidden = 80,
                           .pass = RecurrentPass::training,
                           .granularity = Granularity::fine};
  std::vector<std::vector<TaskId>> orders;
  for (const TaskOrder order : {TaskOrder::by_step,
                                TaskOrder::by_layer,
                                TaskOrder::weights_later,
                                TaskOrder::weights_last}) {
    const BenchCase made = bench_case({.spec = spec, .blocks = 1, .order = order});
    std::vector<TaskId>& tasks = orders.emplace_back();
    for (const HostCall& call : made.plan.hosts[HostId{0}].calls) {
      if (call.kind() == HostCallKind::launch) tasks.push_back(call.task());
    }
    CHECK(tasks.size() == made.graph.task_count());
    CHECK(made.plan.streams.size() == 1);
    if (order != TaskOrder::weights_last) continue;
    // Nothing but updates and copies comes after the first weight gradient.
    bool weights = false;
    for (const TaskId task : tasks) {
      const TaskClass of_task = made.graph.operation(task).task_class;
      weights = weights || of_task == TaskClass::weight_gradient;
      if (weights) CHECK_FALSE(is_critical(of_task));
    }
    CHECK(weights);
  }
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(orders[i] != orders[j]);
  }
}

TEST_CASE("what a cache still has follows from the time of reading again and again") {
  // 10 ps a byte from the cache and 30 from memory: 15 are a quarter of the way, 20 a half.
  const std::vector<SweepTime> sweeps{{0.4, 10.5e-12},
                                      {0.5, 10e-12},
                                      {0.625, 9.5e-12},
                                      {1.0, 15e-12},
                                      {1.5, 20e-12},
                                      {2.0, 19e-12},
                                      {3.0, 30e-12}};
  const std::vector<CacheShare> curve = cache_curve(sweeps);
  REQUIRE(curve.size() == sweeps.size());
  const double expected[] = {1.0, 1.0, 1.0, 0.75, 0.5, 0.5, 0.0};  // never rising
  for (std::size_t i = 0; i < curve.size(); ++i) {
    CHECK(curve[i].distance == sweeps[i].distance);
    CHECK(curve[i].share == doctest::Approx(expected[i]));
  }
  // Memory that is hardly slower tells nothing.
  CHECK(cache_curve({{0.5, 10e-12}, {1.0, 11e-12}, {3.0, 12e-12}}).empty());
  CHECK(cache_curve({}).empty());
  CHECK(CacheSweeps{Bytes{0}, 2}.curve().empty());
}

TEST_CASE("a model of another shape is predicted from a noisy calibration") {
  SimulatedBench bench{2, 0.05};
  const MachineSpec machine = quick_machine(bench);
  const Device& device = machine.platform.devices[DeviceId{0}];
  const TaskGraph graph = CutKernels::for_device(device)->apply(
      lstm({.layers = 2, .steps = 6, .batch = 32, .hidden = 256, .pass = LstmPass::training}));
  const CostTable predicted{graph, machine.platform, Measured{}};
  const CostTable exact{graph, machine.platform, testing::TrueCosts{2}};
  double predicted_sum = 0;
  double exact_sum = 0;
  for (const TaskId task : graph.tasks()) {
    predicted_sum += to_seconds(predicted.duration(task));
    exact_sum += to_seconds(exact.duration(task));
  }
  CHECK(predicted_sum == doctest::Approx(exact_sum).epsilon(0.03));
}

TEST_CASE("kernels are cut where that saves time, and not for a few per cent") {
  // One block takes 1 us + w, two take 1 us + w / 2: a sixth is saved from w = 0.4 us on.
  KernelProfile profile = testing::synthetic_profile(0.0);
  profile.cut = choose_cut(profile, 2);
  const auto blocks = [&](std::int64_t bytes) {
    return profile.cut.blocks(
        {.kind = TaskKind::pointwise, .bytes_read = Bytes{bytes}, .bytes_written = Bytes{0}}, 2);
  };
  CHECK(blocks(1'000) == 1);      // 0.05 us at 20 GB/s
  CHECK(blocks(2'000'000) == 2);  // 100 us
  CHECK(choose_cut(profile, 1).blocks(profile.samples.back().kernel, 1) == 1);
}

TEST_CASE("the verb writes a machine that specs can name, and says how good it is") {
  const testing::TemporaryFolder folder;
  const std::string out = (folder.path() / "machine.json").string();
  SimulatedBench bench{2, 0.02};
  std::ostringstream text;
  std::ostringstream notes;
  const CalibrateOptions options{.out = out, .name = "made_up", .quick = true};
  CHECK(run(options, bench, Terminal{text, notes}) == exit_done);
  CHECK(text.str().find("hidden_1") != std::string::npos);
  CHECK(text.str().find("left out of the fit") != std::string::npos);
  const MachineSpec machine = load_machine(out);
  CHECK(machine.name == "made_up");
  CHECK(machine.platform.devices[DeviceId{0}].profile != nullptr);
}

TEST_CASE("with fewer seconds less is run, and the machine file says so") {
  const testing::TemporaryFolder folder;
  const std::string out = (folder.path() / "machine.json").string();
  std::ostringstream text;
  std::size_t runs = 0;
  for (const double seconds : {0.001, 100.0}) {
    SimulatedBench bench{2, 0.0};
    const CalibrateOptions options{.out = out, .quick = true, .seconds = seconds};
    CHECK(run(options, bench, Terminal{text, text}) == exit_done);
    CHECK(bench.runs() > runs);
    runs = bench.runs();
  }
  const MachineSpec machine = load_machine(out);
  CHECK(machine.platform.devices[DeviceId{0}].profile->how.find("--quick --seconds 100:") !=
        std::string::npos);
}

TEST_CASE("an interrupted calibration writes nothing and leaves an older file alone") {
  const testing::TemporaryFolder folder;
  const std::string out = (folder.path() / "machine.json").string();
  StopFlag stop{false};
  SimulatedBench bench{2, 0.0};
  bench.before_run = [&] {
    if (bench.runs() == 30) stop = true;
  };
  std::ostringstream text;
  std::ostringstream notes;
  CHECK_THROWS_AS(
      static_cast<void>(run(
          CalibrateOptions{.out = out, .quick = true}, bench, Terminal{text, notes, false, &stop})),
      Interrupted);
  CHECK(bench.runs() <=
        4 * 26);  // the experiments with host calls, of which it is one, are finished
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a file that cannot be written is refused before anything is measured") {
  SimulatedBench bench{2, 0.0};
  std::ostringstream text;
  const CalibrateOptions options{.out = "/no/such/folder/machine.json", .quick = true};
  CHECK_THROWS_WITH_AS(static_cast<void>(run(options, bench, Terminal{text, text})),
                       doctest::Contains("no folder \"/no/such/folder\""),
                       InputError);
  CHECK(bench.runs() == 0);
}

}  // namespace schedlab
