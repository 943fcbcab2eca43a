// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/sweep/results_store.hpp"
#include "studies/sweep/speed_up.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace schedlab {

/// The list of what is in a folder of columns.
inline constexpr const char* columns_json = "columns.json";

/// The columns of results.csv as files of their own that NumPy reads, or maps without reading:
/// NAME.npy (format 1.0) has one value per row, in the order of results.csv. Whole numbers are
/// int64; numbers, and whole ones that some row lacks, are float64 with NaN for what is missing;
/// texts are int32 places in the column's `values` in columns.json, -1 for what is missing.
///
/// Two passes over the rows; holds the different texts of each column, and no row.
/// Throws InfeasibleError if nothing can be written, or for a column with gaps and whole numbers
/// that float64 does not hold.
void write_column_files(const ResultsStore& store,
                        const std::optional<Baseline>& baseline,
                        const std::filesystem::path& folder);

/// JSON Schema (draft 7) of columns.json.
[[nodiscard]] std::string columns_schema();

}  // namespace schedlab
