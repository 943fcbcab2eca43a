// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_evidence.hpp"
#include "sim/sweep/table.hpp"
#include "studies/explanation/imported_run.hpp"
#include "studies/explanation/replay_change.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// Profiles, simulated again.
struct ReplayReport {
  const ImportedRun& run;
  ReplayMode mode = ReplayMode::copied_launches;
  const ReplayModel& model;
  const Trace& trace;
  ReplayErrors errors;
  CollectiveSpread collectives;
  std::vector<ChangedRun> what_if{};

  /// What the replayed durations rest on: the profile's own, or of its first part.
  [[nodiscard]] CostEvidence evidence() const {
    return mode == ReplayMode::calibrated ? CostEvidence::calibrated : CostEvidence::replayed;
  }
};

/// For a terminal of about 100 columns.
[[nodiscard]] std::string replay_text(const ReplayReport& report);
/// replay.json
[[nodiscard]] std::string replay_json(const ReplayReport& report);
/// JSON Schema (draft 7) of it.
[[nodiscard]] std::string replay_schema();
/// items.csv: a row per task, as measured and as replayed.
[[nodiscard]] Table replay_items(const ReplayReport& report);
/// overlap.csv: a row per kernel that runs both alone and beside other streams (KernelOverlap).
[[nodiscard]] Table replay_overlaps(const ReplayReport& report);
/// what_if.csv: a row per change.
[[nodiscard]] Table replay_changes(const ReplayReport& report);

}  // namespace schedlab
