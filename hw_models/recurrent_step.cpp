// SPDX-License-Identifier: Apache-2.0
#include "hw_models/recurrent_step.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/base/ceil_div.hpp"

#include <algorithm>
#include <bit>

namespace schedlab {
namespace {

constexpr double partial_sum_bytes = 4;

/// Sides are positive and at most 2^28 (gemm_cost).
std::int64_t idle_split(std::int64_t tiles, std::int64_t units) {
  std::int64_t split = 1;
  while (split < recurrent_max_split && tiles * split * 2 <= units) split *= 2;
  return split;
}

double seconds_to_add(double sums, const Device& device) {
  const Bandwidth rate = device.rates.l2_bandwidth > Bandwidth{0.0} ? device.rates.l2_bandwidth
                                                                    : reachable_bandwidth(device);
  return sums / rate.count();
}

}  // namespace

LibraryTime recurrent_step(const Kernel& kernel,
                           const Device& device,
                           const MatrixLibrary& library,
                           bool forward) {
  const RecurrentPassCost& pass = forward ? library.forward : library.data_gradient;
  const double peak = peak_rate(kernel, device).count();
  const bool narrow = pass.narrow_efficiency > 0 && kernel.m <= recurrent_narrow_batch;
  const bool slow = pass.slow_step > Duration{0} && kernel.m > recurrent_narrow_batch &&
                    kernel.m <= recurrent_slow_batch;

  const std::int64_t units = spread_units(device.rates.matrix_units, device);
  const std::int64_t tiles =
      ceil_div(kernel.m, recurrent_tile) * ceil_div(kernel.n, recurrent_tile);
  const std::int64_t split = narrow || slow ? 1 : idle_split(tiles, units);
  const double tile_flops = static_cast<double>(2 * recurrent_tile * recurrent_tile) *
                            static_cast<double>(ceil_div(kernel.k, split));
  const double unit_rate = peak / static_cast<double>(device.rates.matrix_units) * pass.efficiency;
  const double compute =
      narrow ? kernel.flops.count() / (peak * pass.narrow_efficiency)
             : static_cast<double>(ceil_div(tiles * split, units)) * tile_flops / unit_rate;
  if (slow) {
    const double chain = static_cast<double>(kernel.k) * to_seconds(pass.slow_step);
    return {.duration = pass.fixed + bounded_seconds(chain),
            .arithmetic = bounded_seconds(std::min(compute, chain))};
  }
  const bool strided = forward && !std::has_single_bit(static_cast<std::uint64_t>(kernel.k));
  const double share = pass.memory_share * (strided ? library.strided_share : 1.0);
  const double weights = static_cast<double>(kernel.k) * static_cast<double>(kernel.n) *
                         static_cast<double>(bytes_per_element(kernel.type));
  const double memory = weights / (reachable_bandwidth(device).count() * share);
  LibraryTime time{.duration = pass.fixed + bounded_seconds(std::max(compute, memory)),
                   .arithmetic = bounded_seconds(compute)};
  if (split > 1) {
    const double sums = partial_sum_bytes * static_cast<double>(split) *
                        static_cast<double>(kernel.m) * static_cast<double>(kernel.n);
    time.duration +=
        device.stream_gap + device.kernel_floor + bounded_seconds(seconds_to_add(sums, device));
  }
  return time;
}

LibraryTime recurrent_weight_gradient(const Kernel& kernel,
                                      const Device& device,
                                      const MatrixLibrary& library) {
  const WeightGradientCost& pass = library.weight_gradient;
  const auto m = static_cast<double>(kernel.m);
  const auto n = static_cast<double>(kernel.n);
  const auto k = static_cast<double>(kernel.k);
  const double compute =
      kernel.flops.count() / (peak_rate(kernel, device).count() * pass.efficiency);
  const double moved = (pass.result_moves * m * n + pass.operand_moves * (m + n) * k) *
                       static_cast<double>(bytes_per_element(kernel.type));
  return {.duration =
              pass.fixed + bounded_seconds(compute + moved / reachable_bandwidth(device).count()),
          .arithmetic = bounded_seconds(compute)};
}

}  // namespace schedlab
