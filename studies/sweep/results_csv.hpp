// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"
#include "studies/sweep/results_store.hpp"
#include "studies/sweep/speed_up.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// What a look over all rows tells.
struct ResultsDigest {
  std::uint64_t rows = 0;
  std::uint64_t failed = 0;
  std::uint64_t with_findings = 0;
  std::string first_note;  ///< of the lowest scenario that failed or has findings
  std::uint64_t first_note_scenario = 0;
};

/// Columns of results.csv: scenario, the axes, speed_up (only with a baseline), the numbers.
[[nodiscard]] std::vector<Column> csv_columns(const ResultsStore& store, bool with_speed_up);

/// All rows by rising scenario number; the cells are those of csv_columns().
void for_each_result(const ResultsStore& store,
                     const std::optional<Baseline>& baseline,
                     const std::function<void(const std::vector<Cell>&)>& visit);

/// The first `max_rows` rows as one table, in the order of the scenarios.
[[nodiscard]] Table results_table(const ResultsStore& store,
                                  const std::optional<Baseline>& baseline,
                                  std::uint64_t max_rows);
/// The number of the scenario in a row of it.
[[nodiscard]] inline std::uint64_t scenario_of(const Table& table, std::size_t row) {
  return static_cast<std::uint64_t>(std::get<std::int64_t>(table.rows[row].front()));
}

/// Writes all rows, sorted by scenario, a few at a time; the file appears when it is complete.
/// Equal results give equal bytes.
ResultsDigest write_results_csv(const ResultsStore& store,
                                const std::optional<Baseline>& baseline,
                                const std::filesystem::path& path);

}  // namespace schedlab
