// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/reproduction/published_system.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace schedlab {
namespace {

using Json = schema::Json;

Json number(const char* doc) {
  return Json{{"type", "number"}, {"description", doc}};
}
Json list_of(Json item, const char* doc) {
  return Json{{"type", "array"}, {"items", std::move(item)}, {"description", doc}};
}
Json selector(const char* doc) {
  const Json scalar{{"type", {"string", "number", "boolean"}}};
  return Json{
      {"type", "object"},
      {"additionalProperties",
       {{"anyOf", Json::array({scalar, {{"type", "array"}, {"items", scalar}, {"minItems", 1}}})}}},
      {"description", doc}};
}

Json measure() {
  Json kind = schema::text(
      "value: of one run; ratio: of over over; trend: last over first along an axis; "
      "order: slower over faster, the smallest of neighbours");
  kind["enum"] = enum_names<Measure::Kind>();
  const Json factor{{"type", {"string", "number"}}};
  return schema::object(
      {{"kind", kind},
       {"metric", schema::text("a column of results; makespan_us if left out")},
       {"of", selector("which runs")},
       {"over", selector("the runs they are compared with, all other axes equal")},
       {"along", schema::text("axis of a trend")},
       {"slow_to_fast", list_of(selector("which runs"), "an order, slowest first")},
       {"per",
        list_of(list_of(factor, "factors: numbers and columns"),
                "divisor: a sum of products of columns and numbers")}},
      {"kind"},
      "what is worked out of the runs");
}

template <NamedEnum Enum>
Json one_of(const char* doc) {
  Json text = schema::text(doc);
  text["enum"] = enum_names<Enum>();
  return text;
}

/// What a claim says of all its points unless one says otherwise.
void add_grounds(Json& properties) {
  properties["evidence"] = one_of<Evidence>("what the row rests on, predicted if left out");
  properties["basis"] = schema::text("fitted or measured on what, derived how, which reading");
  properties["repeats"] = schema::text("id of the claim that counts this number");
  properties["why"] = schema::text("of a miss: what an experiment shows");
  properties["judged_by"] = one_of<JudgedBy>("all: what is said of every case; median if left out");
}

Json published() {
  Json properties{{"text", schema::text("as it is published")},
                  {"value", number("the number; met within 5 %")},
                  {"low", number("printed lower limit; met within 5 %")},
                  {"high", number("printed upper limit; met within 5 %")},
                  {"above", number("what words became: met above this")},
                  {"below", number("what words became: met below this")},
                  {"at", selector("conditions the publication states")},
                  {"over", selector("conditions on the last of the measure's runs alone")},
                  {"reading", schema::text("how words became limits")}};
  add_grounds(properties);
  return schema::object(std::move(properties), {"text"}, "one published number, range or tendency");
}

Json claim() {
  Json properties{{"id", schema::text("short name, unique")},
                  {"claim", schema::text("what the publication says, in our words")},
                  {"where", schema::text("section, table or figure")},
                  {"unit", schema::text("unit of the numbers")},
                  {"open", schema::text("what it leaves open, so that it is an axis here")},
                  {"grid", schema::text("the grid that answers it")},
                  {"by", schema::text("axis that a claim about all cases speaks of")},
                  {"remark", schema::text("what else a reader of the row needs")},
                  {"not_covered", schema::text("why nothing is simulated")},
                  {"measure", measure()},
                  {"published", list_of(published(), "the numbers")}};
  add_grounds(properties);
  return schema::object(std::move(properties), {"id", "claim", "where", "published"}, "one claim");
}

}  // namespace

std::string system_schema() {
  const Json any_object{{"type", "object"}};
  return schema::file(
             "SchedLab published system",
             "system",
             schema::object(
                 {{"name", schema::text("short name")},
                  {"title", schema::text("what is reproduced")},
                  {"source", schema::text("the publication")},
                  {"notes", list_of(schema::text("a remark"), "remarks for the report")},
                  {"grids",
                   list_of(schema::object({{"name", schema::text("short name, unique")},
                                           {"about", schema::text("what it is for")},
                                           {"spec", any_object},
                                           {"quick", any_object}},
                                          {"name", "spec"},
                                          "a sweep, a spec of buckets, engine_study or recorded; "
                                          "quick is merged into spec "
                                          "(RFC 7396) by --quick"),
                           "scenarios")},
                  {"claims", list_of(claim(), "what is published")}},
                 {"name", "title", "source", "grids", "claims"},
                 "a publication's numbers and the scenarios they are compared with"))
      .dump(2);
}

}  // namespace schedlab
