// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/rng.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace schedlab::testing {

/// A made-up CPU: a block of f FLOPs and b bytes takes 1 us + f / 50 GFLOP/s + b / 20 GB/s, and
/// matrix kernels have a dip of up to 20 % that depends smoothly on m.
inline double true_seconds(const Kernel& kernel, std::uint32_t units) {
  const double blocks = std::max(1U, kernel.grid.blocks);
  const double waves = std::ceil(blocks / units);
  const auto bytes = static_cast<double>((kernel.bytes_read + kernel.bytes_written).count());
  const double seconds = 1e-6 + waves / blocks * (kernel.flops.count() / 50e9 + bytes / 20e9);
  if (kernel.kind != TaskKind::gemm) return seconds;
  return seconds * (1.1 + 0.1 * std::sin(std::log2(static_cast<double>(kernel.m))));
}

inline Kernel with_blocks(Kernel kernel, std::uint32_t blocks) {
  kernel.grid.blocks = blocks;
  return kernel;
}

/// About normally distributed, of standard deviation 1 (sum of 12 uniform numbers).
inline double normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.uniform();
  return sum;
}

/// The kernels of LSTM training on two units: hidden by batch, as one and as two blocks, with
/// relative noise of standard deviation `noise`.
inline KernelProfile synthetic_profile(
    double noise,
    const std::vector<std::int64_t>& hiddens = {96, 160, 192, 320, 384, 640},
    const std::vector<std::int64_t>& batches = {12, 20, 24, 40, 48, 80}) {
  KernelProfile profile{.how = "made up", .date = "2026-11-21", .units = 2};
  Rng rng{11};
  const auto add = [&](const std::string& operation, const Kernel& kernel) {
    for (const std::uint32_t blocks : {1U, 2U}) {
      const Kernel cut = with_blocks(kernel, blocks);
      const double seconds = true_seconds(cut, 2) * (1 + noise * normal(rng));
      profile.samples.push_back({.operation = operation,
                                 .kernel = cut,
                                 .units = 2,
                                 .duration = round_up_seconds(seconds),
                                 .spread = 1.35 * noise,
                                 .repetitions = 20});
    }
  };
  for (const std::int64_t hidden : hiddens) {
    for (const std::int64_t batch : batches) {
      const RecurrentShape shape{.batch = batch, .hidden = hidden, .width = hidden};
      add("cell", cell_kernel(shape, 1));
      add("hidden_1", hidden_1_kernel(shape));
      add("hidden_2", hidden_2_kernel(shape));
      add("weight_1", weight_1_kernel(shape, 4));
      add("weight_2", weight_2_kernel(shape, 4, true));
      add("input_gemm", input_kernel(shape));
      add("cell_forward", cell_forward_kernel(shape));
    }
  }
  return profile;
}

/// Products of a made-up GPU, with blocks for all its units: 4 us in which they wait, 0 to 16 us at
/// 100 TFLOP/s.
inline KernelProfile waiting_products(std::uint32_t units) {
  KernelProfile profile{.how = "made up", .date = "2026-11-27", .units = units};
  profile.cut = {.flops_per_block = 1, .bytes_per_block = 1};
  for (std::int64_t rows = 16; rows <= 4096; rows *= 4) {
    for (const std::int64_t side : {256, 1024, 4096}) {
      const Kernel kernel =
          with_blocks(gemm_kernel(rows, side, 1024, DataType::fp32, false), units);
      profile.samples.push_back(
          {.operation = "gemm",
           .kernel = kernel,
           .units = units,
           .duration = round_up_seconds(4e-6 + kernel.flops.count() / 100e12)});
    }
  }
  return profile;
}

}  // namespace schedlab::testing
