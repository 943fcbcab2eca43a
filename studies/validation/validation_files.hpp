// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "sim/sweep/table.hpp"
#include "sim/trace/trace.hpp"
#include "studies/execution/measurement.hpp"
#include "studies/sensitivity/sensitivity.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "studies/validation/dispatch_gains.hpp"
#include "studies/validation/launch_gains.hpp"
#include "studies/validation/library_comparison.hpp"
#include "studies/validation/prediction.hpp"
#include "studies/validation/validation.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// Everything that is written about one validation.
struct ValidationReport {
  const Spec& spec;
  const Grid& grid;
  const std::vector<PredictedScenario>& predicted;
  const Measurements& measured;
  const Validation& validation;
  LaunchGains launch;                    ///< of scenarios that are run eagerly and as device graphs
  std::vector<DispatchGain> dispatch{};  ///< of scenarios that are planned and decided as they run
  std::string library_name;              ///< whose routine plans are compared with; empty: none
  std::vector<LibraryRow> library;
  std::vector<std::string> broken;    ///< bounds that were not kept, a sentence each
  std::vector<std::string> warnings;  ///< shown at the top
  std::size_t shown = 0;              ///< outcome of the timeline; one that was compared
  /// Of the two policies of a case that are predicted to be closest, where they are few tasks.
  std::optional<Sensitivity> sensitivity{};
};

/// validation.json: all figures, per scenario too; docs/validation.md says what each is.
[[nodiscard]] std::string validation_json(const ValidationReport& report);
/// The JSON Schema of validation.json.
[[nodiscard]] std::string validation_schema();
/// scenarios.csv: a row per scenario, its axes first.
[[nodiscard]] Table scenarios_table(const ValidationReport& report);
/// predictions.csv: a row per scenario, its axes first; known before anything is measured.
[[nodiscard]] Table predictions_table(const Grid& grid,
                                      const std::vector<PredictedScenario>& predicted);
/// pairs.csv: a row per two scenarios of a group.
[[nodiscard]] Table pairs_table(const ValidationReport& report);
/// runs.csv: a row per measured run.
[[nodiscard]] Table runs_table(const ValidationReport& report);
/// What a reader has to know before the figures: stopped, disturbed, too few runs.
[[nodiscard]] std::vector<std::string> validation_warnings(const ValidationReport& report);
/// All that is said about it, in words, tables and pictures. Not `whole`: the summary for a
/// terminal, without pictures, single scenarios and warnings.
[[nodiscard]] ReportDocument validation_document(const ValidationReport& report, bool whole);
/// The same figures for --json, and the start of validation.json.
[[nodiscard]] std::string validation_summary_json(const ValidationReport& report,
                                                  const std::vector<std::string>& files,
                                                  const std::string& out);

/// The simulated and the measured run (the one nearest to the median) of a scenario, for pictures
/// and viewers.
[[nodiscard]] std::pair<TraceDocument, TraceDocument> overlaid_documents(
    const FullRun& run, const MeasuredScenario& measured, const std::string& title);

// Pictures, as SVG.
/// Predicted over measured makespan with intervals.
[[nodiscard]] std::string makespans_picture(const ValidationReport& report);
/// Predicted / measured by policy.
[[nodiscard]] std::string policies_picture(const ValidationReport& report);
/// The error budget of each scenario.
[[nodiscard]] std::string budget_picture(const ValidationReport& report);
/// The machine's speed over the measurement, from speed checks.
[[nodiscard]] std::string speed_picture(const ValidationReport& report);
/// Predicted and observed P(A faster than B).
[[nodiscard]] std::string reliability_picture(const ValidationReport& report);

}  // namespace schedlab
