// SPDX-License-Identifier: Apache-2.0
#include "hw_models/kernel_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace schedlab {
namespace {

// Of a unit, from memory: from a tenth to twice of what cores copy. // assumed
constexpr std::array<double, 9> memory_gb_per_s{0, 5, 8, 12, 17, 25, 35, 50, 70};  // 0: no limit
// From the last-level cache; a core reads 60 to 130 // assumed
constexpr std::array<double, 9> cache_gb_per_s{0, 12, 20, 30, 45, 65, 90, 130, 200};
constexpr std::array<double, 3> overlaps{1, 2, 4};  // from none to nearly all // assumed

constexpr double seconds_of(double gb_per_s) {
  return gb_per_s > 0 ? 1e-9 / gb_per_s : 0.0;
}

/// From none at all to more and more.
std::vector<MemoryTime> candidates(bool by_unit_cache) {
  std::vector<MemoryTime> result{MemoryTime{}};
  for (const double from_memory : memory_gb_per_s) {
    for (const double from_cache : cache_gb_per_s) {
      if (from_memory + from_cache <= 0 || (from_cache > 0 && !by_unit_cache)) continue;
      for (const double overlap : overlaps) {
        result.push_back({.seconds_per_byte = seconds_of(from_memory),
                          .seconds_per_cached_byte = seconds_of(from_cache),
                          .overlap = overlap});
      }
    }
  }
  return result;
}

bool knows_unit_cache(const std::vector<KernelSample>& samples) {
  return std::any_of(samples.begin(), samples.end(), [](const KernelSample& sample) {
    return sample.kernel.bytes_unit_cached > Bytes{0};
  });
}

}  // namespace

MemoryTime fit_memory(const std::vector<std::vector<KernelSample>>& classes) {
  MemoryTime best;
  double least = std::numeric_limits<double>::infinity();
  for (const MemoryTime& memory :
       candidates(std::any_of(classes.begin(), classes.end(), knows_unit_cache))) {
    double error = 0;
    for (const std::vector<KernelSample>& samples : classes) {
      const KernelFit fit{samples, memory, KernelFit::CostsAlone{}};
      for (const double residual : fit.log_residuals(samples)) error += std::abs(residual);
    }
    if (error >= least - 1e-9) continue;
    least = error;
    best = memory;
  }
  return best;
}

}  // namespace schedlab
