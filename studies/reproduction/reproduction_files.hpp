// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "notebooks_export/report_document.hpp"
#include "studies/reproduction/reproduction.hpp"

#include <array>
#include <string>

namespace schedlab {

/// Statuses of rows that were simulated, for counts by evidence.
inline constexpr std::array judged_statuses{
    ClaimStatus::within, ClaimStatus::in_part, ClaimStatus::missed};

/// reproduction.json: system, what ran, every row with its spread, error, evidence, status, why and
/// the effect of each open axis.
[[nodiscard]] std::string reproduction_json(const Reproduction& reproduction);
/// JSON Schema (draft 7) of it.
[[nodiscard]] std::string reproduction_schema();

/// One row per published point.
[[nodiscard]] Table reproduction_table(const Reproduction& reproduction);
/// reproduction.csv: that table.
[[nodiscard]] std::string reproduction_csv(const Reproduction& reproduction);

/// The rows as people read them.
[[nodiscard]] PrintedTable outcomes_table(const Reproduction& reproduction);

/// report.html: one file without scripts and references; everything from files is escaped.
[[nodiscard]] std::string reproduction_html(const Reproduction& reproduction,
                                            const std::string& program);

/// "layers = 4, batch = 16"; empty for no conditions.
[[nodiscard]] std::string conditions_text(const PublishedPoint& point);
/// The claim's id and the conditions.
[[nodiscard]] std::string row_name(const Outcome& outcome);
/// Share of the samples that meet it, by the axis that the claim speaks of; empty without samples.
[[nodiscard]] std::string met_text(const Outcome& outcome);
/// Why a row is missed, or that it is not known.
[[nodiscard]] std::string why_text(const Outcome& outcome);

}  // namespace schedlab
