// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/pipeline_rank.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab {

struct PipelineRunOptions {
  std::int64_t iterations = 1;
  /// So many iterations are trained unsplit too, by rank 0, and compared; 0: none.
  std::int64_t verified_iterations = 0;
  const StopFlag* stop = nullptr;
  /// Called at rank 0 after each iteration; may be empty.
  std::function<void(std::int64_t iteration)> observer{};
};

/// What a run of all ranks came to; complete at rank 0, empty elsewhere.
struct PipelineRunResult {
  std::vector<double> losses;  ///< mean over the samples of each iteration
  std::vector<Duration>
      makespans;  ///< of each iteration, from the first call of a rank to the last
  std::int64_t traced_iteration =
      0;                    ///< whose makespan is the median of the later half of the iterations
  Trace trace;              ///< of that iteration, on rank 0's clock, from 0
  Duration clock_error{0};  ///< times of other ranks in the trace may be off by this
  std::vector<float> parameters;              ///< of the whole net, trained
  std::vector<std::int64_t> peak_kept_bytes;  ///< by stage, of replica 0
  /// Largest difference of a layer's gradients in the first iteration from the unsplit net's.
  double gradient_difference = 0;
  /// Largest |loss - unsplit loss| / unsplit loss of the verified iterations.
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
