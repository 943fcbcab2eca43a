// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab {

/// Min-heap of numbered things by time, in which the time of each can be changed or taken back: no
/// stale entries. Four children a node; ties leave in no particular order. One entry may stand
/// apart, outside the heap: changing its time costs nothing.
class KernelHeap {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void clear() {
    entries_.assign(padding, Entry{});
    size_ = 0;
    position_.clear();
    apart_ = {};
  }
  /// `never` when empty.
  [[nodiscard]] std::int64_t next_time() const {
    return std::min(entries_.front().time, apart_.time);
  }
  /// What next_time() is the time of. Must not be empty.
  [[nodiscard]] std::uint32_t top() const {
    return apart_is_first() ? apart_.kernel : entries_.front().kernel;
  }
  /// Has no other the time of top()?
  [[nodiscard]] bool alone() const {
    const Entry* e = entries_.data();
    if (apart_is_first()) return true;
    return apart_.time != e->time && e[1].time != e->time && e[2].time != e->time &&
           e[3].time != e->time && e[4].time != e->time;
  }
  /// Takes out top(). Must not be empty.
  std::uint32_t pop() {
    const std::uint32_t first = top();
    if (apart_is_first()) {
      apart_ = {};
    } else {
      take(0);
    }
    return first;
  }
  [[nodiscard]] bool contains(std::uint32_t kernel) const {
    return kernel == apart_.kernel || (kernel < position_.size() && position_[kernel] != absent);
  }

  void set(std::uint32_t kernel, std::int64_t time) {
    if (kernel == apart_.kernel) apart_ = {};
    if (kernel >= position_.size()) position_.resize(kernel + 1, absent);
    const std::uint32_t at = position_[kernel];
    if (at == absent) {
      insert({time, kernel});
    } else if (time > entries_[at].time) {
      sift_down(at, {time, kernel});
    } else if (time < entries_[at].time) {
      sift_up(at, {time, kernel});
    }
  }
  /// As set(), to a later time, and quicker if it is the first that does not stand apart.
  void delay(std::uint32_t kernel, std::int64_t time) {
    if (entries_.front().kernel == kernel && time >= entries_.front().time) {
      sift_down(0, {time, kernel});
    } else {
      set(kernel, time);
    }
  }
  /// As set(), of one whose time changes more often than it comes first. It stands apart until it
  /// is set() or taken out, or another one is to stand there.
  void set_apart(std::uint32_t kernel, std::int64_t time) {
    if (kernel != apart_.kernel) {
      remove(kernel);
      if (apart_.kernel != absent) set(apart_.kernel, apart_.time);
      apart_.kernel = kernel;
    }
    apart_.time = time;
  }
  void remove(std::uint32_t kernel) {
    if (kernel == apart_.kernel) {
      apart_ = {};
    } else if (kernel < position_.size() && position_[kernel] != absent) {
      take(position_[kernel]);
    }
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Entry) + position_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t absent = 0xFFFFFFFFU;
  struct Entry {
    std::int64_t time = never;
    std::uint32_t kernel = absent;
  };
  /// Entries of `never` behind the last one, so that nobody asks how many children there are.
  static constexpr std::uint32_t padding = 5;

  [[nodiscard]] bool apart_is_first() const { return apart_.time < entries_.front().time; }
  void insert(const Entry& entry) {
    if (size_ + padding == entries_.size()) entries_.emplace_back();
    sift_up(size_++, entry);
  }
  void take(std::uint32_t at) {
    position_[entries_[at].kernel] = absent;
    const Entry last = entries_[--size_];
    entries_[size_] = {};
    if (at == size_) return;
    if (at > 0 && last.time < entries_[(at - 1) / 4].time) {
      sift_up(at, last);
    } else {
      sift_down(at, last);
    }
  }
  void sift_up(std::uint32_t at, const Entry& entry) {
    Entry* const entries = entries_.data();
    std::uint32_t* const position = position_.data();
    while (at > 0) {
      const std::uint32_t parent = (at - 1) / 4;
      if (entry.time >= entries[parent].time) break;
      entries[at] = entries[parent];
      position[entries[at].kernel] = at;
      at = parent;
    }
    entries[at] = entry;
    position[entry.kernel] = at;
  }
  void sift_down(std::uint32_t at, const Entry& entry) {
    Entry* const entries = entries_.data();
    std::uint32_t* const position = position_.data();
    const std::uint32_t size = size_;
    for (std::uint32_t child = 4 * at + 1; child < size; child = 4 * at + 1) {
      const std::uint32_t left = child + (entries[child + 1].time < entries[child].time ? 1 : 0);
      const std::uint32_t right =
          child + (entries[child + 3].time < entries[child + 2].time ? 3 : 2);
      const std::uint32_t least = entries[right].time < entries[left].time ? right : left;
      if (entries[least].time >= entry.time) break;
      entries[at] = entries[least];
      position[entries[at].kernel] = at;
      at = least;
    }
    entries[at] = entry;
    position[entry.kernel] = at;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(padding);
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> position_;  // by kernel; of one apart: absent
  Entry apart_;
};

}  // namespace schedlab
