// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace schedlab::detail {

// Of the grid of a kernel: more than any device takes; 2^24 blocks keep the waves countable.
inline constexpr std::int64_t max_blocks = 1 << 24;
inline constexpr std::int64_t max_threads = 1024;
inline constexpr std::int64_t max_registers = 65535;
inline constexpr std::int64_t max_shared_memory = 1 << 30;

/// Limits of what a graph file may say, so that no sum in the program overflows and no short file
/// makes a huge graph. Each function returns false when the limit is passed.
class GraphTotals {
 public:
  static constexpr std::int64_t largest_size = 1'000'000'000'000'000;        ///< elements, bytes
  static constexpr std::int64_t longest_duration = 100'000'000'000'000'000;  ///< ps; 27 hours

  explicit GraphTotals(std::size_t file_bytes)
      : max_pairs_(1e6 + 8.0 * static_cast<double>(file_bytes)) {}

  /// Adds the duration of one task; all together may take 26 days.
  [[nodiscard]] bool add_duration(std::int64_t ps) { return add(duration_, ps); }
  /// Adds the bytes of one tensor, or of what one kernel reads and writes.
  [[nodiscard]] bool add_bytes(std::int64_t bytes) { return add(bytes_, bytes); }
  /// Each reader of a tensor depends on each of its writers.
  [[nodiscard]] bool add_pairs(std::size_t writers, std::size_t readers) {
    pairs_ += static_cast<double>(writers) * static_cast<double>(readers);
    return pairs_ <= max_pairs_;
  }

 private:
  static bool add(std::int64_t& sum, std::int64_t value) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
    sum += value;  // both are below `most`: no overflow
    return sum <= most;
  }

  std::int64_t duration_ = 0;
  std::int64_t bytes_ = 0;
  double pairs_ = 0;
  double max_pairs_;
};

}  // namespace schedlab::detail
