// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace schedlab {

/// What a task of a pipeline's graph does. Such a graph tags every task with its stage
/// (Tags::stage, in the order of the model), its micro-batch (Tags::microbatch; -1: all of an
/// iteration) and its work (Tags::step); TaskGraph::rank says where it runs (PipelineRanks). Where
/// several ranks share a stage (tensor parallelism) each has its part of every pass, and the
/// collectives that join the parts are tasks of the pass.
enum class PipelineWork : std::uint8_t {
  labels,              ///< the first stage reads labels, which go to the last
  receive_activation,  ///< decompresses it
  forward,
  send_activation,  ///< compresses it
  recompute,        ///< the forward pass again, for what it did not keep
  receive_gradient,
  backward_data,
  send_gradient,
  backward_weight,
  all_reduce,  ///< of gradients over data-parallel replicas, or over stages with tied parameters;
               ///< a reduce-scatter where each keeps a part
  update,
  gather_forward,   ///< of parameters that the replicas keep in parts, before forward
  gather_backward,  ///< the same before backward_data
};
inline constexpr std::size_t pipeline_work_count = 13;

/// Does it move gradients or parameters between replicas?
[[nodiscard]] constexpr bool joins_replicas(PipelineWork work) {
  return work == PipelineWork::all_reduce || work >= PipelineWork::gather_forward;
}

/// Names of operations at stage level.
[[nodiscard]] std::string_view to_string(PipelineWork work);

/// nullopt: the task is not part of a pipeline.
[[nodiscard]] std::optional<PipelineWork> pipeline_work(const Tags& tags);
[[nodiscard]] Tags pipeline_tags(std::uint32_t stage, std::int64_t microbatch, PipelineWork work);

/// Who is where: rank = (replica x places + place) x tensor_parallel + lane, so that the ranks that
/// share a stage are neighbours, and those of a data-parallel replica too.
struct PipelineRanks {
  std::uint32_t replicas = 0;         ///< data-parallel; 0: the graph is no pipeline
  std::uint32_t places = 1;           ///< of a replica, each with tensor_parallel ranks
  std::uint32_t tensor_parallel = 1;  ///< ranks that share a stage

  /// Which of its replica's places.
  [[nodiscard]] std::uint32_t place(std::uint32_t rank) const {
    return rank / tensor_parallel % places;
  }
  /// Ranks of one lane of a replica pass micro-batches on to each other: a line. Which one is it?
  [[nodiscard]] std::uint32_t line(std::uint32_t rank) const {
    return rank / tensor_parallel / places * tensor_parallel + rank % tensor_parallel;
  }
  friend bool operator==(const PipelineRanks&, const PipelineRanks&) = default;
};

/// Which place of a replica has which stage.
enum class StagePlacement : std::uint8_t {
  loop,           ///< stage k at place k modulo places
  v,              ///< the same there and back: the places' last has two stages in a row
  bidirectional,  ///< a copy of stage k at place k, one at the place as far from the last; the
                  ///< second half of the micro-batches goes the other way
};
template <>
struct EnumNames<StagePlacement> {
  static constexpr auto names = name_list("loop", "v", "bidirectional");
};

/// Where the passes of a replica are done.
struct StageMap {
  std::uint32_t places = 1;
  std::uint32_t microbatches = 1;
  StagePlacement placement = StagePlacement::loop;

  /// How many places have a copy of a stage.
  [[nodiscard]] std::uint32_t copies() const {
    return placement == StagePlacement::bidirectional ? 2 : 1;
  }
  /// Which copy of a stage does the micro-batch's passes.
  [[nodiscard]] std::uint32_t copy_of(std::uint32_t microbatch) const {
    return copies() == 2 && microbatch >= (microbatches + 1) / 2 ? 1 : 0;
  }
  [[nodiscard]] std::uint32_t place(std::uint32_t stage, std::uint32_t copy) const {
    const std::uint32_t at = stage % places;
    const bool back = placement == StagePlacement::v ? stage / places % 2 == 1 : copy == 1;
    return back ? places - 1 - at : at;
  }
  friend bool operator==(const StageMap&, const StageMap&) = default;
};

/// The ranks of a pipeline's graph. How many ranks share a stage is how many a collective within a
/// pass joins. Cost O(tasks).
[[nodiscard]] PipelineRanks pipeline_ranks(const TaskGraph& graph);

/// The result of one task that another rank needs.
struct RankMessage {
  TaskId producer;
  std::uint32_t to = 0;  ///< rank of those that read it
  Bytes bytes{};         ///< of all tensors that the producer writes and that rank reads

  friend bool operator==(const RankMessage&, const RankMessage&) = default;
};

/// One message for each task and each other rank with a successor of it, by rising producer, then
/// rank. Message i of a pipeline's plan is the i-th of these. Cost O(tasks + edges + tensor uses).
[[nodiscard]] std::vector<RankMessage> rank_messages(const TaskGraph& graph);

}  // namespace schedlab
