// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/validation/recording.hpp"
#include "studies/validation/validation_fields.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace schedlab {
namespace {

using Json = schema::Json;

Json a(const char* type) {
  return {{"type", type}};
}
Json maybe(const char* type) {
  return {{"type", {type, "null"}}};
}
Json list_of(Json item) {
  return {{"type", "array"}, {"items", std::move(item)}};
}
Json count() {
  return {{"type", "integer"}, {"minimum", 0}};
}

}  // namespace

std::string recording_schema() {
  Json kinds = Json::object();
  for (const std::string& kind : enum_names<TaskKind>()) {
    kinds[kind] = schema::whole_object({{"one_unit", a("number")}, {"all_units", a("number")}});
  }
  const Json check = schema::whole_object(
      {{"group", count()},
       {"round", count()},
       {"at_s", a("number")},
       {"kinds",
        {{"type", "object"}, {"properties", std::move(kinds)}, {"additionalProperties", false}}}});
  const Json scenario = schema::whole_object(
      {{"scenario", count()},
       {"name", a("string")},
       {"note", a("string")},
       {"tasks", count()},
       {"online", a("boolean")},
       {"measured_memory_bytes", count()},
       {"runs", list_of(run_fields().schema())},
       {"plans", list_of(a("string"))},
       {"traces", list_of(a("string"))}},
      {"note", "tasks", "online", "measured_memory_bytes", "runs", "plans", "traces"});
  return schema::file("SchedLab recording: what was measured, to be compared again",
                      "recording",
                      schema::whole_object({{"program", a("string")},
                                            {"date", a("string")},
                                            {"device", a("string")},
                                            {"repetitions", count()},
                                            {"warm_up", count()},
                                            {"seed", count()},
                                            {"workers", count()},
                                            {"host", a("string")},
                                            {"other_load", maybe("number")},
                                            {"complete", a("boolean")},
                                            {"ends_synchronized", a("boolean")},
                                            {"speed_checks", list_of(check)},
                                            {"scenarios", list_of(scenario)}},
                                           {"ends_synchronized", "speed_checks"}))
      .dump(2);
}

}  // namespace schedlab
