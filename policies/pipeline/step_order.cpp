// SPDX-License-Identifier: Apache-2.0
#include "policies/pipeline/step_order.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string>
#include <utility>

namespace schedlab {
namespace {

/// (virtual stage, micro-batch) in the order of passes.
using Visits = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

void add(StepOrder& order, StepKind kind, std::uint32_t stage, std::uint32_t microbatch) {
  order.push_back({kind, stage, microbatch});
}

/// Sizes of groups of micro-batches, each at least as large as there are ranks where that can be.
std::vector<std::uint32_t> visit_groups(const PipelineShape& shape) {
  const std::uint32_t count = std::max(1U, shape.microbatches / shape.ranks);
  std::vector<std::uint32_t> sizes(count, shape.microbatches / count);
  for (std::uint32_t i = 0; i < shape.microbatches % count; ++i) ++sizes[i];
  return sizes;
}

Visits interleaved_visits(const PipelineShape& shape, bool forward) {
  Visits visits;
  std::uint32_t first = 0;
  for (const std::uint32_t size : visit_groups(shape)) {
    for (std::uint32_t c = 0; c < shape.virtual_stages; ++c) {
      const std::uint32_t stage = forward ? c : shape.virtual_stages - 1 - c;
      for (std::uint32_t m = first; m < first + size; ++m) visits.emplace_back(stage, m);
    }
    first += size;
  }
  return visits;
}

void expect_one_chunk(const PipelineShape& shape) {
  SCHEDLAB_EXPECTS(shape.virtual_stages == 1 && shape.placement == StagePlacement::loop,
                   "this order is for one virtual stage of each rank");
}

}  // namespace

std::vector<std::uint32_t> PipelineShape::stages_of(std::uint32_t place) const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t stage = 0; stage < stages(); ++stage) {
    for (std::uint32_t copy = 0; copy < map().copies(); ++copy) {
      if (map().place(stage, copy) == place) result.push_back(stage);
    }
  }
  return result;
}

StepOrder naive_order(const PipelineShape& shape, std::uint32_t rank) {
  StepOrder order;
  const std::vector<std::uint32_t> stages = shape.stages_of(rank);
  for (std::uint32_t m = 0; m < shape.microbatches; ++m) {
    for (const std::uint32_t stage : stages) {
      if (shape.place(stage, m) == rank) add(order, StepKind::forward, stage, m);
    }
    for (const std::uint32_t stage : std::views::reverse(stages)) {
      if (shape.place(stage, m) == rank) add(order, StepKind::backward, stage, m);
    }
  }
  return order;
}

StepOrder flush_order(const PipelineShape& shape, std::uint32_t rank) {
  StepOrder order;
  const std::vector<std::uint32_t> stages = shape.stages_of(rank);
  const auto pass = [&](StepKind kind, std::uint32_t stage) {
    for (std::uint32_t m = 0; m < shape.microbatches; ++m) {
      if (shape.place(stage, m) == rank) add(order, kind, stage, m);
    }
  };
  for (const std::uint32_t stage : stages) pass(StepKind::forward, stage);
  for (const std::uint32_t stage : std::views::reverse(stages)) pass(StepKind::backward, stage);
  return order;
}

StepOrder one_f_one_b_order(const PipelineShape& shape, std::uint32_t rank) {
  expect_one_chunk(shape);
  const std::uint32_t warm_up = std::min(shape.ranks - 1 - rank, shape.microbatches);
  StepOrder order;
  for (std::uint32_t m = 0; m < warm_up; ++m) add(order, StepKind::forward, rank, m);
  for (std::uint32_t m = warm_up; m < shape.microbatches; ++m) {
    add(order, StepKind::forward, rank, m);
    add(order, StepKind::backward, rank, m - warm_up);
  }
  for (std::uint32_t m = shape.microbatches - warm_up; m < shape.microbatches; ++m) {
    add(order, StepKind::backward, rank, m);
  }
  return order;
}

StepOrder batch_overlap_order(const PipelineShape& shape, std::uint32_t rank) {
  PipelineShape pairs = shape;
  pairs.microbatches = (shape.microbatches + 1) / 2;
  StepOrder order;
  for (const PipelineStep& pair : one_f_one_b_order(pairs, rank)) {
    const std::uint32_t first = 2 * pair.microbatch;
    const bool both = first + 1 < shape.microbatches;
    order.push_back({pair.kind, pair.stage, first, both});
    if (both) order.push_back({pair.kind, pair.stage, first + 1});
  }
  return order;
}

StepOrder interleaved_order(const PipelineShape& shape, std::uint32_t rank) {
  if (shape.virtual_stages == 1) return one_f_one_b_order(shape, rank);
  const Visits forward = interleaved_visits(shape, true);
  const Visits backward = interleaved_visits(shape, false);
  const std::size_t warm_up =
      std::min<std::size_t>(std::size_t{2} * (shape.ranks - 1 - rank) +
                                std::size_t{shape.virtual_stages - 1} * visit_groups(shape).front(),
                            forward.size());
  StepOrder order;
  const auto visit = [&](StepKind kind, const std::pair<std::uint32_t, std::uint32_t>& which) {
    add(order, kind, which.first * shape.ranks + rank, which.second);
  };
  for (std::size_t i = 0; i < warm_up; ++i) visit(StepKind::forward, forward[i]);
  for (std::size_t i = warm_up; i < forward.size(); ++i) {
    visit(StepKind::forward, forward[i]);
    visit(StepKind::backward, backward[i - warm_up]);
  }
  for (std::size_t i = backward.size() - warm_up; i < backward.size(); ++i) {
    visit(StepKind::backward, backward[i]);
  }
  return order;
}

StepOrder zb_h1_order(const PipelineShape& shape, std::uint32_t rank) {
  expect_one_chunk(shape);
  const std::uint32_t warm_up = std::min(shape.ranks - 1 - rank, shape.microbatches);
  StepOrder order;
  std::uint32_t weights = 0;
  const auto backward = [&](std::uint32_t m) {
    add(order, StepKind::backward_data, rank, m);
    if (m >= rank) add(order, StepKind::backward_weight, rank, weights++);
  };
  for (std::uint32_t m = 0; m < warm_up; ++m) add(order, StepKind::forward, rank, m);
  for (std::uint32_t m = warm_up; m < shape.microbatches; ++m) {
    add(order, StepKind::forward, rank, m);
    backward(m - warm_up);
  }
  for (std::uint32_t m = shape.microbatches - warm_up; m < shape.microbatches; ++m) backward(m);
  while (weights < shape.microbatches) add(order, StepKind::backward_weight, rank, weights++);
  return order;
}

}  // namespace schedlab
