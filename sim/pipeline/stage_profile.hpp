// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// Time of one pass of a stage over a micro-batch: fixed + samples x per_sample.
struct PassCost {
  Duration fixed{0};
  Duration per_sample{0};

  [[nodiscard]] constexpr Duration of(std::int64_t samples) const {
    return fixed + per_sample * samples;
  }
  friend bool operator==(const PassCost&, const PassCost&) = default;
};

/// What one stage of a pipeline costs. A stage is a part of the model that one rank works out.
struct StageProfile {
  std::string name{};
  PassCost forward{};
  PassCost backward_data{};    ///< the gradient of the stage's input
  PassCost backward_weight{};  ///< the gradients of its parameters, added to those of the
                               ///< micro-batches before
  Duration update{0};          ///< of its parameters, once an iteration
  Bytes parameters{};          ///< weights; their gradients are as large
  Bytes expert_parameters{};   ///< of these, what the ranks that share the stage do not have alike
  Bytes optimizer_state{};
  /// Per sample, held from the forward pass to the last backward pass, the stage's input included.
  Bytes kept_activations{};
  /// Per sample, held from backward_data to backward_weight.
  Bytes kept_gradients{};

  friend bool operator==(const StageProfile&, const StageProfile&) = default;
};

/// An activation that one stage makes and a later one reads; its gradient goes back.
struct StageLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;  ///< > from
  Bytes bytes{};         ///< per sample
  Bytes encoded{};       ///< per sample as it travels; 0: `bytes`, over the compression ratio
  PassCost pack{};       ///< before it travels; of activation and gradient alike
  PassCost unpack{};     ///< when it has come

  friend bool operator==(const StageLink&, const StageLink&) = default;
};

/// Parameters that several stages use (tied layers). Each stage has a copy, counted in its
/// StageProfile::parameters; the gradients of the copies are summed at the end of backward.
struct TiedParameters {
  std::string name{};
  Bytes bytes{};
  std::vector<std::uint32_t> stages{};  ///< rising, two at least

  friend bool operator==(const TiedParameters&, const TiedParameters&) = default;
};

/// A model that was cut into stages, numbered in the order of the model: all that schedules of a
/// pipeline need to know of it.
struct PipelineProfile {
  std::vector<StageProfile> stages;
  std::vector<StageLink> links;  ///< at most one of each pair of stages
  std::vector<TiedParameters> tied;
  Bytes labels{};  ///< per sample, sent by the first stage to the last before its activations

  friend bool operator==(const PipelineProfile&, const PipelineProfile&) = default;
};

/// Each stage linked to the next, `bytes` per sample.
[[nodiscard]] std::vector<StageLink> chain_links(std::uint32_t stages, Bytes bytes);

/// Throws ContractViolation naming the stage, link or tied parameters at fault: no stages, a
/// negative cost or size, a link that does not go forward or is there twice, tied parameters of
/// fewer than two stages or larger than those of a stage.
void expect_valid(const PipelineProfile& profile);

/// `total` things in `parts` parts as equal as possible, the larger ones first: 10 in 4 is 3, 3, 2,
/// 2. `parts` in [1, total].
[[nodiscard]] std::vector<std::int64_t> equal_parts(std::int64_t total, std::int64_t parts);

}  // namespace schedlab
