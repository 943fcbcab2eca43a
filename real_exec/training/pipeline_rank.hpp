// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/cpu_clock.hpp"
#include "real_exec/ranks/rank_link.hpp"
#include "real_exec/training/pipeline_training.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab {

/// What one rank did in one iteration, on its own clock.
struct RankRecord {
  std::vector<TaskSpan> tasks;
  std::vector<HostSpan> hosts;
  /// Messages that this rank sent, with `left`, and received, with `arrived`.
  std::vector<MessageSpan> messages;
};

/// One rank of a pipeline: runs its host program of a plan, call by call.
///
/// A launch does its task on the calling thread and returns when it is done; an all-reduce begins
/// and is waited for by the first task that needs it, or a synchronize. isend, irecv, wait_message
/// are the link's. Data travels in buffers of the messages' own, so that a stage may reuse its
/// memory while a message is under way.
class PipelineRank {
 public:
  /// `graph` is pipeline_graph(pipeline_spec(training)) and `plan` a plan of it; all must outlive
  /// this. Made by all ranks of the link.
  /// Errors  InfeasibleError if the link has not as many ranks as the plan, too few tags for its
  ///         messages, or the plan has calls that no rank can make (graphs, sleep, query).
  PipelineRank(const PipelineTraining& training,
               const TaskGraph& graph,
               const Plan& plan,
               RankLink& link,
               const CpuClock& clock,
               const StopFlag* stop = nullptr);
  PipelineRank(const PipelineRank&) = delete;
  PipelineRank& operator=(const PipelineRank&) = delete;
  ~PipelineRank();

  struct Iteration {
    ClassLoss loss;  ///< of the samples whose last stage is here
    RankRecord record;
  };
  /// The next iteration of training.
  Iteration run();

  /// The stages of this rank, lowest first.
  [[nodiscard]] const std::vector<std::uint32_t>& stages() const;
  [[nodiscard]] TrainingStage& stage(std::uint32_t stage);
  /// Gradients of a stage as the last update used them.
  [[nodiscard]] const std::vector<float>& gradients(std::uint32_t stage) const;

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

/// The parameters (or gradients) of the whole net at rank 0, put together from the stages of
/// replica 0; empty at other ranks. Called by all.
[[nodiscard]] std::vector<float> gather_net(PipelineRank& rank,
                                            const PipelineTraining& training,
                                            RankLink& link,
                                            bool gradients);

}  // namespace schedlab
