// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"
#include "sim/pipeline/layer_graph.hpp"
#include "studies/parallel/parallel_spec.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// How the training of a model is spread over devices, but for the schedule and the cut.
struct ParallelChoice {
  std::uint32_t replicas = 1;         ///< data-parallel groups
  std::uint32_t stages = 1;           ///< of each
  std::uint32_t virtual_stages = 1;   ///< stages of each rank
  std::uint32_t tensor_parallel = 1;  ///< ranks that share a stage
  std::uint32_t expert_parallel = 1;  ///< that share its experts, each with microbatches of its own
  std::int64_t microbatches = 1;      ///< of each replica
  std::int64_t samples = 1;           ///< of a microbatch
  bool recompute = false;
  std::string placement = "loop";  ///< of stages on ranks; "v", "bidirectional"
  std::int64_t zero = 0;           ///< stage of ZeRO
  bool overlap = false;  ///< collectives of a microbatch's passes run beside what others compute

  /// Ranks at each place; collectives within passes join them.
  [[nodiscard]] std::uint32_t lanes() const { return std::max(tensor_parallel, expert_parallel); }
  [[nodiscard]] std::uint32_t places() const { return stages / virtual_stages; }
  [[nodiscard]] std::uint32_t devices() const { return replicas * places() * lanes(); }
  /// Ranks of a replica that have a copy of each stage.
  [[nodiscard]] std::uint32_t copies() const { return placement == "bidirectional" ? 2 : 1; }
  /// Of a replica, the rank that has a copy of a stage.
  [[nodiscard]] std::uint32_t place(std::uint32_t stage, std::uint32_t copy) const {
    const std::uint32_t at = stage % places();
    const bool back = placement == "v" ? stage / places() % 2 == 1 : copy == 1;
    return back ? places() - 1 - at : at;
  }
  friend auto operator<=>(const ParallelChoice&, const ParallelChoice&) = default;
};

/// A model's layers for one size of microbatch and one tensor-parallel degree.
struct CostedLayers {
  LayerGraph graph;
  IdVector<LayerId, LayerTimes> times;
  IdVector<LayerId, LayerTimes> computing;  ///< of these, all but collectives
};

/// The choices of a spec and what its layers cost in each.
class ParallelSpace {
 public:
  /// All must outlive this. Throws what make_layers() throws, with the spec's place;
  /// InfeasibleError if no choice remains: says why.
  ParallelSpace(const ParallelSpec& spec, const CostModel& model, const Platform& platform);

  [[nodiscard]] const std::vector<ParallelChoice>& choices() const { return choices_; }
  [[nodiscard]] const CostedLayers& layers(const ParallelChoice& choice) const {
    return *layers_.at({choice.samples, choice.tensor_parallel});
  }
  /// Bytes of optimizer state per byte of parameters.
  [[nodiscard]] double optimizer_copies() const { return optimizer_copies_; }
  /// Has the model such an option ("samples", "tensor_parallel")?
  [[nodiscard]] bool has_option(std::string_view name) const;
  /// Is the schedule one of those that a choice is simulated with? Collectives beside computing are
  /// a choice of their own, as its bounds are; where passes have no collectives nothing is to hide.
  [[nodiscard]] bool tries(const ParallelPolicy& policy, const ParallelChoice& choice) const;

 private:
  [[nodiscard]] std::int64_t fixed_option(const char* name) const;
  [[nodiscard]] std::shared_ptr<const CostedLayers> make(std::int64_t samples,
                                                         std::int64_t tensor_parallel) const;
  void add_layouts(std::int64_t tensor_parallel);
  void add_placements(ParallelChoice choice);
  void add_microbatches(ParallelChoice choice);
  void add_memory_choices(ParallelChoice choice);
  [[nodiscard]] bool has_collectives(const ParallelChoice& choice) const;

  const ParallelSpec& spec_;
  const CostModel& model_;
  const Platform& platform_;
  double optimizer_copies_ = 0;
  std::size_t layer_count_ = 0;
  std::int64_t file_samples_ = 0;  // of a model that has no option for it
  std::uint32_t expert_parallel_ = 1;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::shared_ptr<const CostedLayers>> layers_;
  std::vector<ParallelChoice> choices_;
};

}  // namespace schedlab
