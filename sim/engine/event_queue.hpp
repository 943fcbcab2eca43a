// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// Min-heap of (time, phase, sequence) with a small payload; 16 bytes an entry, four children a
/// node (a third fewer levels than a binary heap, and all four children in one cache line).
///
/// Entries of equal time leave in phase order, of equal phase in the order they were pushed: that
/// is what makes runs repeatable. A popped root stays as a hole until the next operation, because
/// most pops are followed by a push, which then costs one sift instead of two.
class EventQueue {
 public:
  static constexpr std::uint32_t max_payload = (1U << 24U) - 1U;

  struct Top {
    Time time{};
    std::uint32_t phase = 0;
    std::uint32_t payload = 0;
  };

  void clear() {
    items_.clear();
    hole_ = false;
    sequence_ = 0;
  }
  [[nodiscard]] bool empty() const { return items_.size() == (hole_ ? 1U : 0U); }

  /// Earliest time, Time::max() when empty.
  [[nodiscard]] Time next_time() {
    if (hole_) fill_hole();
    return items_.empty() ? Time::max() : Time{Duration{items_.front().time}};
  }

  void push(Time time, std::uint32_t phase, std::uint32_t payload) {
    const Item item{time.time_since_epoch().count(),
                    (static_cast<std::uint64_t>(phase) << 62U) | (sequence_++ << 24U) | payload};
    if (hole_) {
      hole_ = false;
      sift_down(item);
    } else {
      sift_up(item);
    }
  }

  /// The entry that pop() would return. Must not be empty.
  [[nodiscard]] Top peek() {
    if (hole_) fill_hole();
    const Item& item = items_.front();
    return {Time{Duration{item.time}},
            static_cast<std::uint32_t>(item.order >> 62U),
            static_cast<std::uint32_t>(item.order & max_payload)};
  }
  /// Must not be empty.
  Top pop() {
    const Top top = peek();
    hole_ = true;
    return top;
  }

  [[nodiscard]] std::size_t memory_bytes() const { return items_.capacity() * sizeof(Item); }

 private:
  struct Item {
    std::int64_t time;
    std::uint64_t order;  // phase : 2, sequence : 38, payload : 24
  };
  [[nodiscard]] static bool before(const Item& a, const Item& b) {
    return a.time < b.time || (a.time == b.time && a.order < b.order);
  }

  void sift_up(Item item) {
    std::size_t i = items_.size();
    items_.push_back(item);
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!before(item, items_[parent])) break;
      items_[i] = items_[parent];
      i = parent;
    }
    items_[i] = item;
  }

  /// Places `item` from the root downwards.
  void sift_down(Item item) {
    const std::size_t size = items_.size();
    std::size_t i = 0;
    for (;;) {
      const std::size_t first = 4 * i + 1;
      if (first >= size) break;
      const std::size_t last = first + 4 < size ? first + 4 : size;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < last; ++child) {
        if (before(items_[child], items_[least])) least = child;
      }
      if (!before(items_[least], item)) break;
      items_[i] = items_[least];
      i = least;
    }
    items_[i] = item;
  }

  void fill_hole() {
    hole_ = false;
    const Item last = items_.back();
    items_.pop_back();
    if (!items_.empty()) sift_down(last);
  }

  std::vector<Item> items_;
  std::uint64_t sequence_ = 0;
  bool hole_ = false;
};

}  // namespace schedlab
