// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab::fluid {

/// What happens next to the kernels of one device, by time; a kernel may have any number of events.
/// Ties leave in the order in which they were inserted.
///
/// A sorted row, into which events are inserted from behind: most are the ends of blocks that 1
/// now, later than nearly all others. Whoever takes the first finds the second where it always
/// stood; in a heap, and in a row of the first event of each kernel, it is known only when the
/// first has been dealt with, and the processor waits.
class EventRow {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  EventRow() { clear(); }
  void clear() {
    if (size_ == 0) resize(16);
    times_[0] = before_all;
    first_ = 1;
    end_ = 1;
    times_[end_] = never;
  }
  /// `never` when empty.
  [[nodiscard]] std::int64_t next_time() const { return times_[first_]; }
  /// Whose event is the next. Must not be empty.
  [[nodiscard]] std::uint32_t next_kernel() const { return kernels_[first_]; }
  /// Has no other event the time of the next? Must not be empty.
  [[nodiscard]] bool alone() const { return times_[first_] != times_[first_ + 1]; }

  /// The next time of any but this kernel; `never` if there is none.
  [[nodiscard]] std::int64_t next_time_beside(std::uint32_t kernel) const {
    std::size_t at = first_;
    while (at < end_ && kernels_[at] == kernel) ++at;
    return times_[at];
  }

  /// Takes out the next. Must not be empty.
  std::uint32_t pop() {
    times_[first_] = before_all;
    return kernels_[first_++];
  }
  void insert(std::int64_t time, std::uint32_t kernel) {
    if (end_ + 2 > size_) [[unlikely]]
      compact();
    std::int64_t* const times = times_.data();
    std::uint32_t* const kernels = kernels_.data();
    std::size_t at = end_;
    times[++end_] = never;
    for (; times[at - 1] > time; --at) {
      times[at] = times[at - 1];
      kernels[at] = kernels[at - 1];
    }
    times[at] = time;
    kernels[at] = kernel;
  }
  /// Takes out all events of the kernel.
  void remove(std::uint32_t kernel) {
    std::size_t left = first_;
    for (std::size_t at = first_; at < end_; ++at) {
      times_[left] = times_[at];
      kernels_[left] = kernels_[at];
      left += kernels_[at] != kernel ? 1U : 0U;
    }
    end_ = left;
    times_[end_] = never;
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    return times_.capacity() * sizeof(std::int64_t) + kernels_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

  void resize(std::size_t size) {
    size_ = size;
    times_.resize(size);
    kernels_.resize(size);
  }
  /// Moves all to the begin, where events have left; more memory if that is not half of it.
  [[gnu::noinline]] void compact() {
    const std::size_t count = end_ - first_;
    std::copy_n(times_.data() + first_, count, times_.data() + 1);
    std::copy_n(kernels_.data() + first_, count, kernels_.data() + 1);
    first_ = 1;
    end_ = 1 + count;
    if (2 * count > size_) resize(2 * size_);
    times_[end_] = never;
  }

  // [first_] to [end_ - 1]; `before_all` at the `1` places before, `never` behind.
  std::vector<std::int64_t> times_;
  std::vector<std::uint32_t> kernels_;
  std::size_t size_ = 0;  // of both
  std::size_t first_ = 1;
  std::size_t end_ = 1;
};

}  // namespace schedlab::fluid
