// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation_fields.hpp"

namespace schedlab {
namespace {

constexpr FieldNotes time_in_files{.places = in_files, .from_zero = true};

Fields<Interval> ends(const std::string& low,
                      const std::string& high,
                      const FieldNotes& notes = from_zero) {
  return {{low, &Interval::low, notes}, {high, &Interval::high, notes}};
}

Fields<TaskErrors> task_fields() {
  using E = TaskErrors;
  return {{"name", &E::name},
          {"tasks", &E::tasks},
          {"duration_error_p50", [](const E& e) { return e.duration.p50; }},
          {"duration_error_p90", [](const E& e) { return e.duration.p90; }},
          {"start_error_p50", [](const E& e) { return e.start.p50; }},
          {"start_error_p90", [](const E& e) { return e.start.p90; }},
          {"predicted_running_us", in_us(&E::simulated_running), from_zero},
          {"measured_running_us", in_us(&E::measured_running), from_zero},
          {"bias", &E::bias}};
}

Fields<ErrorBudget> budget_fields() {
  using B = ErrorBudget;
  const auto part_us = [](const std::string& word, ErrorPart part) {
    return Fields<B>{word + "_us", [part](const B& b) { return to_us(b.part(part)); }};
  };
  return {for_each_name<ErrorPart, B>(part_us),
          {"total_us", in_us(&B::total)},
          {"noise_floor_us", in_us(&B::noise_floor), from_zero}};
}

Fields<TraceComparison> comparison_fields() {
  using C = TraceComparison;
  const auto error_us = [](const std::string& word, ErrorPart part) {
    return Fields<C>{"error_" + word + "_us",
                     [part](const C& c) { return to_us(c.budget.part(part)); },
                     tables_only};
  };
  return {{"task_duration_error_p50", [](const C& c) { return c.all.duration.p50; }, tables_only},
          {"task_duration_error_p90", [](const C& c) { return c.all.duration.p90; }, tables_only},
          {"task_start_error_p50", [](const C& c) { return c.all.start.p50; }, tables_only},
          {"task_start_error_p90", [](const C& c) { return c.all.start.p90; }, tables_only},
          {"predicted_busy_us", in_us(&C::simulated_busy), from_zero},
          {"measured_busy_us", in_us(&C::measured_busy), from_zero},
          {"error_budget", &C::budget, budget_fields(), files_only},
          {"tasks", &C::all, task_fields(), files_only},
          {"kinds", &C::by_kind, task_fields(), files_only},
          {"operations", &C::by_operation, task_fields(), files_only},
          for_each_name<ErrorPart, C>(error_us)};
}

Fields<ScenarioOutcome> compared_fields() {
  using S = ScenarioOutcome;
  using At = OutcomeAtSpeed;
  using Undisturbed = UndisturbedOutcome;
  using Memory = MemoryOutcome;
  return {
      {"predicted_us", &S::predicted_us, from_zero},
      {"predicted_evidence", &S::predicted_evidence},
      inlined<S>(&S::predicted_90, ends("predicted_us_p5", "predicted_us_p95")),
      inlined<S>(&S::run_90, ends("predicted_us_run_p5", "predicted_us_run_p95", time_in_files)),
      {"measured_us", &S::measured_us, from_zero},
      inlined<S>(&S::measured_95, ends("measured_us_low", "measured_us_high")),
      {"measured_us_min", &S::min_us, from_zero},
      {"spread", &S::spread},
      {"error", &S::error},
      inlined<S>(&S::at_speed,
                 {{"at_speed_us", &At::predicted_us, from_zero},
                  {"at_speed_error", &At::error},
                  inlined<At>(&At::predicted_90,
                              ends("at_speed_us_p5", "at_speed_us_p95", time_in_files))}),
      inlined<S>(&S::undisturbed,
                 {{"undisturbed_runs", &Undisturbed::runs, files_only},
                  {"undisturbed_us", &Undisturbed::measured_us, from_zero},
                  {"undisturbed_error", &Undisturbed::error}}),
      {"changed_decisions", &S::changed_decisions, from_zero},
      {"inside_calibrated_range", &S::in_calibrated_range},
      inlined<S>(&S::memory,
                 {{"predicted_memory_bytes", &Memory::predicted},
                  {"measured_memory_bytes", &Memory::measured},
                  {"memory_error", &Memory::error}}),
      inlined<S>(&S::comparison, comparison_fields())};
}

}  // namespace

Fields<ScenarioOutcome> scenario_fields() {
  using S = ScenarioOutcome;
  return {{"scenario", &S::scenario, files_only},
          {"name", &S::name, files_only},
          {"policy", &S::policy, files_only},
          {"group", &S::group},
          {"runs", &S::runs},
          {"note", &S::note, {.places = in_files, .unless_empty = true}},
          when<S>(&S::compared, compared_fields())};
}

Fields<RunRecord> run_fields() {
  using R = RunRecord;
  return {{"round", &R::round},
          {"position", &R::position},
          {"makespan_us", in_us(&R::makespan), tables_only},
          {"makespan_ps", [](const R& r) { return r.makespan.count(); }}};
}

}  // namespace schedlab
