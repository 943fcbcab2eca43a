// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "sim/trace/attribution.hpp"
#include "sim/trace/metrics.hpp"
#include "studies/explanation/explained_run.hpp"
#include "studies/explanation/what_if.hpp"
#include "studies/sensitivity/sensitivity.hpp"

#include <memory>
#include <optional>
#include <string>

namespace schedlab {

struct RunDifference;

/// Why a run took as long as it did.
struct Explanation {
  ExplainedRun run;
  Metrics metrics;
  Attribution attribution;
  std::optional<WhatIfTable> what_if;            ///< nullopt: not asked for
  std::shared_ptr<const RunDifference> against;  ///< from another run; nullptr: likewise
  std::optional<Sensitivity> sensitivity{};      ///< with what_if, of a simulated run of few tasks
};

/// `bins`: slices of the makespan.
[[nodiscard]] Explanation explain(ExplainedRun run, std::size_t bins = 100);

/// explain.json; docs/explain.md says what each key is.
[[nodiscard]] std::string explanation_json(const Explanation& explanation);
/// JSON Schema (draft 7) of it.
[[nodiscard]] std::string explanation_schema();
/// explain.csv: a row per gap of a stream, by cause.
[[nodiscard]] Table gaps_table(const Explanation& explanation);
/// For a terminal of about 100 columns.
[[nodiscard]] std::string explanation_text(const Explanation& explanation);
/// A time that may be negative: "-1.5 ms".
[[nodiscard]] std::string signed_time(Duration time);
/// Host and device tracks, the one that decides shaded, and shares over time.
[[nodiscard]] std::string explanation_picture(const Explanation& explanation);
/// report.html: one file without scripts and references; everything from files is escaped.
[[nodiscard]] std::string explanation_html(const Explanation& explanation);

}  // namespace schedlab
