// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/reproduction/reproduction_files.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace schedlab {
namespace {

using Json = schema::Json;

Json row_schema(const Json& text, const Json& number, const Json& count) {
  const Json published = schema::object({{"text", text},
                                         {"value", number},
                                         {"low", number},
                                         {"high", number},
                                         {"above", number},
                                         {"below", number},
                                         {"reading", text}},
                                        {"text"});
  const Json spread = schema::object({{"samples", count},
                                      {"min", number},
                                      {"lower_quartile", number},
                                      {"median", number},
                                      {"upper_quartile", number},
                                      {"max", number}},
                                     {"samples", "min", "median", "max"});
  const Json at = schema::object({{"value", {{"type", {"string", "number", "null"}}}},
                                  {"samples", count},
                                  {"median", number},
                                  {"share_met", number}},
                                 {"value", "samples", "median", "share_met"});
  const Json axis = schema::object(
      {{"axis", text}, {"effect", number}, {"values", {{"type", "array"}, {"items", at}}}},
      {"axis", "effect", "values"});
  Json status = text;
  status["enum"] = {"within", "in_part", "missed", "not_run", "not_covered"};
  return schema::object({{"id", text},
                         {"claim", text},
                         {"where", text},
                         {"at", text},
                         {"unit", text},
                         {"open", text},
                         {"grid", text},
                         {"evidence", text},
                         {"published", published},
                         {"simulated", spread},
                         {"share_met", number},
                         {"error", number},
                         {"runs_without_result", count},
                         {"status", status},
                         {"cause", text},
                         {"remark", text},
                         {"axes", {{"type", "array"}, {"items", axis}}}},
                        {"id", "claim", "where", "evidence", "published", "status"});
}

}  // namespace

std::string reproduction_schema() {
  const Json text{{"type", "string"}};
  const Json number{{"type", "number"}};
  const Json flag{{"type", "boolean"}};
  const Json count{{"type", "integer"}, {"minimum", 0}};
  const Json grid = schema::object({{"name", text},
                                    {"scenarios", count},
                                    {"done", count},
                                    {"failed", count},
                                    {"with_findings", count},
                                    {"first_note", text}},
                                   {"name", "scenarios", "done", "failed", "with_findings"});
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "SchedLab reproduction"}};
  schema.update(schema::object(
      {{"schedlab", {{"const", "reproduction"}}},
       {"version", {{"const", 1}}},
       {"system", text},
       {"title", text},
       {"source", text},
       {"quick", flag},
       {"complete", flag},
       {"equal_within", number},
       {"counts", {{"type", "object"}, {"additionalProperties", count}}},
       {"rows", {{"type", "array"}, {"items", row_schema(text, number, count)}}},
       {"grids", {{"type", "array"}, {"items", grid}}}},
      {"schedlab", "version", "system", "quick", "complete", "counts", "rows", "grids"}));
  return schema.dump(2);
}

}  // namespace schedlab
