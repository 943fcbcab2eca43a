// SPDX-License-Identifier: Apache-2.0
#include "hw_models/measured.hpp"

#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/product_layout.hpp"
#include "tests/hw_models/synthetic_profile.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::synthetic_profile;
using testing::true_seconds;
using testing::with_blocks;

Device profiled_device(const KernelProfile& profile) {
  Device device;
  device.name = "made-up CPU";
  const UnitClassId cores = device.unit_classes.push_back({.name = "core", .count = 2});
  for (const TaskKind kind : {TaskKind::gemm, TaskKind::pointwise, TaskKind::composite}) {
    device.unit_class_of[static_cast<std::size_t>(kind)] = cores;
  }
  device.stream_gap = Duration{500'000};
  device.rates.matrix_units = 2;
  device.rates.vector_units = 2;
  device.rates.memory = Bandwidth{10e9};
  device.profile = std::make_shared<const KernelProfile>(profile);
  return device;
}

Operation single(const std::string& name, const Kernel& kernel) {
  return {.name = name, .kind = kernel.kind, .kernels = {kernel}};
}

constexpr RecurrentShape shape{.batch = 32, .hidden = 256, .width = 256};

}  // namespace

TEST_CASE("durations come from the class of the operation's name, for the given cut") {
  const Device device = profiled_device(synthetic_profile(0.0));
  const Measured model;
  for (const std::uint32_t blocks : {1U, 2U}) {
    const Kernel kernel = with_blocks(hidden_2_kernel(shape), blocks);
    const Estimate estimate = model.estimate(single("hidden_2", kernel), device);
    CHECK(to_seconds(estimate.duration) == doctest::Approx(true_seconds(kernel, 2)).epsilon(0.02));
    CHECK(estimate.share == 0.5 * blocks);
    CHECK(estimate.blocks == blocks);
    CHECK(estimate.bandwidth == Bandwidth{});
    CHECK(estimate.bound == Bound::compute);
  }
}

TEST_CASE("a kernel that is not cut yet is cut as the profile says") {
  KernelProfile profile = synthetic_profile(0.0);
  profile.cut = {.flops_per_block = 1e6, .bytes_per_block = 1e9};
  const Device device = profiled_device(profile);
  // 2 * 32 * 256 * 1024 = 16.8 MFLOP: more blocks than units
  CHECK(Measured{}.estimate(single("hidden_2", hidden_2_kernel(shape)), device).blocks == 2);
}

TEST_CASE("kernels without names are found by the work they do") {
  const ProfileFits fits{synthetic_profile(0.0)};
  const TaskGraph graph = lstm(
      {.layers = 2, .steps = 2, .batch = 32, .hidden = 256, .granularity = Granularity::coarse});
  const Operation* node = nullptr;
  for (const Operation& operation : graph.operations()) {
    if (operation.kernels.size() == 5) node = &operation;
  }
  REQUIRE(node != nullptr);
  // cell, hidden_1, hidden_2, weight_1, weight_2; equal widths make hidden_1 and hidden_2 equal.
  const auto name = [&](std::size_t kernel) {
    return fits.find(*node, node->kernels[kernel])->operation();
  };
  CHECK(name(0) == "cell");
  CHECK(name(1) == "hidden_1");
  CHECK(name(2) == "hidden_1");
  CHECK(fits.find(*node, node->kernels[2], 1)->operation() == "hidden_2");  // the second of two
  CHECK(name(3) == "weight_1");
  CHECK(name(4) == "weight_2");
  Operation forward{.name = "node_forward",
                    .kind = TaskKind::composite,
                    .kernels = {input_kernel(shape), cell_forward_kernel(shape)}};
  CHECK(fits.find(forward, forward.kernels[0])->operation() == "input_gemm");
  CHECK(fits.find(forward, forward.kernels[1])->operation() == "cell_forward");
}

TEST_CASE("an operation of several kernels takes their sum and the gaps between them") {
  const Device device = profiled_device(synthetic_profile(0.0));
  const Kernel first = with_blocks(cell_kernel(shape, 1), 2);
  const Kernel second = with_blocks(weight_1_kernel(shape, 4), 1);
  const Measured model;
  const Duration sum = model.estimate(single("cell", first), device).duration +
                       model.estimate(single("weight_1", second), device).duration;
  const Estimate both = model.estimate(
      {.name = "node", .kind = TaskKind::composite, .kernels = {first, second}}, device);
  CHECK(both.duration == sum + device.stream_gap);
  CHECK(both.share == 1.0);  // of the wider kernel
}

TEST_CASE("equal kernels of an operation are the classes that are equally near, in their order") {
  KernelProfile profile = synthetic_profile(0.0);
  for (KernelSample& sample : profile.samples) {
    if (sample.operation == "hidden_2") sample.duration *= 3;
  }
  const Device device = profiled_device(profile);
  const Measured model;
  const Kernel kernel = with_blocks(hidden_1_kernel(shape), 2);
  const Duration both =
      model
          .estimate({.name = "node", .kind = TaskKind::composite, .kernels = {kernel, kernel}},
                    device)
          .duration;
  CHECK(both == model.estimate(single("hidden_1", kernel), device).duration + device.stream_gap +
                    model.estimate(single("hidden_2", kernel), device).duration);
}

TEST_CASE("what was not measured is refused by kind and operation") {
  const Device device = profiled_device(synthetic_profile(0.0));
  const Measured model;
  const Operation pool{.name = "pool",
                       .kind = TaskKind::reduction,
                       .kernels = {{.kind = TaskKind::reduction, .bytes_written = Bytes{400}}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(model.estimate(pool, device)),
                       doctest::Contains("operation \"pool\": no kernel of kind reduction in fp32"),
                       InfeasibleError);
  // A GRU's cell has the name of an LSTM's and does other work.
  RecurrentShape gru = shape;
  gru.cell = RecurrentCell::gru;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(model.estimate(single("cell", cell_kernel(gru, 1)), device)),
      doctest::Contains("schedlab calibrate"),
      InfeasibleError);
  Device bare = device;
  bare.profile = nullptr;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(model.estimate(single("cell", cell_kernel(shape, 1)), bare)),
      doctest::Contains("nothing was measured on device \"made-up CPU\""),
      InfeasibleError);
}

TEST_CASE("kernels of one name that do other work are classes of their own") {
  KernelProfile profile = synthetic_profile(0.0);
  RecurrentShape gru = shape;
  gru.cell = RecurrentCell::gru;
  const Kernel kernel = with_blocks(cell_kernel(gru, 1), 2);
  profile.samples.push_back(
      {.operation = "cell", .kernel = kernel, .units = 2, .duration = Duration{77'000'000}});
  const ProfileFits fits{profile};
  const Operation lstm_cell = single("cell", with_blocks(cell_kernel(shape, 1), 2));
  const Operation gru_cell = single("cell", kernel);
  CHECK(fits.find(lstm_cell, lstm_cell.kernels[0])->samples().size() == 72);
  CHECK(fits.find(gru_cell, kernel)->samples().size() == 1);
  // Without or with a layer above, it is one cell.
  const Operation top = single("cell", with_blocks(cell_kernel(shape, 0), 2));
  CHECK(fits.find(top, top.kernels[0])->samples().size() == 72);
}

TEST_CASE("a kernel without a name goes to the work it is most like, not to the size") {
  // A GRU's candidate_cell does nearly the work of an LSTM's cell: 4.3 and 4.8 FLOP per result.
  KernelProfile profile = synthetic_profile(0.0);
  const Kernel wanted = with_blocks(cell_kernel(shape, 1), 2);
  Kernel other = wanted;
  other.flops = Flops{wanted.flops.count() * 0.9};
  profile.samples.push_back({.operation = "candidate_cell",
                             .kernel = other,
                             .units = 2,
                             .duration = Duration{77'000'000}});
  const Operation node{.name = "node",
                       .kind = TaskKind::composite,
                       .kernels = {wanted, with_blocks(hidden_1_kernel(shape), 2)}};
  CHECK(ProfileFits{profile}.find(node, wanted)->operation() == "cell");
}

TEST_CASE("kernels of other operations take the generic class of their kind") {
  KernelProfile profile = synthetic_profile(0.0);
  const Operation other = single("my_layer", with_blocks(hidden_1_kernel(shape), 1));
  CHECK(ProfileFits{profile}.find(other, other.kernels[0])->operation() == "hidden_1");
  KernelSample sample{.operation = "gemm",
                      .kernel = with_blocks(gemm_kernel(64, 64, 64, DataType::fp32, false), 1),
                      .units = 2,
                      .duration = Duration{30'000'000}};
  profile.samples.push_back(sample);
  CHECK(ProfileFits{profile}.find(other, other.kernels[0])->operation() == "gemm");
}

namespace {

/// Products by layout as a device's calibration measures them: each in the cache and from memory,
/// where the second takes twice as long; nt takes 3 times, tn 5 times what nn takes.
KernelProfile profile_by_layout() {
  KernelProfile profile{.how = "made up", .units = 2};
  for (const ProductLayout layout : product_layouts) {
    const double slower = layout == ProductLayout::nn ? 1 : layout == ProductLayout::nt ? 3 : 5;
    for (const std::int64_t m : {16, 64, 256}) {
      for (const std::int64_t n : {256, 1024}) {
        Kernel kernel = gemm_kernel(m, n, 256, DataType::fp32, layout == ProductLayout::tn);
        kernel.grid.blocks = 2;
        for (const bool cached : {true, false}) {
          kernel.bytes_cached = cached ? kernel.bytes_read : Bytes{0};
          kernel.working_set = Bytes{1 << 30};
          const double seconds = slower * (cached ? 1 : 2) * kernel.flops.count() / 50e9;
          profile.samples.push_back({.operation = std::string{product_name(layout)},
                                     .kernel = kernel,
                                     .units = 2,
                                     .duration = round_up_seconds(seconds),
                                     .repetitions = 5});
        }
      }
    }
  }
  return profile;
}

}  // namespace

TEST_CASE("products of recurrent layers take the class of their layout") {
  const ProfileFits fits{profile_by_layout()};
  for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
    const TaskGraph graph =
        lstm({.layers = 2, .steps = 2, .batch = 32, .hidden = 256, .granularity = granularity});
    for (const Operation& operation : graph.operations()) {
      for (const Kernel& kernel : operation.kernels) {
        if (kernel.kind != TaskKind::gemm) continue;
        CAPTURE(operation.name);
        const bool weights = accumulates(kernel);
        const bool forward =
            operation.name.find("_gemm") != std::string::npos || operation.name == "node_forward";
        CHECK(fits.find(operation, kernel)->operation() == (weights   ? "gemm_tn"
                                                            : forward ? "gemm"
                                                                      : "gemm_nt"));
      }
    }
  }
  // Where only one layout was measured it stands for all.
  KernelProfile one = profile_by_layout();
  std::erase_if(one.samples, [](const KernelSample& sample) { return sample.operation != "gemm"; });
  const Kernel kernel = gemm_kernel(32, 256, 1024, DataType::fp32, false);
  CHECK(ProfileFits{one}.find(single("hidden_1", kernel), kernel)->operation() == "gemm");
}

TEST_CASE("a product whose operands come from memory takes what such products took") {
  const Device device = profiled_device(profile_by_layout());
  Kernel kernel = gemm_kernel(64, 1024, 256, DataType::fp32, false);
  kernel.grid.blocks = 2;
  kernel.working_set = Bytes{1 << 30};
  const double alone = kernel.flops.count() / 50e9;
  const auto seconds = [&](const char* name, bool cached) {
    kernel.bytes_cached = cached ? kernel.bytes_read : Bytes{0};
    return to_seconds(Measured{}.estimate(single(name, kernel), device).duration);
  };
  CHECK(seconds("input_gemm", true) == doctest::Approx(alone).epsilon(0.1));
  CHECK(seconds("input_gemm", false) == doctest::Approx(2 * alone).epsilon(0.1));
  CHECK(seconds("hidden_1", true) == doctest::Approx(3 * alone).epsilon(0.1));
  CHECK(seconds("hidden_1", false) == doctest::Approx(6 * alone).epsilon(0.1));
}

TEST_CASE("of the time in which a product waits others have as much as was measured") {
  KernelProfile profile = testing::waiting_products(100);
  const auto blocks = [&](double hidden, const Kernel& kernel) {
    profile.hidden_latency = hidden;
    Device device = profiled_device(profile);
    for (UnitClass& units : device.unit_classes) units.count = 100;
    const Estimate estimate = Measured{}.estimate(single("gemm", kernel), device);
    CHECK(estimate.share == doctest::Approx(estimate.blocks / 100.0));
    return estimate.blocks;
  };
  // 64 x 1024 x 1024: 134 MFLOP, 1.34 us of 5.34; it waits for 0.75 of its time.
  const Kernel small = gemm_kernel(64, 1024, 1024, DataType::fp32, false);
  CHECK(blocks(0.0, small) == 100);
  CHECK(blocks(0.5, small) == doctest::Approx(100 - 50 * 0.75).epsilon(0.03));
  CHECK(blocks(1.0, small) == doctest::Approx(100 - 100 * 0.75).epsilon(0.06));
  // 2048 x 4096 x 1024: 172 us, it hardly waits.
  CHECK(blocks(1.0, gemm_kernel(2048, 4096, 1024, DataType::fp32, false)) >= 96);
  // Who has fewer blocks than that keeps them.
  CHECK(blocks(0.5, with_blocks(small, 10)) == 10);
}

TEST_CASE("measured slow-down of busy neighbours becomes demand for bandwidth") {
  KernelProfile profile = synthetic_profile(0.0);
  profile.co_run = {{TaskKind::pointwise, 1.5}, {TaskKind::gemm, 1.01}};
  const Device device = profiled_device(profile);
  const Measured model;
  const auto demand = [&](const char* name, const Kernel& kernel, std::uint32_t blocks) {
    return model.estimate(single(name, with_blocks(kernel, blocks)), device).bandwidth.count();
  };
  // One block on each of two units: together 1.5 times what there is, so 1.5 times as long.
  CHECK(demand("cell", cell_kernel(shape, 1), 1) == doctest::Approx(0.75 * 10e9));
  CHECK(demand("cell", cell_kernel(shape, 1), 2) == doctest::Approx(10e9));
  CHECK(demand("hidden_1", hidden_1_kernel(shape), 1) == 0.0);  // 1 % is noise
}

TEST_CASE("of two kernels of a kind the one that moves fewer bytes per second wants less") {
  KernelProfile profile = synthetic_profile(0.0);
  profile.co_run = {{TaskKind::pointwise, 1.5}};
  Device device = profiled_device(profile);
  const Measured model;
  const Kernel kernel = with_blocks(cell_kernel(shape, 1), 1);
  const auto demand = [&] { return model.estimate(single("cell", kernel), device).bandwidth; };
  const Bandwidth full = demand();
  const double seconds = to_seconds(model.estimate(single("cell", kernel), device).duration);
  const double rate =
      static_cast<double>((kernel.bytes_read + kernel.bytes_written).count()) / seconds;
  // What a unit copies beyond its caches: four times as much, or half as much, per second.
  device.rates.unit_bandwidth = Bandwidth{4 * rate};
  CHECK(demand().count() == doctest::Approx(full.count() / 4).epsilon(1e-6));
  device.rates.unit_bandwidth = Bandwidth{rate / 2};
  CHECK(demand() == full);
}

TEST_CASE("the quality of a prediction: errors of left-out shapes, and whether it extrapolates") {
  const Device device = profiled_device(synthetic_profile(0.03));
  const Measured model;
  const Operation inside = single("cell", with_blocks(cell_kernel(shape, 1), 2));
  const PredictionQuality good = model.quality(inside, device);
  CHECK(good.in_calibrated_range);
  CHECK(good.ratios.size() == 72);
  CHECK(std::is_sorted(good.ratios.begin(), good.ratios.end()));
  CHECK(good.ratios.front() < 1.0);
  CHECK(good.ratios.back() > 1.0);
  RecurrentShape wide = shape;
  wide.batch = 80;  // more elements than any sample has
  wide.hidden = 1024;
  wide.width = 1024;
  CHECK_FALSE(model.quality(single("cell", with_blocks(cell_kernel(wide, 1), 2)), device)
                  .in_calibrated_range);
  const Operation both{
      .name = "node",
      .kind = TaskKind::composite,
      .kernels = {with_blocks(cell_kernel(shape, 1), 2), with_blocks(hidden_1_kernel(wide), 2)}};
  CHECK_FALSE(model.quality(both, device).in_calibrated_range);
  CHECK(model.quality(both, device).ratios.size() == 72);
  CHECK(model.quality({.name = "fixed"}, device).ratios.empty());
  CHECK(model.fits(device) == model.fits(device));  // fitted once
}

TEST_CASE("every operation of an LSTM training step that was measured can be estimated") {
  const Device device = profiled_device(synthetic_profile(0.02));
  const TaskGraph graph = lstm({.layers = 2, .steps = 8, .batch = 32, .hidden = 256});
  Platform platform;
  platform.devices[DeviceId{0}] = device;
  const CostTable costs{graph, platform, *make_cost_model("measured")};
  for (const TaskId task : graph.tasks()) CHECK(costs.duration(task) > Duration{0});
  CHECK(default_cost_model_of(device) == "measured");
  CHECK(default_cost_model_of(Device{}) == default_cost_model);
}

}  // namespace schedlab
