// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/ranks/rank_link.hpp"
#include "real_exec/training/pipeline_training.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab {

/// What the messages of a pipeline cost its ranks.
struct MessageCosts {
  std::vector<PackCosts> links{};  ///< from each stage but the last to the next
  Duration latency{0};             ///< of the shortest message
  Duration send{0};                ///< the calls that begin a send, and end it when it has left
  Duration receive{0};             ///< the call that begins a receive
};

/// What an iteration is made of, each part measured by itself before the training: a median of many
/// tries. Nothing is taken from an iteration.
struct RankCosts {
  PipelineCosts pipeline{};
  Duration latency{0};  ///< this and the next two as in MessageCosts
  Duration send{0};
  Duration receive{0};
  Duration call{0};  ///< of any call of a host program: finding what it is about, its record
  /// Bytes of an all-reduce, and its time from the first copy of gradients to the last.
  std::vector<std::pair<Bytes, Duration>> sums{};
};

/// The stages of a training on this thread alone.
[[nodiscard]] std::vector<StageCosts> measure_stages(const PipelineTraining& training,
                                                     std::uint32_t visits);

/// The same by the ranks that will run them, as many at a time as there are `cores`, so that each
/// is as slow as its neighbours make it: cores share caches, memory, and often a physical core.
/// Called by all ranks; known at rank 0.
[[nodiscard]] std::vector<StageCosts> measure_stages(const PipelineTraining& training,
                                                     RankLink& link,
                                                     std::uint32_t cores,
                                                     std::uint32_t visits);

/// Between ranks 0 and 1, in messages as the cuts make them. A library moves bytes inside its calls
/// only, so what a message takes beyond the latency (three of them above `eager_limit`: who wants
/// to send asks first) is its receiver's time: it is part of PackCosts::unpack.
/// Called by all ranks; known at rank 0, all 0 if there is no second rank.
[[nodiscard]] MessageCosts measure_messages(const PipelineTraining& training,
                                            RankLink& link,
                                            Bytes eager_limit);

/// One all-reduce of each size that `graph` has. Called by all ranks; known at rank 0.
[[nodiscard]] std::vector<std::pair<Bytes, Duration>> measure_sums(const TaskGraph& graph,
                                                                   RankLink& link);

/// RankCosts::call: a pipeline of one stage whose passes do next to nothing, on this thread.
[[nodiscard]] Duration measure_call();

/// All of it. Called by all ranks; known at rank 0.
[[nodiscard]] RankCosts measure_rank_costs(const PipelineTraining& training,
                                           RankLink& link,
                                           std::uint32_t cores,
                                           Bytes eager_limit);

}  // namespace schedlab
