// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/core_group_dispatch.hpp"
#include "policies/policy_info.hpp"

namespace schedlab {

/// Operators to core groups in turn, in the order in which they become ready; each group works off
/// its own first-in-first-out queue and never helps another. Cost: O((tasks + edges) log tasks).
/// Ties: what becomes ready at once is dealt by rising task id. Source: swFLOWpro, "A Dataflow
/// Computing System for New Generation of Domestic Heterogeneous Many-Core Processors" (two-level
/// parallelism: round-robin choice of the core group, FIFO choice of the operator).
class RoundRobinFifo final : public Policy {
 public:
  explicit RoundRobinFifo(std::uint32_t max_streams = default_core_groups)
      : RoundRobinFifo(CoreGroupOptions{.max_streams = max_streams, .scheduling = Duration{0}}) {}
  explicit RoundRobinFifo(const CoreGroupOptions& options) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "round_robin_fifo"; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  CoreGroupOptions options_;
};

[[nodiscard]] PolicyInfo round_robin_fifo_info();

}  // namespace schedlab
