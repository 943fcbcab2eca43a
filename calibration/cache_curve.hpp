// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/bench.hpp"
#include "calibration/device_times.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <vector>

namespace schedlab {

/// Reading the same bytes again and again.
struct SweepTime {
  double distance = 0;  ///< bytes over the size of the last-level cache
  double seconds_per_byte = 0;
};

/// What of them the cache still had: all of it up to a distance of 0.65, whose times' median that
/// of the cache is, nothing at the largest distance, in between as the time says, never more than
/// at a shorter distance. `sweeps`: by rising distance. Empty where memory is not 1.3 times as slow
/// as the cache: then they cannot be told apart.
[[nodiscard]] std::vector<CacheShare> cache_curve(const std::vector<SweepTime>& sweeps);

/// All workers read, one word of every cache line, each its part of 0.4 to 3 times the size of the
/// last-level cache, from the first byte to the last and again.
///
/// From the first to the last is how training steps come back to their weights. It is the worst
/// order for a list of which the least recently used leaves; in random order more would be found at
/// distances beyond the size, and the distance would not be one number.
class CacheSweeps {
 public:
  /// `size`: of the last-level cache; 0: nothing is measured.
  CacheSweeps(Bytes size, std::uint32_t workers);

  /// Once at every distance.
  void measure(CalibrationBench& bench, const Effort& effort);
  /// The curve through lower quartiles of all measurements: disturbances only add time.
  [[nodiscard]] std::vector<CacheShare> curve() const;

 private:
  struct Sweep {
    double distance = 0;
    BenchCase reads;
    std::vector<double> seconds_per_byte{};
  };
  std::vector<Sweep> sweeps_;
};

}  // namespace schedlab
