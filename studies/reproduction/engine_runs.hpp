// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/acceleration_engine.hpp"
#include "hw_models/engine_fit.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/sweep/table.hpp"
#include "studies/reproduction/engine_rows.hpp"
#include "studies/reproduction/engine_study_spec.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace schedlab {

/// The network's training step, its batch in `split` slices; nothing is copied between host and
/// device, whose memory both kinds of cores share.
[[nodiscard]] TaskGraph engine_graph(const EngineStudySpec& spec,
                                     const std::string& workload,
                                     std::int64_t split);

/// Simulations of a study: every split and policy on all core groups against one core group without
/// split. Adds rows speed_up, best_speed_up, best_split and split_gain to a table.
class EngineRuns {
 public:
  using Observer = std::function<void(std::uint64_t done)>;

  /// All must outlive this.
  EngineRuns(const EngineStudySpec& spec,
             const StopFlag* stop,
             const Observer& observer,
             Table& table);

  /// `row` says the network and where `costs`, which are those of the array, come from. `in_turn`:
  /// one group at a time does the framework's part of an operator, which else all do beside each
  /// other.
  void add(EngineRow row, const OwnCosts& costs, bool in_turn = false);

 private:
  void add_splits(EngineRow row, const OwnCosts& costs, bool in_turn, double one_group);
  [[nodiscard]] CostTable table_of(const TaskGraph& graph,
                                   const OwnCosts& costs,
                                   bool with_framework) const;
  [[nodiscard]] double seconds(const TaskGraph& graph,
                               const CostTable& costs,
                               const std::string& policy,
                               double scheduling_us);
  [[nodiscard]] const TaskGraph& graph(const std::string& workload, std::int64_t split);

  const EngineStudySpec& spec_;
  const StopFlag* stop_;
  const Observer& observer_;
  Table& table_;
  MachineSpec machine_;
  std::uint64_t done_ = 0;
  std::map<std::pair<std::string, std::int64_t>, TaskGraph> graphs_;
};

}  // namespace schedlab
