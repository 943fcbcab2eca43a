// SPDX-License-Identifier: Apache-2.0
#include "sim/base/schema_parts.hpp"
#include "studies/validation/recording.hpp"
#include "studies/validation/validation_files.hpp"

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
Json time() {
  return {{"type", "number"}, {"minimum", 0}};
}

Json error_summary() {
  return schema::whole_object({{"scenarios", count()},
                               {"median", a("number")},
                               {"p90", a("number")},
                               {"most", a("number")},
                               {"bias", a("number")}});
}

Json proportion() {
  return schema::whole_object(
      {{"of", count()}, {"share", a("number")}, {"low", a("number")}, {"high", a("number")}});
}

Json score() {
  return schema::whole_object({{"pairs", count()},
                               {"brier", a("number")},
                               {"bins",
                                list_of(schema::whole_object({{"low", a("number")},
                                                              {"high", a("number")},
                                                              {"pairs", count()},
                                                              {"predicted", a("number")},
                                                              {"observed", a("number")}}))}});
}

Json task_errors() {
  return schema::whole_object({{"name", a("string")},
                               {"tasks", count()},
                               {"duration_error_p50", a("number")},
                               {"duration_error_p90", a("number")},
                               {"start_error_p50", a("number")},
                               {"start_error_p90", a("number")},
                               {"predicted_running_us", time()},
                               {"measured_running_us", time()},
                               {"bias", a("number")}});
}

/// The parts of an error budget, each with `value`.
Json budget(const std::string& suffix, const Json& value, const Json& more) {
  Json properties = Json::object();
  for (std::size_t part = 0; part < error_part_count; ++part) {
    properties[std::string{to_string(static_cast<ErrorPart>(part))} + suffix] = value;
  }
  properties.update(more);
  return schema::whole_object(properties);
}

Json scenario() {
  return schema::object(
      {{"scenario", count()},
       {"name", a("string")},
       {"policy", a("string")},
       {"group", count()},
       {"runs", count()},
       {"note", a("string")},
       {"predicted_us", time()},
       {"predicted_us_p5", time()},
       {"predicted_us_p95", time()},
       {"predicted_us_run_p5", time()},
       {"predicted_us_run_p95", time()},
       {"measured_us", time()},
       {"measured_us_low", time()},
       {"measured_us_high", time()},
       {"measured_us_least", time()},
       {"spread", a("number")},
       {"error", a("number")},
       {"at_speed_us", time()},
       {"at_speed_error", a("number")},
       {"at_speed_us_p5", time()},
       {"at_speed_us_p95", time()},
       {"undisturbed_runs", count()},
       {"undisturbed_us", time()},
       {"undisturbed_error", a("number")},
       {"inside_calibrated_range", a("boolean")},
       {"predicted_memory_bytes", count()},
       {"measured_memory_bytes", count()},
       {"memory_error", a("number")},
       {"predicted_busy_us", time()},
       {"measured_busy_us", time()},
       {"error_budget",
        budget("_us", a("number"), {{"total_us", a("number")}, {"noise_floor_us", time()}})},
       {"tasks", task_errors()},
       {"kinds", list_of(task_errors())},
       {"operations", list_of(task_errors())}},
      // The others are missing where there is a note, and the note where they are not.
      {"scenario", "name", "policy", "group", "runs"});
}

Json policy_summary() {
  return schema::whole_object({{"policy", a("string")},
                               {"makespan_error", error_summary()},
                               {"speed_ups", count()},
                               {"predicted_speed_up_median", a("number")},
                               {"measured_speed_up_median", a("number")},
                               {"signs_right", count()},
                               {"decidable", count()},
                               {"decidable_signs_right", count()}},
                              {"speed_ups",
                               "predicted_speed_up_median",
                               "measured_speed_up_median",
                               "signs_right",
                               "decidable",
                               "decidable_signs_right"});
}

Json kind_summary() {
  return schema::whole_object({{"kind", a("string")},
                               {"scenarios", count()},
                               {"tasks", count()},
                               {"duration_error_p50", a("number")},
                               {"duration_error_p90", a("number")},
                               {"start_error_p50", a("number")},
                               {"start_error_p90", a("number")},
                               {"bias", a("number")}});
}

/// What the probes of the machine's speed say; only where there are any.
Json speed() {
  return schema::whole_object({{"probes", count()},
                               {"one_unit", a("number")},
                               {"all_units", a("number")},
                               {"overall", a("number")},
                               {"overall_p5", a("number")},
                               {"overall_p95", a("number")},
                               {"rounds", count()},
                               {"disturbed_rounds", count()},
                               {"makespan_error", error_summary()},
                               {"makespan_error_undisturbed", error_summary()},
                               {"order_right", proportion()},
                               {"interval_coverage", proportion()}},
                              {"interval_coverage"});
}

Json summary() {
  const Json part =
      schema::whole_object({{"median", a("number")}, {"median_absolute", a("number")}});
  return schema::whole_object({{"device", a("string")},
                               {"date", a("string")},
                               {"complete", a("boolean")},
                               {"repetitions", count()},
                               {"scenarios", count()},
                               {"compared", count()},
                               {"calibrated", a("boolean")},
                               {"makespan_error", error_summary()},
                               {"makespan_error_inside", error_summary()},
                               {"makespan_error_outside", error_summary()},
                               {"makespan_error_fastest_run", error_summary()},
                               {"memory_error", error_summary()},
                               {"spread_of_runs", a("number")},
                               {"other_load", maybe("number")},
                               {"pairs", count()},
                               {"decidable_pairs", count()},
                               {"order_right", proportion()},
                               {"speed_up_sign_right", proportion()},
                               {"decidable_speed_up_sign_right", proportion()},
                               {"kendall_tau", maybe("number")},
                               {"kendall_tau_group_median", maybe("number")},
                               {"regret_mean", a("number")},
                               {"regret_most", a("number")},
                               {"speed", speed()},
                               {"interval_coverage", proportion()},
                               {"interval_coverage_runs", proportion()},
                               {"faster_probability", score()},
                               {"faster_probability_decidable", score()},
                               {"error_budget", budget("", part, Json::object())},
                               {"kinds", list_of(kind_summary())},
                               {"policies", list_of(policy_summary())},
                               {"broken_bounds", list_of(a("string"))}},
                              {"speed",
                               "interval_coverage",
                               "interval_coverage_runs",
                               "faster_probability",
                               "faster_probability_decidable",
                               "kinds",
                               "policies"});
}

Json launch() {
  return schema::whole_object({{"gains",
                                list_of(schema::whole_object({{"eager_scenario", count()},
                                                              {"graph_launch_scenario", count()},
                                                              {"operator_us", time()},
                                                              {"predicted_gain", a("number")},
                                                              {"measured_gain", a("number")}}))},
                               {"crossovers",
                                list_of(schema::whole_object({{"name", a("string")},
                                                              {"sizes", count()},
                                                              {"predicted_us", maybe("number")},
                                                              {"measured_us", maybe("number")},
                                                              {"fastest_us", maybe("number")},
                                                              {"error", maybe("number")}}))}});
}

}  // namespace

std::string validation_schema() {
  const Json group =
      schema::whole_object({{"name", a("string")},
                            {"scenarios", count()},
                            {"kendall_tau", maybe("number")},
                            {"regret", a("number")},
                            {"predicted_best", a("string")},
                            {"measured_best", a("string")}},
                           {"kendall_tau", "regret", "predicted_best", "measured_best"});
  const Json speed_up = schema::whole_object({{"scenario", count()},
                                              {"policy", a("string")},
                                              {"predicted", a("number")},
                                              {"measured", a("number")},
                                              {"decidable", a("boolean")},
                                              {"sign_agrees", a("boolean")}});
  const Json library = schema::whole_object({{"network", a("string")},
                                             {"policy", a("string")},
                                             {"algorithm", a("string")},
                                             {"launch", a("string")},
                                             {"library_us", time()},
                                             {"fastest_us", time()},
                                             {"chosen_us", time()},
                                             {"fastest_scenario", count()},
                                             {"chosen_scenario", count()}});
  return schema::file("SchedLab validation: predicted against measured",
                      "validation",
                      schema::whole_object({{"program", a("string")},
                                            {"name", a("string")},
                                            {"summary", summary()},
                                            {"groups", list_of(group)},
                                            {"speed_ups", list_of(speed_up)},
                                            {"launch", launch()},
                                            {"library", list_of(library)},
                                            {"scenarios", list_of(scenario())}}))
      .dump(2);
}

std::string recording_schema() {
  const Json run = schema::whole_object(
      {{"round", count()}, {"position", count()}, {"makespan_ps", {{"type", "integer"}}}});
  Json kinds = Json::object();
  for (const std::string& kind : enum_names<TaskKind>()) {
    kinds[kind] = schema::whole_object({{"one_unit", a("number")}, {"all_units", a("number")}});
  }
  const Json probe = schema::whole_object(
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
       {"runs", list_of(run)},
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
                                            {"probes", list_of(probe)},
                                            {"scenarios", list_of(scenario)}},
                                           {"ends_synchronized", "probes"}))
      .dump(2);
}

}  // namespace schedlab
