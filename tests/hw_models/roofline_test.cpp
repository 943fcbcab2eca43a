// SPDX-License-Identifier: Apache-2.0
#include "hw_models/roofline.hpp"

#include "hw_models/machine_spec.hpp"
#include "sim/base/error.hpp"
#include "tests/hw_models/small_machine.hpp"

#include <doctest/doctest.h>

namespace schedlab {
namespace {

using namespace schedlab::literals;

Operation one_kernel(Kernel kernel) {
  return {.name = "op", .kind = kernel.kind, .kernels = {kernel}};
}

double h200_us(const Operation& operation) {
  MachineSpec machine = load_machine("h200");
  apply_overrides(machine, {{"kernel_floor_us", 0.0}});  // floors of arithmetic and memory alone
  return to_us(Roofline{}.estimate(operation, machine.platform.devices[DeviceId{0}]).duration);
}

}  // namespace

TEST_CASE("a kernel takes as long as its arithmetic or its traffic, whichever is longer") {
  const Platform platform = testing::small_machine();
  const Device& device = platform.devices[DeviceId{0}];
  // 40 GFLOP at 4 TFLOP/s = 10 ms; 1 GB at 1 TB/s = 1 ms.
  Kernel kernel{.kind = TaskKind::gemm, .flops = Flops{40e9}, .bytes_read = Bytes{1'000'000'000}};
  Estimate estimate = Roofline{}.estimate(one_kernel(kernel), device);
  CHECK(estimate.duration == 10ms);
  CHECK(estimate.bound == Bound::compute);
  CHECK(estimate.share == 1.0);
  CHECK(estimate.bandwidth.count() == doctest::Approx(1e9 / 10e-3));
  // 1 GFLOP = 0.25 ms: the traffic decides.
  kernel.flops = Flops{1e9};
  estimate = Roofline{}.estimate(one_kernel(kernel), device);
  CHECK(estimate.duration == 1ms);
  CHECK(estimate.bound == Bound::memory);
  // 4 kB and 4 kFLOP are over in nanoseconds: an empty kernel still takes 2 us.
  kernel.flops = Flops{4e3};
  kernel.bytes_read = Bytes{4000};
  estimate = Roofline{}.estimate(one_kernel(kernel), device);
  CHECK(estimate.duration == 2us);
  CHECK(estimate.bound == Bound::latency);
}

TEST_CASE("half the efficiency doubles the time of arithmetic only") {
  const Platform platform = testing::small_machine();
  const Device& device = platform.devices[DeviceId{0}];
  const Operation arithmetic = one_kernel({.kind = TaskKind::gemm, .flops = Flops{40e9}});
  const Operation traffic =
      one_kernel({.kind = TaskKind::pointwise, .bytes_read = Bytes{1'000'000'000}});
  CHECK(Roofline{0.5}.estimate(arithmetic, device).duration == 20ms);
  CHECK(Roofline{0.5}.estimate(traffic, device).duration == 1ms);
}

TEST_CASE("kernels of one operation run one after another and the longest gives the bound") {
  const Platform platform = testing::small_machine();
  // gemm: 4 GFLOP / 4 TFLOP/s = 1 ms; point-wise: 3 GB / 1 TB/s = 3 ms. Together 4 ms, 3 GB.
  const Operation node{
      .name = "node",
      .kind = TaskKind::composite,
      .kernels = {{.kind = TaskKind::gemm, .flops = Flops{4e9}},
                  {.kind = TaskKind::pointwise, .bytes_read = Bytes{3'000'000'000}}}};
  const Estimate estimate = Roofline{}.estimate(node, platform.devices[DeviceId{0}]);
  CHECK(estimate.duration == 4ms);
  CHECK(estimate.bound == Bound::memory);
  CHECK(estimate.bandwidth.count() == doctest::Approx(750e9));
}

TEST_CASE("a copy between host and device takes the link's latency and bandwidth") {
  Platform platform = testing::small_machine();
  Device& device = platform.devices[DeviceId{0}];
  device.rates.host_to_device = 10_GB_per_s;
  device.rates.copy_latency = 5us;
  // 1 MB at 10 GB/s = 100 us; read on one side and written on the other, but moved once.
  const Operation copy = one_kernel({.kind = TaskKind::copy_host_to_device,
                                     .bytes_read = Bytes{1'000'000},
                                     .bytes_written = Bytes{1'000'000}});
  const Estimate estimate = Roofline{}.estimate(copy, device);
  CHECK(estimate.duration == 105us);
  CHECK(estimate.bandwidth == 10_GB_per_s);
  const Operation back =
      one_kernel({.kind = TaskKind::copy_device_to_host, .bytes_read = Bytes{1}});
  CHECK_THROWS_WITH_AS(static_cast<void>(Roofline{}.estimate(back, device)),
                       doctest::Contains("device_to_host_gb_per_s"),
                       InfeasibleError);
}

TEST_CASE("a data type that the device lacks is refused with the key to add") {
  const MachineSpec machine = load_machine("v100");
  const Operation gemm = one_kernel(gemm_kernel(64, 64, 64, DataType::bf16, false));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(Roofline{}.estimate(gemm, machine.platform.devices[DeviceId{0}])),
      doctest::Contains("matrix_tflop_per_s/bf16"),
      InfeasibleError);
}

TEST_CASE("operations with a duration of their own keep it, collectives without one are refused") {
  const Platform platform = testing::small_machine();
  const Device& device = platform.devices[DeviceId{0}];
  const Operation given{.name = "given", .kind = TaskKind::fixed, .fixed_duration = 3us};
  CHECK(Roofline{}.estimate(given, device).duration == 3us);
  const Operation reduce{.name = "all_reduce",
                         .kind = TaskKind::collective,
                         .kernels = {{.kind = TaskKind::collective, .bytes_read = Bytes{8}}}};
  CHECK_THROWS_WITH_AS(static_cast<void>(Roofline{}.estimate(reduce, device)),
                       doctest::Contains("all_reduce"),
                       InfeasibleError);
}

// An LSTM of 4 layers, hidden and input size 1024, batch 64, 50 steps. A layer multiplies
// [64, 1024] by [1024, 4096] twice per step (input and recurrent path), 2 * 64 * 1024 * 4096 =
// 0.5369 GFLOP each: forward 4 * 50 * 2 * 0.5369 = 214.7 GFLOP, backward twice that.
TEST_CASE("the floors of an LSTM on an H200 follow from its peaks") {
  struct Row {
    DataType type;
    double forward_us, backward_us, weight_gemm_us;  // worked out beside each row
  };
  for (const Row& row : {
           // 214.7 / 66.9 = 3.210 ms, 429.5 / 66.9 = 6.420 ms, 26.84 / 66.9 = 0.401 ms
           Row{DataType::fp32, 3210, 6420, 401},
           // / 494.7: 0.434, 0.868, 0.0543 ms
           Row{DataType::tf32, 434, 868, 54.3},
           // / 989.4: 0.217, 0.434, 0.0271 ms
           Row{DataType::bf16, 217, 434, 27.1},
       }) {
    CAPTURE(to_string(row.type));
    const auto all_gemms = [&](double gflop, std::int64_t megabytes) {
      return one_kernel({.kind = TaskKind::gemm,
                         .type = row.type,
                         .flops = Flops{gflop * 1e9},
                         .bytes_read = Bytes{megabytes * 1'000'000}});
    };
    CHECK(h200_us(all_gemms(214.748, 367)) == doctest::Approx(row.forward_us).epsilon(0.01));
    CHECK(h200_us(all_gemms(429.497, 682)) == doctest::Approx(row.backward_us).epsilon(0.01));
    // One weight gradient over all steps: [4096, 3200] x [3200, 1024] = 26.84 GFLOP.
    const Operation weight = one_kernel(gemm_kernel(4096, 1024, 3200, row.type, false));
    CHECK(h200_us(weight) == doctest::Approx(row.weight_gemm_us).epsilon(0.01));
  }
}

TEST_CASE("the memory floors of an LSTM on an H200 follow from the bandwidth that copies reach") {
  // 4800 GB/s * 0.896 = 4.3 TB/s. Activations forward 367 MB: 85 us; backward 682 MB: 159 us.
  const auto moved = [](std::int64_t megabytes) {
    return one_kernel({.kind = TaskKind::pointwise, .bytes_read = Bytes{megabytes * 1'000'000}});
  };
  CHECK(h200_us(moved(367)) == doctest::Approx(85).epsilon(0.01));
  CHECK(h200_us(moved(682)) == doctest::Approx(159).epsilon(0.01));
  // One recurrent GEMM in fp32 at the peak: 0.5369 GFLOP / 66.9 TFLOP/s = 8.0 us.
  const Operation cell = one_kernel(gemm_kernel(4096, 64, 1024, DataType::fp32, false));
  CHECK(h200_us(cell) == doctest::Approx(8.0).epsilon(0.01));
}

}  // namespace schedlab
