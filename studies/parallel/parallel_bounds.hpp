// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/parallel/parallel_choices.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace schedlab {

/// What no schedule of one choice and one cut is below.
struct ParallelBound {
  Duration time{0};
  Bytes memory{};    ///< of the fullest device
  Duration sums{0};  ///< of the gradients over the replicas, of the stage with most
};

/// Layers of each stage, in the model's order, and their bound.
struct ParallelCut {
  std::vector<std::int64_t> layers_per_stage;
  ParallelBound bound;
};

/// Lower bounds from the times of layers. With F, D, W the passes of a stage, R its recomputation
/// (F or nothing), A the sum of its gradients over the replicas, U its update, m microbatches:
///
///   first(k)  earliest start of its first forward pass: those of the stages that it reads, and the
///             messages
///   time      the largest over stages of   first + m (F + R + D + W) + A + U
///             and of   first + m (F + R + D) + the way back of the last gradient, with W + A + U
///             of the stage where it ends; likewise of all stages of one rank
///   memory    parameters and optimizer state of a rank, and of one of its stages the gradients and
///             what one microbatch keeps
///
/// Where collectives run beside what other microbatches compute, a stage's F + R + D (+ W) of m
/// microbatches is the larger of what it computes and of its collectives.
///
/// Valid for every order of the passes. Of two copies of a stage each has its half of the
/// microbatches; ZeRO divides what it divides, and its collectives are left out.
class ParallelBounds {
 public:
  /// All must outlive this.
  ParallelBounds(const ParallelSpace& space, const CostModel& model, const Platform& platform)
      : space_(space), model_(model), platform_(platform) {}

  /// To be called before of() and some_cut().
  void choose(const ParallelChoice& choice);
  [[nodiscard]] ParallelBound of(std::span<const std::int64_t> layers_per_stage);
  /// The cut whose longest stage is shortest.
  [[nodiscard]] std::vector<std::int64_t> balanced_cut() const;
  /// Of all cuts: the longest stage of the balanced one, and one microbatch through all stages.
  [[nodiscard]] Duration of_all_cuts() const;

 private:
  /// Sums over the layers before each.
  struct Sums {
    std::vector<Duration> forward, data, weight, update;
    std::vector<Duration> computed_forward, computed_data, computed_weight;  // no collectives
    std::vector<std::int64_t> parameters, tied, kept;
  };
  struct Stage {
    std::uint32_t begin = 0;  // layers
    std::uint32_t end = 0;
    Duration forward{0}, data{0}, weight{0}, update{0}, sum{0};
    Duration first{0};
    Duration back{0};   // from the end of its last data gradient along stages before
    Duration after{0};  // the larger of that and its own weights, sum, update
    Bytes state{};      // parameters and what the optimizer keeps
    Bytes working{};    // gradients of parameters, and what a microbatch keeps
  };
  void make_stages(std::span<const std::int64_t> layers_per_stage);
  void walk_edges();
  [[nodiscard]] Duration message(std::uint32_t from, std::uint32_t to, Bytes bytes) const;
  [[nodiscard]] Duration gradient_sum(Bytes bytes, std::uint32_t place);
  /// Of one of many microbatches.
  [[nodiscard]] Duration stage_work(std::uint32_t begin,
                                    std::uint32_t end,
                                    bool weights = true) const;
  [[nodiscard]] bool fill(Duration limit, std::vector<std::int64_t>& counts) const;

  const ParallelSpace& space_;
  const CostModel& model_;
  Platform platform_;
  ParallelChoice choice_;
  const LayerGraph* graph_ = nullptr;
  Routes routes_;
  Sums sums_;
  bool is_chain_ = false;
  std::vector<Stage> stages_;
  std::vector<std::uint32_t> stage_of_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> links_;
  std::map<std::tuple<Bytes, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, Duration>
      known_sums_;
};

/// The cuts of one choice that are looked at, by rising bound.
struct ParallelCuts {
  std::vector<ParallelCut> cuts;
  /// No other cut that fits has a lower bound; the largest duration if there is none.
  Duration others = Duration::max();
  std::uint64_t fitting = 0;
  std::uint64_t too_large = 0;  ///< that need more memory than there is
  bool all = true;              ///< were looked at
};

/// The `most` cuts with the lowest bounds of those that fit into `memory` (0: any). If a model has
/// more than `most_enumerated` cuts, only the balanced one, and the one with equal numbers of
/// layers.
[[nodiscard]] ParallelCuts best_cuts(ParallelBounds& bounds,
                                     const ParallelChoice& choice,
                                     std::size_t layers,
                                     Bytes memory,
                                     std::size_t most,
                                     std::uint64_t most_enumerated = 20'000);

}  // namespace schedlab
