// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/engine/sharing/fluid_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::fluid {

/// The next event of each of some kernels, on a clock that they have in common, by time. Ties stand
/// in no particular order.
///
/// A sorted row: a kernel's event moves past few others, and whoever asks for the next two finds
/// them where they always stand.
class DueRow {
 public:
  static constexpr Wide never = ~Wide{0};

  void clear() { size_ = 0; }
  /// `never` when empty.
  [[nodiscard]] Wide first() const { return size_ == 0 ? never : Wide{row_[0].due}; }
  [[nodiscard]] Wide second() const { return size_ < 2 ? never : Wide{row_[1].due}; }
  /// Must not be empty.
  [[nodiscard]] std::uint32_t first_kernel() const { return row_[0].kernel; }

  void insert(Wide due, std::uint32_t kernel) {
    if (size_ == row_.size()) [[unlikely]]
      row_.resize(2 * size_ + 8);
    ++size_;
    place(size_ - 1, due, kernel);
  }
  /// The kernel must be in the row.
  void move(std::uint32_t kernel, Wide due) { place(find(kernel), due, kernel); }
  void remove(std::uint32_t kernel) {
    --size_;
    for (std::size_t at = find(kernel); at < size_; ++at) row_[at] = row_[at + 1];
  }

  [[nodiscard]] std::size_t memory_bytes() const { return row_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    StoredWide due{never};
    std::uint32_t kernel = nil;
  };

  [[nodiscard]] std::size_t find(std::uint32_t kernel) const {
    std::size_t at = 0;
    while (row_[at].kernel != kernel) ++at;
    return at;
  }
  /// Puts it where it belongs; the place `at` is free.
  void place(std::size_t at, Wide due, std::uint32_t kernel) {
    Entry* const row = row_.data();
    for (; at + 1 < size_ && row[at + 1].due < due; ++at) row[at] = row[at + 1];
    for (; at > 0 && row[at - 1].due > due; --at) row[at] = row[at - 1];
    row[at].due = due;
    row[at].kernel = kernel;
  }

  std::vector<Entry> row_;  // the first size_ are in use
  std::size_t size_ = 0;
};

}  // namespace schedlab::fluid
