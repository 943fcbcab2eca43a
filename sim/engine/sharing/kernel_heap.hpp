// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab {

/// Min-heap of numbered things by time, in which the time of each can be changed or taken back: no
/// stale entries. Four children a node. Ties leave in no particular order. What pop() takes leaves
/// a hole, because most that is popped is put in again at once, which then costs one sift.
class KernelHeap {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void clear() {
    entries_.clear();
    position_.clear();
    hole_ = false;
  }
  /// `never` when empty.
  [[nodiscard]] std::int64_t next_time() {
    if (hole_) fill_hole();
    return entries_.empty() ? never : entries_.front().time;
  }
  /// What next_time() is the time of, directly after it. Must not be empty.
  [[nodiscard]] std::uint32_t top() const { return entries_.front().kernel; }
  /// Takes out what next_time() is the time of. Must not be empty.
  std::uint32_t pop() {
    if (hole_) fill_hole();
    const std::uint32_t top = entries_.front().kernel;
    position_[top] = absent;
    hole_ = true;
    return top;
  }
  /// Is there another at the time of top(), or of what was popped just now?
  [[nodiscard]] bool more_now() const {
    const std::size_t last = std::min<std::size_t>(5, entries_.size());
    for (std::size_t child = 1; child < last; ++child) {
      if (entries_[child].time == entries_.front().time) return true;
    }
    return false;
  }
  [[nodiscard]] bool contains(std::uint32_t kernel) const {
    return kernel < position_.size() && position_[kernel] != absent;
  }

  void set(std::uint32_t kernel, std::int64_t time) {
    if (kernel >= position_.size()) position_.resize(kernel + 1, absent);
    std::uint32_t at = position_[kernel];
    if (at == absent) {
      if (hole_) {
        hole_ = false;
        sift_down(0, {time, kernel});
        return;
      }
      at = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back();
    } else {
      if (time == entries_[at].time) return;
      if (hole_) {
        fill_hole();
        at = position_[kernel];
      }
      if (time > entries_[at].time) {
        sift_down(at, {time, kernel});
        return;
      }
    }
    sift_up(at, {time, kernel});
  }
  void remove(std::uint32_t kernel) {
    if (!contains(kernel)) return;
    if (hole_) fill_hole();
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

  void fill_hole() {
    hole_ = false;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift_down(0, last);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> position_;  // by kernel
  bool hole_ = false;                    // the first entry has been popped
};

}  // namespace schedlab
