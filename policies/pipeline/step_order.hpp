// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/pipeline_work.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab {

/// The pipeline of one data-parallel replica: its stages are at places, each of which one rank has,
/// or several that share each of its stages; they all do the same.
struct PipelineShape {
  std::uint32_t ranks = 1;           ///< places
  std::uint32_t virtual_stages = 1;  ///< stages of each rank
  std::uint32_t microbatches = 1;
  StagePlacement placement = StagePlacement::loop;

  [[nodiscard]] std::uint32_t stages() const { return ranks * virtual_stages; }
  [[nodiscard]] StageMap map() const {
    return {.places = ranks, .microbatches = microbatches, .placement = placement};
  }
  /// Where a micro-batch's passes of a stage are done.
  [[nodiscard]] std::uint32_t place(std::uint32_t stage, std::uint32_t microbatch) const {
    return map().place(stage, map().copy_of(microbatch));
  }
  /// Of a place, rising.
  [[nodiscard]] std::vector<std::uint32_t> stages_of(std::uint32_t place) const;
  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

/// What a rank does: passes of one stage over one micro-batch.
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
  /// Overlaps with the next step: both begin when both have what they need, and what they make
  /// leaves when both are done.
  bool with_next = false;

  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

using StepOrder = std::vector<PipelineStep>;
/// Where the steps end that overlap with the one at `begin`.
[[nodiscard]] inline std::size_t end_of_overlap(const StepOrder& order, std::size_t begin) {
  while (begin + 1 < order.size() && order[begin].with_next) ++begin;
  return begin + 1;
}
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

/// 1F1B over pairs of micro-batches: both forward passes overlap, then both backward passes. One
/// virtual stage. Source: two micro-batches beside each other as in DeepSeek-AI, DeepSeek-V3
/// Technical Report, arXiv 2412.19437, section 3.4.1, and Wang et al., Domino, arXiv 2409.15241.
[[nodiscard]] StepOrder batch_overlap_order(const PipelineShape& shape, std::uint32_t rank);

/// Two virtual stages placed as a V: rank r takes 2 (R - r) - 1 micro-batches forward, then its
/// second stage in turns, then forward, backward_data and backward_weight of both. No bubble but
/// R - 1 forward passes where all passes last the same and M >= 2 R - 1; keeps the activations of
/// 2 R stages at most, as the first rank of 1F1B does. Source: Qi et al., Zero Bubble Pipeline
/// Parallelism, arXiv 2401.10241, section 6, as PyTorch's ScheduleZBVZeroBubble orders it.
[[nodiscard]] StepOrder zb_v_order(const PipelineShape& shape, std::uint32_t rank);

/// Placement bidirectional: micro-batches enter at both ends and meet; weight gradients fill the
/// ends. Its bubble is (R/2 - 1)(overlapped pair + backward - 3 backward_weight), backward being
/// both gradients, for forward = backward_data >= backward_weight and M >= 2 R; at most R + 1
/// activations. With fewer micro-batches it is the order of 2 R without those that are not there.
/// Source: DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437, and
/// github.com/deepseek-ai/DualPipe.
[[nodiscard]] StepOrder dualpipe_order(const PipelineShape& shape, std::uint32_t rank);

/// DualPipe cut in half: two virtual stages placed as a V, with as many ranks as half of
/// DualPipe's. Bubble (R - 1)(overlapped pair + backward - 3 backward_weight), the passes being
/// those of one of 2 R stages; at most 2 R + 1 activations. Source: as dualpipe_order().
[[nodiscard]] StepOrder dualpipe_v_order(const PipelineShape& shape, std::uint32_t rank);

/// Placement bidirectional: units of R micro-batches, half from each end, one after the other. The
/// bubble is R - 2 passes where forward and backward last the same, R - 2 times the longer one for
/// M = R; R/2 + 1 to R activations. Source: Li, Hoefler, Chimera, SC 2021, doi
/// 10.1145/3458817.3476145.
[[nodiscard]] StepOrder chimera_order(const PipelineShape& shape, std::uint32_t rank);

/// 1F1B whose backward pass is cut in two: the gradient of the input goes on first, weight
/// gradients follow, on rank r r micro-batches later, so that they fill the end. Each
/// rank keeps the activations of up to R micro-batches, as the first of 1F1B does. One virtual
/// stage. Where the weight pass is not longer than the forward pass and M >= R, the bubble lasts
/// (R-1)(forward + backward_data - backward_weight). Source: Qi et al., Zero Bubble Pipeline
/// Parallelism, arXiv 2401.10241, schedule ZB-H1.
[[nodiscard]] StepOrder zb_h1_order(const PipelineShape& shape, std::uint32_t rank);

}  // namespace schedlab
