// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/reproduction_files.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/sweep/field_table.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

Fields<PublishedPoint> published_fields() {
  using P = PublishedPoint;
  return {{"text", &P::text},
          {"value", &P::value},
          {"low", &P::low},
          {"high", &P::high},
          {"above", &P::above},
          {"below", &P::below},
          {"reading", &P::reading, unless_empty}};
}

Fields<Spread> spread_fields() {
  using S = Spread;
  return {{"samples", &S::count},
          {"min", &S::min},
          {"lower_quartile", &S::lower_quartile},
          {"median", &S::median},
          {"upper_quartile", &S::upper_quartile},
          {"max", &S::max}};
}

Fields<AxisEffect> effect_fields() {
  using A = AxisEffect;
  using At = AxisEffect::At;
  const Fields<At> at{of_type<At>({{"type", {"string", "number", "null"}}},
                                  {"value", [](const At& a) { return json_of(a.value); }}),
                      {"samples", &At::count},
                      {"median", &At::median},
                      {"share_met", &At::share_met}};
  return {{"axis", &A::axis}, {"effect", &A::effect}, {"values", &A::values, at}};
}

auto of_claim(std::string Claim::*text) {
  return [text](const Outcome& o) { return o.claim->*text; };
}

auto of_point(std::string PublishedPoint::*text) {
  return [text](const Outcome& o) { return o.point->*text; };
}

std::string status_word(const Outcome& outcome) {
  return std::string{to_string(outcome.status)};
}

std::string evidence_word(const Outcome& outcome) {
  return std::string{to_string(outcome.point->evidence)};
}

std::string judged_by_word(const Outcome& outcome) {
  return std::string{to_string(outcome.point->judged_by)};
}

std::string conditions(const Outcome& outcome) {
  return conditions_text(*outcome.point);
}

bool has_samples(const Outcome& outcome) {
  return outcome.simulated.count > 0;
}

Fields<Outcome> row_fields() {
  using O = Outcome;
  return {{"id", of_claim(&Claim::id)},
          {"claim", of_claim(&Claim::text)},
          {"where", of_claim(&Claim::where)},
          {"at", conditions, unless_empty},
          {"unit", of_claim(&Claim::unit), unless_empty},
          {"open", of_claim(&Claim::open), unless_empty},
          {"grid", of_claim(&Claim::grid), unless_empty},
          {"evidence", evidence_word, {.words = EnumNames<Evidence>::names}},
          {"basis", of_point(&PublishedPoint::basis), unless_empty},
          {"repeats", of_point(&PublishedPoint::repeats), unless_empty},
          {"judged_by", judged_by_word, {.words = EnumNames<JudgedBy>::names}},
          {"published", [](const O& o) { return *o.point; }, published_fields()},
          when<O>(has_samples,
                  {{"simulated", &O::simulated, spread_fields()},
                   {"share_met", &O::share_met},
                   {"error", &O::error}}),
          when<O>([](const O& o) { return o.missing > 0; }, {"runs_without_result", &O::missing}),
          {"status", status_word, {.words = EnumNames<ClaimStatus>::names}},
          {"why", of_point(&PublishedPoint::why), unless_empty},
          {"statistics", &O::statistics, unless_empty},
          {"not_covered", of_claim(&Claim::no_answer), unless_empty},
          {"remark", of_claim(&Claim::remark), unless_empty},
          {"axes", &O::effects, effect_fields(), unless_empty}};
}

/// A row of reproduction.csv.
Fields<Outcome> column_fields() {
  using O = Outcome;
  using S = Spread;
  const Fields<S> spread{{"min", &S::min},
                         {"lower_quartile", &S::lower_quartile},
                         {"median", &S::median},
                         {"upper_quartile", &S::upper_quartile},
                         {"max", &S::max}};
  return {{"id", of_claim(&Claim::id)},
          {"at", conditions, unless_empty},
          {"where", of_claim(&Claim::where)},
          {"published", [](const O& o) { return o.point->text; }},
          {"published_value", [](const O& o) { return o.point->value; }},
          {"unit", of_claim(&Claim::unit), unless_empty},
          {"samples", [](const O& o) { return o.simulated.count; }},
          when<O>(has_samples, inlined<O>(&O::simulated, spread)),
          when<O>(has_samples, {"share_met", &O::share_met}),
          {"error", &O::error},
          {"evidence", evidence_word},
          {"basis", of_point(&PublishedPoint::basis), unless_empty},
          {"repeats", of_point(&PublishedPoint::repeats), unless_empty},
          {"judged_by", judged_by_word},
          {"status", status_word},
          {"why", of_point(&PublishedPoint::why), unless_empty},
          {"claim", of_claim(&Claim::text)}};
}

Fields<Reproduction> reproduction_fields() {
  using G = GridResult;
  using R = Reproduction;
  const Fields<G> grid{{"name", &G::name},
                       {"scenarios", &G::scenarios},
                       {"done", &G::done},
                       {"failed", &G::failed},
                       {"with_findings", &G::with_findings},
                       {"first_note", &G::first_note, unless_empty}};
  Fields<R> counts{};
  for (const std::string& word : enum_names<ClaimStatus>()) {
    const auto count = [status = enum_value<ClaimStatus>(word)](const R& r) {
      return r.count(status);
    };
    counts = Fields<R>{counts, Fields<R>{word, count}};
  }
  Fields<R> by_evidence{};
  for (const std::string& word : enum_names<Evidence>()) {
    Fields<R> of_class{};
    for (const ClaimStatus status : judged_statuses) {
      const auto count = [evidence = enum_value<Evidence>(word), status](const R& r) {
        return r.count(evidence, status);
      };
      of_class = Fields<R>{of_class, Fields<R>{std::string{to_string(status)}, count}};
    }
    by_evidence = Fields<R>{by_evidence, Fields<R>{word, itself, of_class}};
  }
  return {{"system", [](const R& r) { return r.system->name; }},
          {"title", [](const R& r) { return r.system->title; }},
          {"source", [](const R& r) { return r.system->source; }},
          {"quick", &R::quick},
          {"complete", [](const R& r) { return !r.interrupted; }},
          {"equal_within", [](const R&) { return equal_within; }},
          {"counts", itself, counts},
          {"by_evidence", itself, by_evidence},
          {"rows", &R::outcomes, row_fields()},
          {"grids", &R::grids, grid}};
}

std::string short_number(double value) {
  return fmt::format("{:.3g}", value);
}

}  // namespace

std::string conditions_text(const PublishedPoint& point) {
  std::vector<std::string> parts;
  const auto add = [&](const RunSelector& selector, std::string_view side) {
    for (const auto& [axis, values] : selector.axes) {
      std::vector<std::string> words;
      for (const Cell& value : values) words.push_back(to_string(value));
      parts.push_back(fmt::format("{}{} = {}", side, axis, fmt::join(words, " or ")));
    }
  };
  add(point.at, "");
  add(point.over, "over ");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string met_text(const Outcome& outcome) {
  if (!has_samples(outcome)) return {};
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  std::string text = percent(outcome.share_met);
  for (const AxisEffect& effect : outcome.effects) {
    if (effect.axis != outcome.claim->by) continue;
    std::vector<std::string> parts;
    for (const AxisEffect::At& at : effect.values) {
      parts.push_back(fmt::format("{}: {}", to_string(at.value), percent(at.share_met)));
    }
    text += fmt::format(" ({} {})", effect.axis, fmt::join(parts, ", "));
  }
  return text;
}

std::string why_text(const Outcome& outcome) {
  return outcome.point->why.empty() ? std::string{"Cause unknown."} : outcome.point->why;
}

std::string row_name(const Outcome& outcome) {
  const std::string at = conditions(outcome);
  return at.empty() ? outcome.claim->id : fmt::format("{}, {}", outcome.claim->id, at);
}

std::string reproduction_json(const Reproduction& reproduction) {
  Json json{{"schedlab", "reproduction"}, {"version", 1}};
  reproduction_fields().add_to(json, reproduction);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string reproduction_schema() {
  return schema::file("SchedLab reproduction", "reproduction", reproduction_fields().schema())
      .dump(2);
}

Table reproduction_table(const Reproduction& reproduction) {
  return table_of(column_fields(), reproduction.outcomes);
}

std::string reproduction_csv(const Reproduction& reproduction) {
  return table_csv(reproduction_table(reproduction));
}

PrintedTable outcomes_table(const Reproduction& reproduction) {
  PrintedTable table = empty_table(
      {"claim", "published", "simulated", "least .. most", "error", "met", "evidence", "status"},
      8);
  for (std::size_t i : {2U, 3U, 4U, 5U}) table.columns[i].is_number = true;
  for (const Outcome& outcome : reproduction.outcomes) {
    const Spread& spread = outcome.simulated;
    const bool ran = spread.count > 0;
    table.rows.push_back(
        {row_name(outcome),
         outcome.point->text,
         ran ? short_number(spread.median) : "",
         ran ? fmt::format("{} .. {}", short_number(spread.min), short_number(spread.max)) : "",
         ran && outcome.error ? fmt::format("{:+.1f} %", 100 * *outcome.error) : "",
         met_text(outcome),
         std::string{to_string(outcome.point->evidence)},
         std::string{to_string(outcome.status)}});
  }
  return table;
}

}  // namespace schedlab
