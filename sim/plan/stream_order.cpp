// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/stream_order.hpp"

#include <algorithm>

namespace schedlab {
namespace {

/// The same rows, farther apart.
std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& table,
                                  std::size_t stride,
                                  std::size_t wider) {
  if (stride == 0) return {};
  const std::size_t rows = table.size() / stride;
  std::vector<std::uint32_t> spread(rows * wider, 0U);
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(table.data() + row * stride, stride, spread.data() + row * wider);
  }
  return spread;
}

}  // namespace

void StreamOrder::reserve_streams(std::size_t count) {
  if (count <= stride_) return;
  clocks_ = spread(clocks_, stride_, count);
  snapshots_ = spread(snapshots_, stride_, count);
  stride_ = count;
  clocks_.reserve(count * count);
}

StreamId StreamOrder::add_stream() {
  if (streams_ == stride_) reserve_streams(std::max<std::size_t>(4, 2 * stride_));
  clocks_.resize(clocks_.size() + stride_, 0U);
  return StreamId{static_cast<std::uint32_t>(streams_++)};
}

void StreamOrder::launch(TaskId task, StreamId stream) {
  stream_[task] = stream;
  position_[task] = advance(stream);
}

StreamOrder::Snapshot StreamOrder::snapshot(StreamId stream) {
  const std::uint32_t* const row = clock(stream);  // 0 behind the last stream
  if (free_.empty()) {
    const auto slot = static_cast<Snapshot>(snapshots_.size() / stride_);
    snapshots_.insert(snapshots_.end(), row, row + stride_);
    return slot;
  }
  const Snapshot slot = free_.back();
  free_.pop_back();
  std::copy_n(row, streams_, snapshots_.data() + slot * stride_);
  return slot;
}

void StreamOrder::join(StreamId stream, Snapshot snapshot) {
  std::uint32_t* const mine = clock(stream);
  const std::uint32_t* const other = snapshots_.data() + snapshot * stride_;
  for (std::size_t i = 0; i < streams_; ++i) mine[i] = std::max(mine[i], other[i]);
}

std::uint32_t StreamOrder::covered(Snapshot snapshot, StreamId stream) const {
  return stream.value() < streams_ ? snapshots_[snapshot * stride_ + stream.value()] : 0U;
}

}  // namespace schedlab
