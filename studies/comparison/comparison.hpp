// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "sim/sweep/table.hpp"
#include "studies/comparison/run_comparison.hpp"
#include "studies/comparison/scenario_comparison.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

enum class ComparedKind : std::uint8_t { runs, profiles, sweeps, validations };
template <>
struct EnumNames<ComparedKind> {
  static constexpr auto names = name_list("runs", "profiles", "sweeps", "validations");
};

/// Two results of one kind, and what is different in the second.
struct Comparison {
  ComparedKind kind = ComparedKind::runs;
  std::string first;  ///< as the user named it
  std::string second;
  std::optional<RunComparison> runs;            ///< of runs and profiles
  std::optional<ScenarioComparison> scenarios;  ///< of sweeps and validations
  std::string picture;                          ///< both timelines, as SVG; empty: none
  std::optional<double> max_slowdown;           ///< a user's bound on slowdown()
  std::vector<std::string> broken;              ///< why the bound is not kept, a sentence each

  /// By how much the second takes longer, as a share of the first: its makespan, or that of the
  /// scenario with the largest ratio of those that may be told from noise. Negative: all are
  /// faster.
  [[nodiscard]] double slowdown() const;
};

/// Runs (folders of simulate, execute, or trace.json), profiles of PyTorch, folders of sweeps or of
/// validations, known by their content. Throws InputError, also for results of two kinds.
[[nodiscard]] Comparison compare_results(const std::filesystem::path& first,
                                         const std::filesystem::path& second);
/// Sets the bound, and says whether it is kept: a scenario that only fails in the second breaks it.
void apply_bound(Comparison& comparison, double max_slowdown);

/// One sentence: what takes longer, and by how much.
[[nodiscard]] std::string comparison_answer(const Comparison& comparison);
/// The answer, then what changed. Not `whole`: for a terminal, without pictures and long tables.
[[nodiscard]] ReportDocument comparison_report(const Comparison& comparison, bool whole);
/// comparison.json
[[nodiscard]] std::string comparison_json(const Comparison& comparison);
/// JSON Schema (draft 7) of it.
[[nodiscard]] std::string comparison_schema();
/// comparison.csv: a row per task or scenario that both have.
[[nodiscard]] Table comparison_table(const Comparison& comparison);

}  // namespace schedlab
