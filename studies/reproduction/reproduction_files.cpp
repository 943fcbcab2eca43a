// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/reproduction_files.hpp"

#include "notebooks_export/csv.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return *integer;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

void put(Json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = *value;
}
void put(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

Json published_json(const PublishedPoint& point) {
  Json json{{"text", point.text}};
  put(json, "value", point.value);
  put(json, "low", point.low);
  put(json, "high", point.high);
  put(json, "above", point.above);
  put(json, "below", point.below);
  put(json, "reading", point.reading);
  return json;
}

Json effect_json(const AxisEffect& effect) {
  Json values = Json::array();
  for (const AxisEffect::At& at : effect.values) {
    values.push_back({{"value", json_of(at.value)},
                      {"samples", at.count},
                      {"median", at.median},
                      {"share_met", at.share_met}});
  }
  return Json{{"axis", effect.axis}, {"effect", effect.effect}, {"values", std::move(values)}};
}

Json row_json(const Outcome& outcome) {
  const Claim& claim = *outcome.claim;
  Json row{{"id", claim.id}, {"claim", claim.text}, {"where", claim.where}};
  put(row, "at", conditions_text(outcome.point->at));
  put(row, "unit", claim.unit);
  put(row, "open", claim.open);
  put(row, "grid", claim.grid);
  row["evidence"] = claim.evidence;
  row["published"] = published_json(*outcome.point);
  const Spread& spread = outcome.simulated;
  if (spread.count > 0) {
    row["simulated"] = Json{{"samples", spread.count},
                            {"min", spread.min},
                            {"lower_quartile", spread.lower_quartile},
                            {"median", spread.median},
                            {"upper_quartile", spread.upper_quartile},
                            {"max", spread.max}};
    row["share_met"] = outcome.share_met;
    put(row, "error", outcome.error);
  }
  if (outcome.missing > 0) row["runs_without_result"] = outcome.missing;
  row["status"] = std::string{to_string(outcome.status)};
  put(row, "cause", outcome.cause);
  put(row, "remark", claim.remark);
  Json effects = Json::array();
  for (const AxisEffect& effect : outcome.effects) effects.push_back(effect_json(effect));
  if (!effects.empty()) row["axes"] = std::move(effects);
  return row;
}

Json grid_json(const GridResult& grid) {
  Json json{{"name", grid.name},
            {"scenarios", grid.scenarios},
            {"done", grid.done},
            {"failed", grid.failed},
            {"with_findings", grid.with_findings}};
  put(json, "first_note", grid.first_note);
  return json;
}

Cell cell_of(const std::optional<double>& value) {
  return value ? Cell{*value} : Cell{};
}
Cell cell_of(const std::string& text) {
  return text.empty() ? Cell{} : Cell{text};
}

std::string short_number(double value) {
  return fmt::format("{:.3g}", value);
}

}  // namespace

std::string conditions_text(const RunSelector& at) {
  std::vector<std::string> parts;
  for (const auto& [axis, values] : at.axes) {
    std::vector<std::string> words;
    for (const Cell& value : values) words.push_back(to_string(value));
    parts.push_back(fmt::format("{} = {}", axis, fmt::join(words, " or ")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string reproduction_json(const Reproduction& reproduction) {
  const PublishedSystem& system = *reproduction.system;
  Json json{{"schedlab", "reproduction"},
            {"version", 1},
            {"system", system.name},
            {"title", system.title},
            {"source", system.source},
            {"quick", reproduction.quick},
            {"complete", !reproduction.interrupted},
            {"equal_within", equal_within}};
  Json counts = Json::object();
  for (const auto status : {ClaimStatus::within,
                            ClaimStatus::in_part,
                            ClaimStatus::missed,
                            ClaimStatus::not_run,
                            ClaimStatus::not_covered}) {
    counts[std::string{to_string(status)}] = reproduction.count(status);
  }
  json["counts"] = std::move(counts);
  json["rows"] = Json::array();
  for (const Outcome& outcome : reproduction.outcomes) json["rows"].push_back(row_json(outcome));
  json["grids"] = Json::array();
  for (const GridResult& grid : reproduction.grids) json["grids"].push_back(grid_json(grid));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Table reproduction_table(const Reproduction& reproduction) {
  Table table;
  for (const char* name : {"id",
                           "at",
                           "where",
                           "published",
                           "published_value",
                           "unit",
                           "samples",
                           "min",
                           "lower_quartile",
                           "median",
                           "upper_quartile",
                           "max",
                           "share_met",
                           "error",
                           "evidence",
                           "status",
                           "cause",
                           "claim"}) {
    table.columns.push_back({name, ColumnRole::metric});
  }
  for (const Outcome& outcome : reproduction.outcomes) {
    const Claim& claim = *outcome.claim;
    const Spread& spread = outcome.simulated;
    const auto known = [&](double value) { return spread.count > 0 ? Cell{value} : Cell{}; };
    table.rows.push_back({claim.id,
                          cell_of(conditions_text(outcome.point->at)),
                          claim.where,
                          outcome.point->text,
                          cell_of(outcome.point->value),
                          cell_of(claim.unit),
                          static_cast<std::int64_t>(spread.count),
                          known(spread.min),
                          known(spread.lower_quartile),
                          known(spread.median),
                          known(spread.upper_quartile),
                          known(spread.max),
                          known(outcome.share_met),
                          cell_of(outcome.error),
                          claim.evidence,
                          std::string{to_string(outcome.status)},
                          cell_of(outcome.cause),
                          claim.text});
  }
  return table;
}

std::string reproduction_csv(const Reproduction& reproduction) {
  return table_csv(reproduction_table(reproduction));
}

std::string reproduction_text(const Reproduction& reproduction) {
  std::string text = fmt::format("{:<34} {:<24} {:>9} {:>19} {:>7} {:>5}  {}\n",
                                 "claim",
                                 "published",
                                 "simulated",
                                 "least .. most",
                                 "error",
                                 "met",
                                 "status");
  for (const Outcome& outcome : reproduction.outcomes) {
    const std::string at = conditions_text(outcome.point->at);
    std::string name =
        at.empty() ? outcome.claim->id : fmt::format("{}, {}", outcome.claim->id, at);
    if (name.size() > 34) name = name.substr(0, 31) + "...";
    std::string published = outcome.point->text;
    if (published.size() > 24) published = published.substr(0, 21) + "...";
    const Spread& spread = outcome.simulated;
    const bool ran = spread.count > 0;
    text += fmt::format(
        "{:<34} {:<24} {:>9} {:>19} {:>7} {:>5}  {}\n",
        name,
        published,
        ran ? short_number(spread.median) : "",
        ran ? fmt::format("{} .. {}", short_number(spread.min), short_number(spread.max)) : "",
        ran && outcome.error ? fmt::format("{:+.0f} %", 100 * *outcome.error) : "",
        ran ? fmt::format("{:.0f} %", 100 * outcome.share_met) : "",
        to_string(outcome.status));
  }
  return text;
}

}  // namespace schedlab
