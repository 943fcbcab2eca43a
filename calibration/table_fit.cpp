// SPDX-License-Identifier: Apache-2.0
#include "calibration/table_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace

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
      {"readings", &F::readings, region_error_fields(), {.doc = "on choosing rows"}}};
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
