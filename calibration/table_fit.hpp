// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/operator_table.hpp"
#include "calibration/row_split.hpp"
#include "hw_models/machine_spec.hpp"
#include "sim/base/fields.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// One row of a table.
struct TableRow {
  const OperatorTable* table;
  std::size_t row;
};

/// Of the tables of some rows, each once: "a.csv, b.csv".
[[nodiscard]] std::string file_names(const std::vector<TableRow>& rows);

/// Errors of a model on some rows: |predicted / measured - 1|.
struct RegionError {
  std::string region;  ///< which rows
  std::size_t rows = 0;
  double median = 0;
  double p90 = 0;
  double median_signed = 0;  ///< of predicted / measured - 1
};
[[nodiscard]] const Fields<RegionError>& region_error_fields();

/// The value below which the share `q` of them lies; 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double q);

/// Collects signed relative errors.
class RegionErrors {
 public:
  void add(double predicted, double measured) { signed_.push_back(predicted / measured - 1.0); }
  [[nodiscard]] RegionError summary(std::string region) const;

 private:
  std::vector<double> signed_;
};

/// Rows of one region in two directions of the shapes, for a picture.
struct ErrorCell {
  std::string across;    ///< name of the region
  std::string up;        ///< likewise
  std::size_t rows = 0;  ///< at least one
  double median = 1;     ///< of measured / predicted
  double spread = 1;     ///< nine of ten are within this factor of the prediction
};
[[nodiscard]] const Fields<ErrorCell>& error_cell_fields();

/// What an interval promises and holds.
struct IntervalCoverage {
  std::string region;
  std::size_t rows = 0;
  double low = 1;       ///< of measured / predicted
  double high = 1;      ///< likewise
  double promised = 0;  ///< share of rows between them
  double covered = 0;   ///< share of held-out rows between them
};
[[nodiscard]] const Fields<IntervalCoverage>& interval_coverage_fields();

/// How operators of one kind and type were fitted, and what came out on rows that took no part.
struct OperatorFit {
  std::string kind;
  DataType type = DataType::bf16;
  std::string tables;               ///< files
  std::vector<RegionError> used;    ///< rows that fitted parameters, rows that chose between forms
  std::vector<RegionError> report;  ///< rows that did neither: all of them first, then by region
  std::vector<RegionError> readings;         ///< of the table, each fitted: errors on choosing rows
  std::vector<ErrorCell> cells{};            ///< rows that did neither
  std::vector<IntervalCoverage> coverage{};  ///< likewise
};
[[nodiscard]] const Fields<OperatorFit>& operator_fit_fields();

struct TableOptions {
  std::string name;     ///< of the machine that is made
  std::string date;     ///< 2026-11-24; empty: today
  std::string command;  ///< that made it
  /// Called between stages of a fit; may throw Interrupted.
  std::function<void(std::string_view stage)> progress = [](std::string_view) {};
};

/// Where the numbers of a fit come from, as it stands in the machine file.
[[nodiscard]] std::string fit_origin(const OperatorFit& fit, const TableOptions& options);

}  // namespace schedlab
