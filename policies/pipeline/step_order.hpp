// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab {

/// The pipeline of one data-parallel replica: stage k is at place k modulo places, which one rank
/// has, or several that share each of its stages; they all do the same.
struct PipelineShape {
  std::uint32_t ranks = 1;           ///< places
  std::uint32_t virtual_stages = 1;  ///< stages of each rank
  std::uint32_t microbatches = 1;

  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

/// What a rank does without a break: passes of one stage over one micro-batch.
enum class StepKind : std::uint8_t {
  forward,
  backward,         ///< both backward passes; the gradient goes on when both are done
  backward_data,    ///< the gradient of the input alone, which goes on at once
  backward_weight,  ///< the gradients of the parameters
};

struct PipelineStep {
  StepKind kind = StepKind::forward;
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;

  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

using StepOrder = std::vector<PipelineStep>;
/// The steps of one rank of a group.
using StepOrderOf = std::function<StepOrder(const PipelineShape&, std::uint32_t rank)>;

/// One micro-batch through all stages and back before the next: bubble (R-1)/R.
[[nodiscard]] StepOrder naive_order(const PipelineShape& shape, std::uint32_t rank);

/// All forward passes, then all backward passes, micro-batches 0 to M-1 in both; virtual stage by
/// virtual stage. Keeps the activations of all micro-batches. Source: Huang et al., GPipe, arXiv
/// 1811.06965.
[[nodiscard]] StepOrder flush_order(const PipelineShape& shape, std::uint32_t rank);

/// Rank r of R begins with R - r - 1 forward passes, then takes forward and backward in turns:
/// keeps the activations of at most R - r micro-batches. One virtual stage.
/// Source: Narayanan et al., PipeDream-Flush, arXiv 2006.09503.
[[nodiscard]] StepOrder one_f_one_b_order(const PipelineShape& shape, std::uint32_t rank);

/// 1F1B over several virtual stages: micro-batches go in groups of at least R through one virtual
/// stage after the other, rank r beginning with 2 (R - r - 1) + (virtual stages - 1) x group
/// forward passes. Its bubble is that of 1F1B divided by the number of virtual stages. Groups are
/// as equal as possible where R does not divide M; where M < R all is one group. With one virtual
/// stage it is 1F1B. Source: Narayanan et al., SC 2021, doi 10.1145/3458817.3476209, section 2.2.
[[nodiscard]] StepOrder interleaved_order(const PipelineShape& shape, std::uint32_t rank);

/// 1F1B whose backward pass is cut in two: the gradient of the input goes on first, weight
/// gradients follow, on rank r r micro-batches later, so that they fill the end. Each
/// rank keeps the activations of up to R micro-batches, as the first of 1F1B does. One virtual
/// stage. Where the weight pass is not longer than the forward pass and M >= R, the bubble lasts
/// (R-1)(forward + backward_data - backward_weight). Source: Qi et al., Zero Bubble Pipeline
/// Parallelism, arXiv 2401.10241, schedule ZB-H1.
[[nodiscard]] StepOrder zb_h1_order(const PipelineShape& shape, std::uint32_t rank);

}  // namespace schedlab
