// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace schedlab {

/// Seeded random numbers that are the same with every compiler and library (the distributions of
/// the standard library are not). Generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014,
/// doi 10.1145/2660193.2660195); period 2^64.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  /// Uniform over all 64-bit values.
  [[nodiscard]] std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }

  /// Uniform integer in [0, bound); `bound` > 0. Bias below 2^-32 for bounds below 2^32.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
  }

  /// Uniform in [0, 1).
  [[nodiscard]] double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t state_;
};

}  // namespace schedlab
