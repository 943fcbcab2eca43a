// SPDX-License-Identifier: Apache-2.0
#include "cli/reproduce/published_system.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json text(const char* doc) {
  return Json{{"type", "string"}, {"description", doc}};
}
Json number(const char* doc) {
  return Json{{"type", "number"}, {"description", doc}};
}
Json list_of(Json item, const char* doc) {
  return Json{{"type", "array"}, {"items", std::move(item)}, {"description", doc}};
}
Json object(Json properties, std::initializer_list<const char*> required, const char* doc) {
  return Json{{"type", "object"},
              {"properties", std::move(properties)},
              {"required", required},
              {"additionalProperties", false},
              {"description", doc}};
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
  Json kind = text(
      "value: of one run; ratio: of over over; trend: last over first along an axis; "
      "order: slower over faster, the smallest of neighbours");
  kind["enum"] = {"value", "ratio", "trend", "order"};
  const Json factor{{"type", {"string", "number"}}};
  return object({{"kind", kind},
                 {"metric", text("a column of results; makespan_us if left out")},
                 {"of", selector("which runs")},
                 {"over", selector("the runs they are compared with, all other axes equal")},
                 {"along", text("axis of a trend")},
                 {"slow_to_fast", list_of(selector("which runs"), "an order, slowest first")},
                 {"per",
                  list_of(list_of(factor, "factors: numbers and columns"),
                          "divisor: a sum of products of columns and numbers")}},
                {"kind"},
                "what is worked out of the runs");
}

Json published() {
  return object({{"text", text("as it is published")},
                 {"value", number("the number")},
                 {"low", number("met from here on, limit included")},
                 {"high", number("met up to here, limit included")},
                 {"above", number("met above this, limit excluded")},
                 {"below", number("met below this, limit excluded")},
                 {"at", selector("conditions the publication states")},
                 {"reading", text("how words became limits")}},
                {"text"},
                "one published number, range or tendency");
}

Json claim() {
  return object({{"id", text("short name, unique")},
                 {"claim", text("what the publication says, in our words")},
                 {"where", text("section, table or figure")},
                 {"unit", text("unit of the numbers")},
                 {"open", text("what it leaves open, so that it is an axis here")},
                 {"grid", text("the grid that answers it")},
                 {"evidence", text("predicted (the default), by construction, or fitted on what")},
                 {"remark", text("what was read off timelines")},
                 {"not_covered", text("why nothing is simulated")},
                 {"measure", measure()},
                 {"published", list_of(published(), "the numbers")}},
                {"id", "claim", "where", "published"},
                "one claim");
}

}  // namespace

std::string system_schema() {
  const Json any_object{{"type", "object"}};
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "SchedLab published system"}};
  schema.update(object({{"schedlab", {{"const", "system"}}},
                        {"version", {{"const", 1}}},
                        {"name", text("short name")},
                        {"title", text("what is reproduced")},
                        {"source", text("the publication")},
                        {"notes", list_of(text("a remark"), "remarks for the report")},
                        {"grids",
                         list_of(object({{"name", text("short name, unique")},
                                         {"about", text("what it is for")},
                                         {"spec", any_object},
                                         {"quick", any_object}},
                                        {"name", "spec"},
                                        "a sweep, what schedlab buckets reads, or an engine_study; "
                                        "quick is merged into spec "
                                        "(RFC 7396) by --quick"),
                                 "scenarios")},
                        {"claims", list_of(claim(), "what is published")}},
                       {"schedlab", "version", "name", "title", "source", "grids", "claims"},
                       "a publication's numbers and the scenarios they are compared with"));
  return schema.dump(2);
}

}  // namespace schedlab
