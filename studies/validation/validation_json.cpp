// SPDX-License-Identifier: Apache-2.0
#include "studies/base/version.hpp"
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json of(const ErrorSummary& errors) {
  return {{"scenarios", errors.count},
          {"median", errors.median},
          {"p90", errors.p90},
          {"most", errors.most},
          {"bias", errors.bias}};
}

Json of(const Proportion& share, std::size_t of_how_many) {
  return {{"of", of_how_many}, {"share", share.value}, {"low", share.low}, {"high", share.high}};
}

Json of(const ProbabilityScore& score) {
  Json bins = Json::array();
  for (const ReliabilityBin& bin : score.bins) {
    bins.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {"pairs", bin.count},
                    {"predicted", bin.predicted},
                    {"observed", bin.observed}});
  }
  return {{"pairs", score.count}, {"brier", score.brier}, {"bins", std::move(bins)}};
}

Json of(const TaskErrors& errors) {
  return {{"name", errors.name},
          {"tasks", errors.tasks},
          {"duration_error_p50", errors.duration.p50},
          {"duration_error_p90", errors.duration.p90},
          {"start_error_p50", errors.start.p50},
          {"start_error_p90", errors.start.p90},
          {"predicted_running_us", to_us(errors.simulated_running)},
          {"measured_running_us", to_us(errors.measured_running)},
          {"bias", errors.bias}};
}

Json list_of(const std::vector<TaskErrors>& list) {
  Json json = Json::array();
  for (const TaskErrors& errors : list) json.push_back(of(errors));
  return json;
}

Json of(const ErrorBudget& budget) {
  Json json;
  for (std::size_t part = 0; part < error_part_count; ++part) {
    json[fmt::format("{}_us", to_string(static_cast<ErrorPart>(part)))] =
        to_us(budget.parts.at(part));
  }
  json["total_us"] = to_us(budget.total);
  json["noise_floor_us"] = to_us(budget.noise_floor);
  return json;
}

Json of(const ScenarioOutcome& outcome) {
  Json json{{"scenario", outcome.scenario},
            {"name", outcome.name},
            {"policy", outcome.policy},
            {"group", outcome.group},
            {"runs", outcome.runs}};
  if (!outcome.compared()) {
    json["note"] = outcome.note;
    return json;
  }
  const TraceComparison& comparison = outcome.comparison;
  json["predicted_us"] = outcome.predicted_us;
  if (outcome.predicted_90) {
    json["predicted_us_p5"] = outcome.predicted_90->low;
    json["predicted_us_p95"] = outcome.predicted_90->high;
    json["predicted_us_run_p5"] = outcome.run_90->low;
    json["predicted_us_run_p95"] = outcome.run_90->high;
  }
  json["measured_us"] = outcome.measured_us;
  json["measured_us_low"] = outcome.measured_95.low;
  json["measured_us_high"] = outcome.measured_95.high;
  json["measured_us_least"] = outcome.least_us;
  json["spread"] = outcome.spread;
  json["error"] = outcome.error;
  if (outcome.at_speed) {
    json["at_speed_us"] = outcome.at_speed->predicted_us;
    json["at_speed_error"] = outcome.at_speed->error;
    if (outcome.at_speed->predicted_90) {
      json["at_speed_us_p5"] = outcome.at_speed->predicted_90->low;
      json["at_speed_us_p95"] = outcome.at_speed->predicted_90->high;
    }
  }
  if (outcome.undisturbed) {
    json["undisturbed_runs"] = outcome.undisturbed->runs;
    json["undisturbed_us"] = outcome.undisturbed->measured_us;
    json["undisturbed_error"] = outcome.undisturbed->error;
  }
  json["inside_calibrated_range"] = outcome.inside_hull;
  if (outcome.memory) {
    json["predicted_memory_bytes"] = outcome.memory->predicted.count();
    json["measured_memory_bytes"] = outcome.memory->measured.count();
    json["memory_error"] = outcome.memory->error;
  }
  json["predicted_busy_us"] = to_us(comparison.simulated_busy);
  json["measured_busy_us"] = to_us(comparison.measured_busy);
  json["error_budget"] = of(comparison.budget);
  json["tasks"] = of(comparison.all);
  json["kinds"] = list_of(comparison.by_kind);
  json["operations"] = list_of(comparison.by_operation);
  return json;
}

Json scenarios_json(const Validation& validation) {
  Json json = Json::array();
  for (const ScenarioOutcome& outcome : validation.scenarios) json.push_back(of(outcome));
  return json;
}

Json groups_json(const Validation& validation) {
  Json groups = Json::array();
  for (const GroupOutcome& group : validation.groups) {
    Json json{{"name", group.name}, {"scenarios", group.members.size()}};
    if (!group.members.empty()) {
      json["kendall_tau"] = optional(group.kendall_tau);
      json["regret"] = group.regret;
      json["predicted_best"] = validation.scenarios[group.predicted_best].policy;
      json["measured_best"] = validation.scenarios[group.measured_best].policy;
    }
    groups.push_back(std::move(json));
  }
  return groups;
}

Json speed_ups_json(const Validation& validation) {
  Json list = Json::array();
  for (const SpeedUpOutcome& one : validation.speed_ups) {
    list.push_back({{"scenario", validation.scenarios[one.outcome].scenario},
                    {"policy", validation.scenarios[one.outcome].policy},
                    {"predicted", one.predicted},
                    {"measured", one.measured},
                    {"decidable", one.decidable},
                    {"sign_agrees", one.sign_agrees}});
  }
  return list;
}

Json speed_json(const Validation& all) {
  const SpeedSummary& speed = all.speed;
  Json json{{"probes", speed.probes},
            {"one_unit", speed.one_unit},
            {"all_units", speed.all_units},
            {"overall", speed.overall},
            {"overall_p5", speed.p5},
            {"overall_p95", speed.p95},
            {"rounds", speed.rounds},
            {"disturbed_rounds", speed.disturbed},
            {"makespan_error", of(all.at_speed)},
            {"makespan_error_undisturbed", of(all.undisturbed)},
            {"order_right", of(all.at_speed_order, all.decidable)}};
  if (all.calibrated) json["interval_coverage"] = of(all.at_speed_coverage, all.at_speed.count);
  return json;
}

/// Over all scenarios: parts of the error, kinds of tasks, policies.
void add_breakdowns(const Validation& all, Json& json) {
  for (std::size_t part = 0; part < error_part_count; ++part) {
    json["error_budget"][std::string{to_string(static_cast<ErrorPart>(part))}] = {
        {"median", all.budget.at(part).bias}, {"median_absolute", all.budget.at(part).absolute}};
  }
  for (const KindSummary& kind : all.kinds) {
    json["kinds"].push_back({{"kind", kind.kind},
                             {"scenarios", kind.scenarios},
                             {"tasks", kind.tasks},
                             {"duration_error_p50", kind.duration_p50},
                             {"duration_error_p90", kind.duration_p90},
                             {"start_error_p50", kind.start_p50},
                             {"start_error_p90", kind.start_p90},
                             {"bias", kind.bias}});
  }
  for (const PolicySummary& policy : all.policies) {
    Json entry{{"policy", policy.policy}, {"makespan_error", of(policy.error)}};
    if (policy.speed_ups > 0) {
      entry["speed_ups"] = policy.speed_ups;
      entry["predicted_speed_up_median"] = policy.predicted_speed_up;
      entry["measured_speed_up_median"] = policy.measured_speed_up;
      entry["signs_right"] = policy.signs_right;
      entry["decidable"] = policy.decidable;
      entry["decidable_signs_right"] = policy.decidable_right;
    }
    json["policies"].push_back(std::move(entry));
  }
}

Json summary_json(const ValidationReport& report) {
  const Validation& all = report.validation;
  std::size_t intervals = 0;
  std::size_t runs = 0;
  std::size_t decidable_speed_ups = 0;
  for (const ScenarioOutcome& outcome : all.scenarios) {
    if (!outcome.predicted_90) continue;
    ++intervals;
    runs += outcome.runs;
  }
  for (const SpeedUpOutcome& one : all.speed_ups) decidable_speed_ups += one.decidable ? 1 : 0;
  Json json{{"device", report.measured.device},
            {"date", report.measured.date},
            {"complete", report.measured.complete},
            {"repetitions", report.measured.repetitions},
            {"scenarios", all.scenarios.size()},
            {"compared", all.all.count},
            {"calibrated", all.calibrated},
            {"makespan_error", of(all.all)},
            {"makespan_error_inside", of(all.inside)},
            {"makespan_error_outside", of(all.outside)},
            {"makespan_error_fastest_run", of(all.fastest)},
            {"memory_error", of(all.memory)},
            {"spread_of_runs", all.spread},
            {"other_load", optional(report.measured.other_load)},
            {"pairs", all.pairs.size()},
            {"decidable_pairs", all.decidable},
            {"order_right", of(all.order, all.decidable)},
            {"speed_up_sign_right", of(all.all_signs, all.speed_ups.size())},
            {"decidable_speed_up_sign_right", of(all.signs, decidable_speed_ups)},
            {"kendall_tau", optional(all.kendall_tau)},
            {"kendall_tau_group_median", optional(all.group_tau)},
            {"regret_mean", all.mean_regret},
            {"regret_most", all.most_regret}};
  if (all.speed.probes > 0) json["speed"] = speed_json(all);
  if (all.calibrated) {
    json["interval_coverage"] = of(all.coverage, intervals);
    json["interval_coverage_runs"] = of(all.run_coverage, runs);
    json["faster_probability"] = of(all.probabilities);
    json["faster_probability_decidable"] = of(all.decidable_probabilities);
  }
  add_breakdowns(all, json);
  json["broken_bounds"] = report.broken;
  return json;
}

Json launch_json(const ValidationReport& report) {
  Json gains = Json::array();
  for (const LaunchGain& gain : report.launch.gains) {
    gains.push_back({{"eager_scenario", report.validation.scenarios[gain.eager].scenario},
                     {"graph_launch_scenario", report.validation.scenarios[gain.loaded].scenario},
                     {"operator_us", gain.operator_us},
                     {"predicted_gain", gain.predicted_gain},
                     {"measured_gain", gain.measured_gain}});
  }
  Json crossovers = Json::array();
  for (const LaunchCrossover& crossover : report.launch.crossovers) {
    crossovers.push_back({{"name", crossover.name},
                          {"sizes", crossover.sizes},
                          {"predicted_us", optional(crossover.predicted_us)},
                          {"measured_us", optional(crossover.measured_us)},
                          {"fastest_us", optional(crossover.fastest_us)},
                          {"error", optional(crossover.error())}});
  }
  return {{"gains", std::move(gains)}, {"crossovers", std::move(crossovers)}};
}

Json library_json(const ValidationReport& report) {
  Json json = Json::array();
  for (const LibraryRow& row : report.library) {
    json.push_back({{"network", row.network},
                    {"policy", row.policy},
                    {"algorithm", row.variant.algorithm},
                    {"launch", row.variant.launch},
                    {"library_us", row.library_us},
                    {"fastest_us", row.fastest_us},
                    {"chosen_us", row.chosen_us},
                    {"fastest_scenario", report.validation.scenarios[row.fastest].scenario},
                    {"chosen_scenario", report.validation.scenarios[row.chosen].scenario}});
  }
  return json;
}

}  // namespace

std::string validation_json(const ValidationReport& report) {
  Json json{{"schedlab", "validation"},
            {"version", 1},
            {"program", fmt::format("schedlab {}", program_version())},
            {"name", report.spec.name},
            {"summary", summary_json(report)},
            {"groups", groups_json(report.validation)},
            {"speed_ups", speed_ups_json(report.validation)},
            {"launch", launch_json(report)},
            {"library", library_json(report)},
            {"scenarios", scenarios_json(report.validation)}};
  return json.dump(1) + "\n";
}

std::string validation_summary_json(const ValidationReport& report,
                                    const std::vector<std::string>& files,
                                    const std::string& out) {
  Json json{{"verb", "validate"}, {"out", out}, {"files", files}};
  json.update(summary_json(report));
  return json.dump(2) + "\n";
}

}  // namespace schedlab
