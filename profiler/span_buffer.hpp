// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// One block as a worker ran it.
struct BlockSpan {
  TaskId task;
  std::uint32_t kernel = 0;
  std::uint32_t block = 0;
  std::uint32_t worker = 0;
  Time started{};
  Time ended{};

  friend bool operator==(const BlockSpan&, const BlockSpan&) = default;
};

/// What one thread records while it runs: written by that thread alone, without locks, read by
/// others only after the run. Memory comes in pieces of 1024 entries, so that adding never copies.
class SpanBuffer {
 public:
  void add(const BlockSpan& span) {
    if (used_ == pieces_.size() * piece_size) pieces_.push_back(std::make_unique<Piece>());
    (*pieces_[used_ / piece_size])[used_ % piece_size] = span;
    ++used_;
  }
  /// Keeps the memory.
  void clear() { used_ = 0; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] const BlockSpan& operator[](std::size_t index) const {
    return (*pieces_[index / piece_size])[index % piece_size];
  }

 private:
  static constexpr std::size_t piece_size = 1024;
  using Piece = std::array<BlockSpan, piece_size>;

  std::vector<std::unique_ptr<Piece>> pieces_;
  std::size_t used_ = 0;
};

/// All spans of several threads in the order in which they started.
[[nodiscard]] std::vector<BlockSpan> merge_spans(const std::vector<const SpanBuffer*>& buffers);

/// What recording one block costs its worker: two readings of the clock and one entry. Median of
/// several thousand, measured where it is called (about 50 ns on a server core).
[[nodiscard]] Duration recording_overhead();

}  // namespace schedlab
