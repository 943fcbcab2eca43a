// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/pipeline_work.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// Adds the tasks of a pipeline's graph in a topological order: for each line of ranks
/// (PipelineRanks::line) begin_line(), all forward passes, all backward passes; then synchronize()
/// and update().
class PipelineEmitter {
 public:
  /// `spec` must outlive this.
  explicit PipelineEmitter(const PipelineSpec& spec);

  /// `samples` of each micro-batch of the line's replica.
  void begin_line(std::uint32_t line, std::vector<std::int64_t> samples);
  void forward(std::uint32_t stage, std::int64_t microbatch);
  void backward(std::uint32_t stage, std::int64_t microbatch);
  void synchronize();
  void update();
  [[nodiscard]] TaskGraph build() &&;

 private:
  /// First and last task of a pass.
  struct Span {
    TaskId first;
    TaskId last;
  };
  /// What a link carries of one micro-batch, as its reader gets it.
  struct Cargo {
    TensorId activation;
    TensorId gradient;
  };
  /// What is known of the present line by stage and micro-batch.
  struct PassState {
    Span forward;
    TensorId kept;
    TensorId input;  // with recomputation
  };

  [[nodiscard]] std::uint32_t stage_count() const {
    return static_cast<std::uint32_t>(spec_.profile.stages.size());
  }
  /// One of the copies of a stage: a rank has it.
  struct Holder {
    std::uint32_t line = 0;
    std::uint32_t stage = 0;
    std::uint32_t copy = 0;
  };
  [[nodiscard]] std::uint32_t rank_of(const Holder& of) const {
    const std::uint32_t lanes = spec_.tensor_parallel;
    return (of.line / lanes * map_.places + map_.place(of.stage, of.copy)) * lanes +
           of.line % lanes;
  }
  [[nodiscard]] std::size_t index(const Holder& of) const {
    return (std::size_t{of.line} * map_.copies() + of.copy) * stage_count() + of.stage;
  }
  [[nodiscard]] std::uint32_t line_count() const { return spec_.replicas * spec_.tensor_parallel; }
  [[nodiscard]] std::size_t at(std::uint32_t stage, std::int64_t microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(spec_.microbatches) +
           static_cast<std::size_t>(microbatch);
  }
  [[nodiscard]] Bytes of_samples(Bytes per_sample, std::int64_t microbatch) const {
    return Bytes{per_sample.count() * samples_[static_cast<std::size_t>(microbatch)]};
  }
  [[nodiscard]] OperationId operation(PipelineWork work, Duration duration);
  [[nodiscard]] const std::vector<OperationId>* operators(PipelineWork work,
                                                          std::uint32_t stage) const;
  TaskId task(std::uint32_t stage, std::int64_t microbatch, PipelineWork work, OperationId id);
  /// The line's next part of a collective within a pass: a replica's first line makes the
  /// collectives, its other lines come to them in the same order.
  [[nodiscard]] CollectiveId next_collective(OperationId id);
  /// Ranks of a lane in all replicas come to the same collectives in the same order: the next one.
  [[nodiscard]] CollectiveId next_sharded(CollectiveOp op, Bytes bytes);
  /// A part of it that moves parameters or gradients of a stage.
  TaskId join_replicas(std::uint32_t stage,
                       std::int64_t microbatch,
                       PipelineWork work,
                       CollectiveOp op,
                       Bytes bytes);
  /// With ZeRO 3: parameters for an operation of a pass; none(): it needs no more.
  [[nodiscard]] TensorId gathered(std::uint32_t stage,
                                  std::int64_t microbatch,
                                  PipelineWork work,
                                  std::size_t operation);
  /// What a replica keeps of bytes that are divided from this stage of ZeRO on.
  [[nodiscard]] Bytes share(Bytes bytes, std::uint32_t from_zero) const;
  /// The tasks of one pass, one after another.
  Span pass(std::uint32_t stage, std::int64_t microbatch, PipelineWork work);
  [[nodiscard]] TensorId tensor(std::string_view name,
                                std::uint32_t stage,
                                std::int64_t microbatch,
                                Bytes bytes);
  /// `writer` makes what a link carries; returns the tensor that travels.
  TensorId send(std::uint32_t stage,
                std::int64_t microbatch,
                const StageLink& link,
                TaskId writer,
                PipelineWork work);
  /// The tensor that the pass at the link's other end reads.
  TensorId receive(std::uint32_t stage,
                   std::int64_t microbatch,
                   const StageLink& link,
                   TensorId travels,
                   PipelineWork work);
  /// Does what the link carries travel from rank to rank?
  [[nodiscard]] bool travels(const StageLink& link) const {
    return map_.place(link.from, 0) != map_.place(link.to, 0);
  }
  /// Is it packed by a task of its own?
  [[nodiscard]] bool packs(const StageLink& link) const {
    return travels(link) && (spec_.packs || (compression_ > 1 && rate_.count() > 0));
  }
  /// Bytes of a micro-batch that the link carries.
  [[nodiscard]] Bytes encoded(const StageLink& link, std::int64_t microbatch) const;
  /// The operation that packs or unpacks.
  [[nodiscard]] OperationId packing(PipelineWork work,
                                    std::int64_t microbatch,
                                    const StageLink& link);
  void join(std::uint32_t first_stage, Bytes bytes, const std::vector<Holder>& parts);
  /// join() of what the lanes have alike, for each lane or for all at once: all copies of `stages`
  /// on all replicas.
  void join_lanes(Bytes bytes, const std::vector<std::uint32_t>& stages);
  /// All copies of a stage on those lanes of all replicas.
  [[nodiscard]] std::vector<Holder> holders(std::uint32_t stage,
                                            std::uint32_t first_lane,
                                            std::uint32_t lanes) const;

  const PipelineSpec& spec_;
  StageMap map_;
  std::uint32_t zero_;                      // 0 with one replica
  std::vector<std::uint32_t> lane_offset_;  // of operations, by lane
  double compression_;
  Bandwidth rate_;
  TaskGraphBuilder builder_;
  std::map<std::pair<PipelineWork, std::int64_t>, OperationId> operations_;
  std::vector<std::vector<std::size_t>> links_to_;    // by stage: indices of links
  std::vector<std::vector<std::size_t>> links_from_;  // likewise

  std::uint32_t line_ = 0;
  std::uint32_t copy_ = 0;                             // that is updated
  std::map<OperationId, OperationId> shared_updates_;  // by that of the whole
  std::vector<std::vector<CollectiveId>> sharded_;     // by lane
  std::size_t next_sharded_ = 0;                       // of the present line
  std::vector<CollectiveId> collectives_;              // of the passes of the present replica
  std::size_t next_collective_ = 0;                    // of the present line
  std::vector<std::int64_t> samples_;
  std::vector<PassState> passes_;
  std::vector<std::vector<Cargo>> cargo_;  // by link, micro-batch
  std::vector<TensorId> labels_;           // by micro-batch
  /// Weight gradients of all holders, by index().
  std::vector<TensorId> weight_gradients_;
  std::vector<std::vector<TaskId>> reduced_;  // parts of collectives that the update waits for
};

}  // namespace schedlab::detail
