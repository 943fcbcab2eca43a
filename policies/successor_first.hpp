// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/core_group_dispatch.hpp"
#include "policies/policy_info.hpp"

namespace schedlab {

/// Each core group stays on the part of the graph where it is: a group that has ended an operator
/// takes a ready successor of it, else another ready successor of one of its predecessors, else
/// whatever has been ready longest. Independent subgraphs (the slices of a split batch) so stay on
/// one group each.
/// Cost: O((tasks + edges) log tasks) plus, per operator, the successors of its predecessors. Ties:
/// lower task id. Source: the thread function of swFLOWpro, "A Dataflow Computing System for New
/// Generation of Domestic Heterogeneous Many-Core Processors", which does not say what a thread
/// takes when neither kind is ready; oldest first is assumed.
class SuccessorFirst final : public Policy {
 public:
  explicit SuccessorFirst(std::uint32_t max_streams = default_core_groups)
      : SuccessorFirst(CoreGroupOptions{.max_streams = max_streams, .scheduling = Duration{0}}) {}
  explicit SuccessorFirst(const CoreGroupOptions& options) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "successor_first"; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  CoreGroupOptions options_;
};

[[nodiscard]] PolicyInfo successor_first_info();

}  // namespace schedlab
