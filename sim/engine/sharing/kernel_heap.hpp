// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab {

/// Min-heap of numbered things by time, in which the time of each can be changed or taken back: no
/// stale entries. Four children a node. Ties leave in no particular order.
class KernelHeap {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void clear() {
    entries_.clear();
    position_.clear();
  }
  /// `never` when empty.
  [[nodiscard]] std::int64_t next_time() const {
    return entries_.empty() ? never : entries_.front().time;
  }
  /// Must not be empty.
  [[nodiscard]] std::uint32_t top() const { return entries_.front().kernel; }
  [[nodiscard]] bool contains(std::uint32_t kernel) const {
    return kernel < position_.size() && position_[kernel] != absent;
  }

  void set(std::uint32_t kernel, std::int64_t time) {
    if (kernel >= position_.size()) position_.resize(kernel + 1, absent);
    std::uint32_t at = position_[kernel];
    if (at == absent) {
      at = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back();
    } else if (time > entries_[at].time) {
      sift_down(at, {time, kernel});
      return;
    }
    sift_up(at, {time, kernel});
  }
  void remove(std::uint32_t kernel) {
    if (!contains(kernel)) return;
    const std::uint32_t at = position_[kernel];
    position_[kernel] = absent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    if (at > 0 && last.time < entries_[(at - 1) / 4].time) {
      sift_up(at, last);
    } else {
      sift_down(at, last);
    }
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Entry) + position_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t absent = 0xFFFFFFFFU;
  struct Entry {
    std::int64_t time = 0;
    std::uint32_t kernel = 0;
  };

  void put(std::uint32_t at, const Entry& entry) {
    entries_[at] = entry;
    position_[entry.kernel] = at;
  }
  void sift_up(std::uint32_t at, const Entry& entry) {
    while (at > 0) {
      const std::uint32_t parent = (at - 1) / 4;
      if (entry.time >= entries_[parent].time) break;
      put(at, entries_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sift_down(std::uint32_t at, const Entry& entry) {
    const auto size = static_cast<std::uint32_t>(entries_.size());
    for (;;) {
      const std::uint32_t first = 4 * at + 1;
      if (first >= size) break;
      const std::uint32_t last = std::min(first + 4, size);
      std::uint32_t least = first;
      for (std::uint32_t child = first + 1; child < last; ++child) {
        if (entries_[child].time < entries_[least].time) least = child;
      }
      if (entries_[least].time >= entry.time) break;
      put(at, entries_[least]);
      at = least;
    }
    put(at, entry);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> position_;  // by kernel
};

}  // namespace schedlab
