// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/checkout.hpp"
#include "tests/support/skip.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab::testing {

/// A file of the published measurements; nullopt, and the test noted as skipped, if it is absent.
inline std::optional<std::filesystem::path> reference_data(const std::string& name) {
  const std::filesystem::path file = reference_data_folder() / name;
  if (std::filesystem::exists(file)) return file;
  skip("the reference data is absent (set SCHEDLAB_REFERENCE_DATA)");
  return std::nullopt;
}

using CsvRow = std::map<std::string, std::string>;

/// Rows of a CSV text, as maps from column name to text. Commas within quotes belong to the field.
inline std::vector<CsvRow> read_csv(std::istream& file) {
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells(line.empty() ? 0 : 1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line);
  std::vector<CsvRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    CsvRow row;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row[columns[i]] = i < cells.size() ? cells[i] : std::string{};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}
inline std::vector<CsvRow> read_csv(const std::filesystem::path& path) {
  std::ifstream file{path};
  return read_csv(file);
}

/// Signed relative errors, predicted / measured - 1, and what tables say of them.
class Errors {
 public:
  void add(double predicted, double measured) { signed_.push_back(predicted / measured - 1.0); }
  [[nodiscard]] std::size_t count() const { return signed_.size(); }
  /// Of the sizes of the errors, 0 <= q <= 1.
  [[nodiscard]] double quantile(double q) const {
    std::vector<double> sizes;
    for (const double error : signed_) sizes.push_back(std::abs(error));
    return at(std::move(sizes), q);
  }
  [[nodiscard]] double median() const { return quantile(0.5); }
  [[nodiscard]] double median_signed() const { return at(signed_, 0.5); }
  [[nodiscard]] std::string summary() const {
    std::ostringstream text;
    text.precision(1);
    text << std::fixed << count() << " rows, median " << 100 * median() << " %, 90th percentile "
         << 100 * quantile(0.9) << " %, median signed " << std::showpos << 100 * median_signed()
         << " %";
    return text.str();
  }

 private:
  static double at(std::vector<double> values, double q) {
    if (values.empty()) return 0.0;
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
  }
  std::vector<double> signed_;
};

}  // namespace schedlab::testing
