// SPDX-License-Identifier: Apache-2.0
// Orders of ranks with two stages, on which micro-batches come from both sides: along a V, or in
// two directions.
#include "policies/pipeline/step_order.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// One of the two stages of a rank with the micro-batches that it sees.
struct Side {
  std::uint32_t stage = 0;
  std::uint32_t first = 0;  ///< micro-batch
  std::uint32_t count = 0;
};
using Sides = std::array<Side, 2>;

/// Both stages of a V.
Sides sides_of_v(const PipelineShape& shape, std::uint32_t rank) {
  SCHEDLAB_EXPECTS(shape.virtual_stages == 2, "this order is for two virtual stages");
  return {{{rank, 0, shape.microbatches}, {2 * shape.ranks - 1 - rank, 0, shape.microbatches}}};
}

/// The direction that enters nearer to the rank comes first.
Sides sides_of_directions(const PipelineShape& shape, std::uint32_t rank) {
  SCHEDLAB_EXPECTS(shape.placement == StagePlacement::bidirectional,
                   "this order is for two directions");
  const std::uint32_t down = (shape.microbatches + 1) / 2;
  Sides sides{{{rank, 0, down}, {shape.ranks - 1 - rank, down, shape.microbatches - down}}};
  if (rank >= shape.ranks / 2) std::swap(sides[0], sides[1]);
  return sides;
}

/// Writes steps of the next micro-batch of a side. Weight gradients that are put off are made in
/// turn. Micro-batches that are not there leave no step.
class SideWriter {
 public:
  explicit SideWriter(const Sides& sides) : sides_(sides) {}

  void forward(std::size_t side) { add(StepKind::forward, side, forward_[side]++); }
  void backward(std::size_t side) { add(StepKind::backward, side, backward_[side]++); }
  /// Of one side forward beside the other's backward pass.
  void overlap(std::size_t forward_side) {
    const std::size_t before = order_.size();
    forward(forward_side);
    backward(1 - forward_side);
    if (order_.size() == before + 2) order_[before].with_next = true;
  }
  void backward_data(std::size_t side) {
    waiting_.emplace_back(side, backward_[side]);
    add(StepKind::backward_data, side, backward_[side]++);
  }
  void backward_weight() {
    const auto [side, number] = waiting_.front();
    waiting_.pop_front();
    add(StepKind::backward_weight, side, number);
  }
  /// The first of this side.
  void backward_weight(std::size_t side) {
    const auto found = std::find_if(
        waiting_.begin(), waiting_.end(), [side](const auto& each) { return each.first == side; });
    add(StepKind::backward_weight, side, found->second);
    waiting_.erase(found);
  }
  [[nodiscard]] bool weights_wait() const { return !waiting_.empty(); }
  [[nodiscard]] std::uint32_t forwards(std::size_t side) const { return forward_[side]; }
  [[nodiscard]] StepOrder take() { return std::move(order_); }

 private:
  void add(StepKind kind, std::size_t side, std::uint32_t number) {
    const Side& of = sides_[side];
    if (number < of.count) order_.push_back({kind, of.stage, of.first + number});
  }

  Sides sides_;
  std::array<std::uint32_t, 2> forward_{};
  std::array<std::uint32_t, 2> backward_{};
  std::deque<std::pair<std::size_t, std::uint32_t>> waiting_;  // side, number
  StepOrder order_;
};

/// The eight phases of DualPipe and DualPipeV: `distance` of the rank from the nearer end, where
/// that is `half` ranks from the middle.
StepOrder dual_order(const Sides& sides, std::uint32_t half, std::uint32_t distance) {
  SideWriter write{sides};
  const std::uint32_t count = std::max({sides[0].count, sides[1].count, 2 * half});
  const std::uint32_t to_middle = half - distance - 1;
  const std::uint32_t from_end = distance + 1;
  for (std::uint32_t i = 0; i < 2 * to_middle; ++i) write.forward(0);
  for (std::uint32_t i = 0; i < from_end; ++i) {
    write.forward(0);
    write.forward(1);
  }
  for (std::uint32_t i = 0; i < to_middle; ++i) {
    write.backward_data(1);
    write.backward_weight();
    write.forward(1);
  }
  for (std::uint32_t i = 0; i < count - 2 * half + from_end; ++i) {
    if (i == 0 && to_middle == 0) {  // apart, so that the other end waits less
      write.forward(0);
      write.backward(1);
    } else {
      write.overlap(0);
    }
    write.overlap(1);
  }
  for (std::uint32_t i = 0; i < to_middle; ++i) {
    write.backward(1);
    write.overlap(1);
  }
  // Weight gradients are put off from the middle of this phase on.
  for (std::uint32_t i = 0; i < 2 * from_end; ++i) {
    if (i < from_end) {
      write.backward(1 - i % 2);
    } else {
      write.backward_data(1 - i % 2);
    }
  }
  for (std::uint32_t i = 0; i < to_middle; ++i) {
    write.backward_weight();
    write.backward_data(0);
  }
  while (write.weights_wait()) write.backward_weight();
  return write.take();
}

}  // namespace

StepOrder zb_v_order(const PipelineShape& shape, std::uint32_t rank) {
  SideWriter write{sides_of_v(shape, rank)};
  const std::uint32_t count = std::max(2 * shape.ranks - 1, shape.microbatches);
  const auto both_backward = [&](std::size_t side) {
    write.backward_data(side);
    write.backward_weight();
  };
  for (std::uint32_t i = 0; i < 2 * (shape.ranks - rank) - 1; ++i) write.forward(0);
  for (std::uint32_t i = 0; i < rank; ++i) {
    write.forward(1);
    write.forward(0);
  }
  for (std::uint32_t i = 0; i < shape.ranks - rank; ++i) {
    write.forward(1);
    both_backward(1);
  }
  while (write.forwards(1) < write.forwards(0) || write.forwards(0) < count) {
    if (write.forwards(0) < count) write.forward(0);
    both_backward(0);
    write.forward(1);
    both_backward(1);
  }
  for (std::uint32_t i = 0; i < rank; ++i) {
    write.backward_data(0);
    write.backward_data(1);
  }
  for (std::uint32_t i = 0; i < shape.ranks - rank; ++i) {
    write.backward_data(0);
    write.backward_weight(0);
  }
  while (write.weights_wait()) write.backward_weight();
  return write.take();
}

StepOrder dualpipe_order(const PipelineShape& shape, std::uint32_t rank) {
  return dual_order(
      sides_of_directions(shape, rank), shape.ranks / 2, std::min(rank, shape.ranks - 1 - rank));
}

StepOrder dualpipe_v_order(const PipelineShape& shape, std::uint32_t rank) {
  return dual_order(sides_of_v(shape, rank), shape.ranks, rank);
}

/// With passes that all last 1 micro-batch m of a direction and unit u, counted from the rank at
/// which they enter, is forward on rank r at r + 2 m + 2 R u and back at 2 R - 1 - r + 2 m + 2 R u:
/// no two passes of a rank at once (R even).
StepOrder chimera_order(const PipelineShape& shape, std::uint32_t rank) {
  const std::uint32_t half = shape.ranks / 2;
  std::vector<std::tuple<std::uint32_t, StepKind, std::uint32_t, std::uint32_t>> slots;
  for (const Side& side : sides_of_directions(shape, rank)) {
    for (std::uint32_t i = 0; i < side.count; ++i) {
      const std::uint32_t begin = 2 * (i % half) + 2 * shape.ranks * (i / half);
      const std::uint32_t m = side.first + i;
      slots.emplace_back(begin + side.stage, StepKind::forward, side.stage, m);
      slots.emplace_back(
          begin + 2 * shape.ranks - 1 - side.stage, StepKind::backward, side.stage, m);
    }
  }
  std::sort(slots.begin(), slots.end());
  StepOrder order;
  for (const auto& [slot, kind, stage, microbatch] : slots) {
    order.push_back({kind, stage, microbatch});
  }
  return order;
}

}  // namespace schedlab
