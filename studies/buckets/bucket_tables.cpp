// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/bucket_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

}  // namespace

std::string rows_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (table.columns[column].role == ColumnRole::note) continue;
      row[table.columns[column].name] = json_of(cells[column]);
    }
    rows.push_back(std::move(row));
  }
  return rows.dump();
}

std::string setup_label(const BucketStudy& study, const BucketRow& row) {
  const std::vector<TrainingSetup>& setups = study.spec->training;
  const auto differs = [&](const auto& value_of) {
    return std::any_of(setups.begin(), setups.end(), [&](const TrainingSetup& setup) {
      return value_of(setup) != value_of(setups.front());
    });
  };
  std::vector<std::string> parts;
  if (study.spec->data.size() > 1) parts.push_back(study.spec->data[row.data].label);
  const bool batches = differs([](const TrainingSetup& setup) { return setup.batch; });
  const bool recomputes =
      differs([](const TrainingSetup& setup) { return to_string(setup.recompute); });
  // A setup whose other parts are the usual ones is named by its batch.
  if (batches || (parts.empty() && !recomputes)) {
    parts.push_back(fmt::format("batch {}", row.setup.batch));
  }
  if (recomputes && (!batches || row.setup.recompute != RecomputeChoice{})) {
    parts.push_back(to_string(row.setup.recompute));
  }
  if (differs([](const TrainingSetup& setup) { return setup.ranks; })) {
    parts.push_back(fmt::format("{} rank{}", row.setup.ranks, row.setup.ranks == 1 ? "" : "s"));
  }
  if (!row.setup.sorted) parts.emplace_back("unsorted");
  if (row.setup.batching != Batching::sequences) {
    parts.push_back(fmt::format("equal {}", to_string(row.setup.batching)));
  }
  if (row.setup.packed) parts.emplace_back("packed");
  return fmt::format("{}", fmt::join(parts, ", "));
}

ShownUnit time_unit(double largest_seconds) {
  // From twice a unit on it is shown in that unit.
  for (const ShownUnit& unit : {ShownUnit{"hours", 3600}, ShownUnit{"minutes", 60}}) {
    if (largest_seconds >= 2 * unit.size) return unit;
  }
  return largest_seconds >= 0.5 ? ShownUnit{"seconds", 1} : ShownUnit{"milliseconds", 1e-3};
}

ShownUnit memory_unit(double largest_bytes) {
  constexpr double mib = 1024.0 * 1024.0;
  return largest_bytes >= 1024 * mib ? ShownUnit{"GiB", 1024 * mib} : ShownUnit{"MiB", mib};
}

}  // namespace schedlab
