// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"
#include "sim/plan/placing_policy.hpp"

#include <cstdint>

namespace schedlab {

struct DiagonalOptions {
  /// 0: one per layer; without layers one per task of the widest level.
  std::uint32_t max_streams = 0;
  bool streams_per_iteration = false;  ///< the plan creates and destroys its streams
  int priority = 0;                    ///< of all streams, as CUDA
};

/// Level by level along the diagonals of the gradient grid: layer l on stream l mod max_streams, a
/// task without a layer on the stream that is free first. An L x T grid of equal nodes takes L + T
/// - 1 node times once there are min(L, T) streams. Cost: O(tasks + edges + events * streams).
/// Ties: lower task id, then lower stream id, first. Source: wavefront of Appleyard, Kocisky,
/// Blunsom, arXiv 1604.01946, 2016; one task per whole node and streams made anew in every
/// iteration as TurboLSTM observes of cuDNN.
class Diagonal final : public PlacingPolicy {
 public:
  explicit Diagonal(DiagonalOptions options = {}) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "diagonal"; }
  [[nodiscard]] Granularity granularity() const override { return Granularity::coarse; }
  [[nodiscard]] PlanBuilder place(const Problem& problem) const override;

 private:
  DiagonalOptions options_;
};

[[nodiscard]] PolicyInfo diagonal_info();

}  // namespace schedlab
