// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab {

/// Numbered things by time, in which the time of each can be changed or taken back: no stale
/// entries. Ties leave in no particular order.
///
/// The few that come first stand in a sorted row, which most changes begin and end in; only what
/// finds no place there goes into a heap (four children a node).
class KernelHeap {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void clear() {
    row_times_[0] = never;
    count_ = 0;
    entries_.assign(padding, Entry{});
    size_ = 0;
    position_.clear();
  }
  /// `never` when empty.
  [[nodiscard]] std::int64_t next_time() const { return row_times_[count_]; }
  /// What next_time() is the time of. Must not be empty.
  [[nodiscard]] std::uint32_t top() const { return row_kernels_[count_]; }
  /// Has no other the time of top()?
  [[nodiscard]] bool alone() const { return row_times_[count_ - 1] != row_times_[count_]; }
  /// Takes out top(). Must not be empty.
  std::uint32_t pop() {
    const std::uint32_t first = top();
    position_[first] = absent;
    --count_;
    fill_row();
    return first;
  }
  [[nodiscard]] bool contains(std::uint32_t kernel) const {
    return kernel < position_.size() && position_[kernel] != absent;
  }

  void set(std::uint32_t kernel, std::int64_t time) {
    if (kernel >= position_.size()) position_.resize(kernel + 1, absent);
    if (position_[kernel] != absent) {
      if (row_kernels_[count_] == kernel && time >= row_times_[count_]) return delay_first(time);
      take_out(kernel);
    }
    insert({time, kernel});
  }
  /// Delays the first kernel to a later time.
  [[gnu::always_inline]] void delay_first(std::int64_t time) {
    const std::uint32_t kernel = row_kernels_[count_];
    if (time < entries_.front().time) return place(time, kernel);
    --count_;
    insert_behind({time, kernel});
    fill_row();
  }
  void remove(std::uint32_t kernel) {
    if (contains(kernel)) take_out(kernel);
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
  static constexpr std::uint32_t in_row = absent - 1;
  static constexpr std::uint32_t row = 8;
  /// Entries of `never` behind the last one, so that the number of children is not asked for.
  static constexpr std::uint32_t padding = 5;

  /// Puts the entry into the row, whose last place is free.
  void place(std::int64_t time, std::uint32_t kernel) {
    std::int64_t* const times = row_times_.data();
    std::uint32_t* const kernels = row_kernels_.data();
    std::size_t at = count_;
    for (; times[at - 1] < time; --at) {
      times[at] = times[at - 1];
      kernels[at] = kernels[at - 1];
    }
    times[at] = time;
    kernels[at] = kernel;
  }
  void close_gap(std::uint32_t at) {
    for (; at < count_; ++at) {
      row_times_[at] = row_times_[at + 1];
      row_kernels_[at] = row_kernels_[at + 1];
    }
    --count_;
  }
  void insert(const Entry& entry) {
    if (count_ == row && entry.time < entries_.front().time) {
      insert_behind({row_times_[1], row_kernels_[1]});
      close_gap(1);
    }
    if (entry.time >= entries_.front().time) return insert_behind(entry);
    position_[entry.kernel] = in_row;
    ++count_;
    place(entry.time, entry.kernel);
  }
  void insert_behind(const Entry& entry) {
    if (size_ + padding == entries_.size()) entries_.emplace_back();
    sift_up(size_++, entry);
  }
  void take_out(std::uint32_t kernel) {
    if (position_[kernel] != in_row) return take(position_[kernel]);
    position_[kernel] = absent;
    std::uint32_t at = count_;
    while (row_kernels_[at] != kernel) --at;
    close_gap(at);
    fill_row();
  }
  /// Whether the first is alone can be seen in the row: it has two while the heap has any.
  void fill_row() {
    if (count_ >= 2 || size_ == 0) return;
    while (count_ < row / 2 && size_ != 0) {
      const Entry entry = entries_.front();
      take(0);
      position_[entry.kernel] = in_row;
      ++count_;
      place(entry.time, entry.kernel);
    }
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

  // [1] to [count_], the earliest last; [0]: `never`. Not entries: their copies would be read in
  // other pieces than they were written in, for which the processor waits.
  std::array<std::int64_t, row + 1> row_times_{never};
  std::array<std::uint32_t, row + 1> row_kernels_{};
  std::uint32_t count_ = 0;
  std::vector<Entry> entries_ = std::vector<Entry>(padding);  // heap; none before one of the row
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> position_;  // by kernel: in the heap, in_row or absent
};

}  // namespace schedlab
