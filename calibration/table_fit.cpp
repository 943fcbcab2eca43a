// SPDX-License-Identifier: Apache-2.0
#include "calibration/table_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace schedlab {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

const Fields<ErrorCell>& error_cell_fields() {
  using C = ErrorCell;
  static const Fields<C> fields{
      {"across", &C::across, {.doc = "region of shapes, in one direction"}},
      {"up", &C::up, {.doc = "in another"}},
      {"rows", &C::rows, from_zero},
      {"median", &C::median, {.doc = "of measured / predicted", .from_zero = true}},
      {"spread", &C::spread, {.doc = "nine of ten are within this factor", .from_zero = true}}};
  return fields;
}

const Fields<IntervalCoverage>& interval_coverage_fields() {
  using C = IntervalCoverage;
  static const Fields<C> fields{
      {"region", &C::region, {.doc = "which rows"}},
      {"rows", &C::rows, from_zero},
      {"low", &C::low, {.doc = "of measured / predicted", .from_zero = true}},
      {"high", &C::high, {.doc = "of measured / predicted", .from_zero = true}},
      {"promised", &C::promised, {.doc = "share of rows between them", .from_zero = true}},
      {"covered", &C::covered, {.doc = "share of held-out rows between them", .from_zero = true}}};
  return fields;
}

const Fields<RegionError>& region_error_fields() {
  using R = RegionError;
  static const Fields<R> fields{
      {"region", &R::region, {.doc = "which rows"}},
      {"rows", &R::rows, from_zero},
      {"error_median", &R::median, {.doc = "of |predicted / measured - 1|", .from_zero = true}},
      {"error_p90", &R::p90, {.doc = "nine of ten are below", .from_zero = true}},
      {"error_signed", &R::median_signed, {.doc = "median of predicted / measured - 1"}}};
  return fields;
}

const Fields<OperatorFit>& operator_fit_fields() {
  using F = OperatorFit;
  static const Fields<F> fields{
      {"kind", &F::kind},
      {"type", &F::type},
      {"tables", &F::tables},
      {"used", &F::used, region_error_fields(), {.doc = "rows that fitted or chose"}},
      {"report", &F::report, region_error_fields(), {.doc = "rows that took no part"}},
      {"readings", &F::readings, region_error_fields(), {.doc = "on choosing rows"}},
      {"cells", &F::cells, error_cell_fields(), {.doc = "rows that took no part, for a picture"}},
      {"coverage", &F::coverage, interval_coverage_fields(), {.doc = "intervals of predictions"}}};
  return fields;
}

RegionError RegionErrors::summary(std::string region) const {
  std::vector<double> sizes;
  sizes.reserve(signed_.size());
  for (const double error : signed_) sizes.push_back(std::abs(error));
  return {.region = std::move(region),
          .rows = signed_.size(),
          .median = quantile(sizes, 0.5),
          .p90 = quantile(sizes, 0.9),
          .median_signed = quantile(signed_, 0.5)};
}

std::string file_names(const std::vector<TableRow>& rows) {
  std::set<std::string> names;
  for (const TableRow& row : rows) {
    const std::string& file = row.table->file();
    names.insert(file.substr(file.find_last_of('/') + 1));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string fit_origin(const OperatorFit& fit, const TableOptions& options) {
  std::string text = fmt::format("{}, {} {}, {}: {}",
                                 fit.tables,
                                 to_string(fit.type),
                                 fit.kind,
                                 options.date,
                                 options.command);
  std::size_t rows = 0;
  for (const RegionError& used : fit.used) rows += used.rows;
  text += fmt::format("; {} rows", rows);
  if (!fit.report.empty() && fit.report.front().rows > 0) {
    const RegionError& all = fit.report.front();
    text += fmt::format("; {} held-out rows: median {:.1f} %, nine of ten below {:.1f} %",
                        all.rows,
                        100 * all.median,
                        100 * all.p90);
  }
  return text;
}

}  // namespace schedlab
