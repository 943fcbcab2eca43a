// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/published_system.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/spelling.hpp"
#include "studies/base/schema_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Cell cell_of(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return std::string{value.get<bool>() ? "true" : "false"};
  return value.get<std::string>();
}

RunSelector selector_of(const Json& object) {
  RunSelector selector;
  for (const auto& [axis, wanted] : object.items()) {
    std::vector<Cell>& values = selector.axes[axis];
    if (wanted.is_array()) {
      for (const Json& value : wanted) values.push_back(cell_of(value));
    } else {
      values.push_back(cell_of(wanted));
    }
  }
  return selector;
}

AxisFormula formula_of(const Json& list) {
  AxisFormula formula;
  for (const Json& product : list) {
    auto& factors = formula.emplace_back();
    for (const Json& factor : product) {
      if (factor.is_number()) {
        factors.emplace_back(factor.get<double>());
      } else {
        factors.emplace_back(factor.get<std::string>());
      }
    }
  }
  return formula;
}

Measure measure_of(const Json& object) {
  Measure measure;
  measure.kind = enum_value<Measure::Kind>(object.at("kind").get<std::string>());
  measure.metric = object.value("metric", measure.metric);
  measure.along = object.value("along", "");
  if (object.contains("per")) measure.per = formula_of(object.at("per"));
  if (object.contains("slow_to_fast")) {
    for (const Json& each : object.at("slow_to_fast")) measure.runs.push_back(selector_of(each));
  } else {
    measure.runs.push_back(selector_of(object.value("of", Json::object())));
    if (object.contains("over")) measure.runs.push_back(selector_of(object.at("over")));
  }
  return measure;
}

/// Of a key that a point has of its claim unless it says otherwise.
std::string text_of(const Json& point, const Json& claim, const char* key) {
  return point.value(key, claim.value(key, ""));
}

PublishedPoint point_of(const Json& object, const Json& claim) {
  PublishedPoint point;
  const auto number = [&](const char* key) {
    return object.contains(key) ? std::optional{object.at(key).get<double>()} : std::nullopt;
  };
  point.value = number("value");
  point.low = number("low");
  point.high = number("high");
  point.above = number("above");
  point.below = number("below");
  point.text = object.at("text").get<std::string>();
  point.reading = object.value("reading", "");
  if (object.contains("at")) point.at = selector_of(object.at("at"));
  if (object.contains("over")) point.over = selector_of(object.at("over"));
  const std::string evidence = text_of(object, claim, "evidence");
  if (!evidence.empty()) point.evidence = enum_value<Evidence>(evidence);
  point.basis = text_of(object, claim, "basis");
  point.repeats = text_of(object, claim, "repeats");
  point.why = text_of(object, claim, "why");
  const std::string judged_by = text_of(object, claim, "judged_by");
  if (!judged_by.empty()) point.judged_by = enum_value<JudgedBy>(judged_by);
  return point;
}

Claim claim_of(const Json& object, std::string pointer) {
  Claim claim;
  claim.pointer = std::move(pointer);
  claim.id = object.at("id").get<std::string>();
  claim.text = object.at("claim").get<std::string>();
  claim.where = object.at("where").get<std::string>();
  claim.unit = object.value("unit", "");
  claim.open = object.value("open", "");
  claim.grid = object.value("grid", "");
  claim.by = object.value("by", "");
  claim.remark = object.value("remark", "");
  claim.no_answer = object.value("not_covered", "");
  if (object.contains("measure")) claim.measure = measure_of(object.at("measure"));
  for (const Json& point : object.at("published")) {
    claim.published.push_back(point_of(point, object));
  }
  return claim;
}

SystemGrid grid_of(const Json& object, std::string pointer) {
  SystemGrid grid;
  grid.pointer = std::move(pointer);
  grid.name = object.at("name").get<std::string>();
  grid.about = object.value("about", "");
  Json spec = object.at("spec");
  if (!spec.contains("name")) spec["name"] = grid.name;
  const std::string word = spec.value("schedlab", "");
  if (word == "buckets") grid.kind = GridKind::passes;
  if (word == "engine_study") grid.kind = GridKind::engine_study;
  if (word == "recorded") grid.kind = GridKind::recorded;
  grid.spec = spec.dump(2);
  if (object.contains("quick")) spec.merge_patch(object.at("quick"));
  grid.quick_spec = spec.dump(2);
  return grid;
}

[[noreturn]] void wrong(const PublishedSystem& system,
                        const std::string& pointer,
                        const std::string& found,
                        const std::string& expected) {
  throw InputError(
      {.file = system.file, .pointer = pointer, .found = found, .expected = expected, .hint = {}});
}

void expect_sound_point(const PublishedSystem& system,
                        const Claim& claim,
                        const PublishedPoint& point,
                        const std::string& pointer) {
  const bool range = point.low || point.high;
  const bool words = point.above || point.below;
  if (int{point.value.has_value()} + int{range} + int{words} > 1) {
    wrong(system,
          pointer,
          "more than one of a value, printed limits (low, high) and limits of words",
          "one of them: printed numbers have one tolerance, no range of their own");
  }
  if (point.evidence != Evidence::predicted && point.basis.empty()) {
    wrong(system,
          pointer,
          fmt::format(R"(evidence "{}" without a basis)", to_string(point.evidence)),
          R"("basis": fitted or measured on what, derived how, which reading)");
  }
  if (point.repeats.empty()) return;
  const auto other = std::find_if(system.claims.begin(),
                                  system.claims.end(),
                                  [&](const Claim& each) { return each.id == point.repeats; });
  if (other == system.claims.end() || other->id == claim.id) {
    wrong(system, pointer, fmt::format("it repeats \"{}\"", point.repeats), "another claim's id");
  }
  const bool counts = std::any_of(
      other->published.begin(), other->published.end(), [&](const PublishedPoint& each) {
        return each.repeats.empty() && each.evidence <= point.evidence;
      });
  if (!counts) {
    wrong(system,
          pointer,
          fmt::format("it repeats {}, which repeats another or has weaker evidence", other->id),
          "the claim with the strongest evidence to be the one that counts");
  }
}

/// What a schema cannot say.
void expect_consistent(const PublishedSystem& system) {
  std::set<std::string> names;
  for (const SystemGrid& grid : system.grids) {
    if (!names.insert(grid.name).second) {
      wrong(system, grid.pointer, fmt::format("a second grid \"{}\"", grid.name), "another name");
    }
  }
  std::set<std::string> ids;
  for (const Claim& claim : system.claims) {
    if (!ids.insert(claim.id).second) {
      wrong(system, claim.pointer, fmt::format("a second claim \"{}\"", claim.id), "another id");
    }
    for (std::size_t i = 0; i < claim.published.size(); ++i) {
      expect_sound_point(
          system, claim, claim.published[i], fmt::format("{}/published/{}", claim.pointer, i));
    }
    if (!claim.no_answer.empty()) continue;
    if (!names.contains(claim.grid)) {
      wrong(system,
            claim.pointer,
            claim.grid.empty() ? std::string{R"(neither "grid" nor "not_covered")"}
                               : fmt::format("the unknown grid \"{}\"", claim.grid),
            "the name of one of the grids, or the reason why there is none");
    }
    const bool pairs = claim.measure.kind == Measure::Kind::ratio;
    if (pairs && claim.measure.runs.size() != 2) {
      wrong(system, claim.pointer + "/measure", R"(a ratio without "over")", R"("of" and "over")");
    }
    if (claim.measure.kind == Measure::Kind::trend && claim.measure.along.empty()) {
      wrong(system, claim.pointer + "/measure", R"(a trend without "along")", "a numeric axis");
    }
  }
}

}  // namespace

Measure measure_at(const Claim& claim, const PublishedPoint& point) {
  Measure measure = claim.measure;
  if (!measure.runs.empty()) {
    for (const auto& [axis, values] : point.over.axes) measure.runs.back().axes[axis] = values;
  }
  return measure;
}

PublishedSystem parse_system(const std::string& text, const std::string& file) {
  read_checked_json(text, system_schema(), file);
  const Json json = Json::parse(text);
  PublishedSystem system;
  system.file = file;
  system.name = json.at("name").get<std::string>();
  system.title = json.at("title").get<std::string>();
  system.source = json.at("source").get<std::string>();
  for (const Json& note : json.value("notes", Json::array())) {
    system.notes.push_back(note.get<std::string>());
  }
  std::size_t index = 0;
  for (const Json& grid : json.at("grids")) {
    system.grids.push_back(grid_of(grid, fmt::format("/grids/{}", index++)));
  }
  index = 0;
  for (const Json& claim : json.at("claims")) {
    system.claims.push_back(claim_of(claim, fmt::format("/claims/{}", index++)));
  }
  expect_consistent(system);
  return system;
}

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const SystemText& each : system_texts()) names.emplace_back(each.name);
  return names;
}

PublishedSystem load_system(const std::string& name_or_path) {
  for (const SystemText& each : system_texts()) {
    if (each.name == name_or_path) return parse_system(std::string{each.text}, name_or_path);
  }
  if (std::filesystem::is_regular_file(name_or_path)) {
    return parse_system(read_file(name_or_path), name_or_path);
  }
  const std::vector<std::string> names = system_names();
  throw InputError(
      {.file = "--system",
       .pointer = {},
       .found = fmt::format("\"{}\"", name_or_path),
       .expected = fmt::format("one of {}, or the path of a system file", fmt::join(names, ", ")),
       .hint = did_you_mean(name_or_path, names)});
}

}  // namespace schedlab
