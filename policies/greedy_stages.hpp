// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/policy_info.hpp"

#include <cstdint>

namespace schedlab {

/// How one stage waits for the one before.
enum class StageBarrier : std::uint8_t {
  host,    ///< the host synchronizes with the device, then launches the next stage
  events,  ///< the streams of a stage wait for those of the one before; the host goes on
};

struct GreedyStagesOptions {
  StageBarrier barrier = StageBarrier::host;
  std::uint32_t max_streams = 0;  ///< 0 = as many as the widest stage, at most most_default_streams
};

/// All ready tasks form a stage; they run side by side, each on a stream of its own; after a
/// barrier come the tasks that are ready then. Task i of a stage runs on stream i mod max_streams;
/// tasks that add into one tensor share a stream, in the order of their ids.
///
/// No barrier between two stages of one task each (of one stream): they follow each other in
/// stream 0.
///
/// A layered graph of S stages with equal tasks of d takes S (d + barrier) once there are as many
/// streams and units as tasks in a stage.
///
/// Cost: O(tasks + edges), with events also O(stages * streams^2). Ties: lower task id first.
/// Source: the greedy schedule of Ding, Zhu, Jia, Pekhimenko, Han, IOS: Inter-Operator Scheduler
/// for CNN Acceleration, MLSys 2021 (arXiv 2011.01302), whose runtime synchronizes the device
/// between stages unless both have one group.
class GreedyStages final : public Policy {
 public:
  explicit GreedyStages(GreedyStagesOptions options = {}) : options_(options) {}
  [[nodiscard]] std::string_view name() const override { return "greedy_stages"; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;

 private:
  GreedyStagesOptions options_;
};

[[nodiscard]] PolicyInfo greedy_stages_info();

}  // namespace schedlab
