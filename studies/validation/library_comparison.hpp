// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/sweep/table.hpp"
#include "studies/execution/baseline.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/validation/validation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// The fastest plan and the library's fastest variant, run one after the other many times in one
/// process (library_turns.hpp): medians with 95 % intervals.
struct LibraryTurns {
  std::uint32_t turns = 0;
  double plan_us = 0;
  double library_us = 0;
  Interval plan{};
  Interval library{};
  double drift = 0;  ///< of the library's median since the baseline was measured, relative

  [[nodiscard]] double ratio() const { return plan_us / library_us; }
};

/// Plans on one network against the library's own routine for it. All knobs count that do not
/// change what is computed: policy, how the network is cut into tasks, launch mode.
struct LibraryRow {
  std::string network;  ///< label of the baseline
  std::string policy;   ///< registered name; empty: all policies
  std::size_t scenarios = 0;
  std::size_t fastest = 0;  ///< outcome: the fastest as measured
  std::size_t chosen = 0;   ///< outcome: the fastest as simulated, before anything was measured
  double fastest_us = 0;    ///< measured medians
  double chosen_us = 0;
  RnnVariant variant;  ///< the library's fastest
  double library_us = 0;
  std::optional<LibraryTurns> turns{};  ///< of all policies' rows, where they were asked for

  [[nodiscard]] double fastest_ratio() const { return fastest_us / library_us; }
  [[nodiscard]] double chosen_ratio() const { return chosen_us / library_us; }
  /// Time lost by choosing with the simulation.
  [[nodiscard]] double regret() const { return chosen_us / fastest_us - 1; }
};

/// Rows of each network, all policies together first. Networks that only one side has are left out.
/// The library's time of a training step is that of forward and backward; it has no loss and no
/// update.
[[nodiscard]] std::vector<LibraryRow> compare_with_library(const ScenarioSpace& space,
                                                           const Validation& validation,
                                                           const Baselines& baselines);

/// library.csv.
[[nodiscard]] Table library_table(const Validation& validation,
                                  const std::vector<LibraryRow>& rows);
/// The rows that were measured in turns, for a report.
[[nodiscard]] PrintedTable turns_table(const std::vector<LibraryRow>& rows);

}  // namespace schedlab
