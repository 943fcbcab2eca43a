// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/residency.hpp"

#include <algorithm>

namespace schedlab {

Residency residency(const Estimate& estimate, const SmLimits& limits) {
  std::uint32_t at_full_rate = std::max(1U, estimate.blocks_per_unit);
  Residency result{.residents = at_full_rate};
  if (estimate.block.threads != 0 && limits.known()) {
    result.residents = occupancy(estimate.block, limits).blocks;
    at_full_rate = std::min(at_full_rate, result.residents);
  }
  const std::uint32_t whole_share = unit_throughput / at_full_rate;
  result.throughput = static_cast<std::uint32_t>(double{estimate.compute_share} * whole_share);
  return result;
}

WavesAlone waves_alone(const Residency& residency, std::uint32_t blocks, std::uint32_t units) {
  const auto time_of = [&](std::int64_t in_wave) {
    return std::max<std::int64_t>(
        unit_throughput,
        on_fullest_unit(in_wave, in_wave * residency.throughput, units, residency.most()));
  };
  WavesAlone result;
  result.wave = static_cast<std::uint32_t>(
      std::min<std::int64_t>(blocks, std::int64_t{units} * residency.residents));
  result.first = time_of(result.wave);
  result.whole = blocks / result.wave * result.first;
  if (blocks % result.wave != 0) result.whole += time_of(blocks % result.wave);
  return result;
}

}  // namespace schedlab
