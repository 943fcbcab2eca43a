// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/pipeline_rank.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab {

struct PipelineRunOptions {
  std::int64_t rounds = 1;
  /// So many rounds are trained unsplit too, by rank 0, and compared; 0: none.
  std::int64_t verified_rounds = 0;
  const StopFlag* stop = nullptr;
  /// Called at rank 0 after each round; may be empty.
  std::function<void(std::int64_t round)> observer{};
};

/// What a run of all ranks came to; complete at rank 0, empty elsewhere.
struct PipelineRunResult {
  std::vector<double> losses;       ///< mean over the samples of each round
  std::vector<Duration> makespans;  ///< of each round, from the first call of a rank to the last
  std::int64_t traced_round = 0;  ///< whose makespan is the median of the later half of the rounds
  Trace trace;                    ///< of that round, on rank 0's clock, from 0
  Duration clock_error{0};        ///< times of other ranks in the trace may be off by this
  std::vector<float> parameters;  ///< of the whole net, trained
  std::vector<std::int64_t> peak_kept_bytes;  ///< by stage, of group 0
  /// Of the first round, largest of any layer; compared with the unsplit net.
  double gradient_difference = 0;
  /// Largest |loss - unsplit loss| / unsplit loss of the verified rounds.
  double loss_difference = 0;
};

/// Trains over the ranks of the link; called by all of them.
/// Errors  as PipelineRank; Interrupted.
[[nodiscard]] PipelineRunResult run_pipeline(const PipelineTraining& training,
                                             const TaskGraph& graph,
                                             const Plan& plan,
                                             RankLink& link,
                                             const PipelineRunOptions& options);

}  // namespace schedlab
