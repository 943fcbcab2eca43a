// SPDX-License-Identifier: Apache-2.0
#include "studies/base/version.hpp"
#include "studies/validation/validation_fields.hpp"
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace schedlab {
namespace {

using Json = schema::Json;

/// A share, and of how many.
struct ShareOf {
  Proportion share;
  std::size_t of = 0;
};

Fields<ShareOf> share_fields() {
  using S = ShareOf;
  return {{"of", &S::of},
          {"share", [](const S& s) { return s.share.value; }},
          {"low", [](const S& s) { return s.share.low; }},
          {"high", [](const S& s) { return s.share.high; }}};
}

Fields<ErrorSummary> error_fields() {
  using E = ErrorSummary;
  return {{"scenarios", &E::count},
          {"median", &E::median},
          {"p90", &E::p90},
          {"max", &E::max},
          {"bias", &E::bias}};
}

Fields<ProbabilityScore> score_fields() {
  using Bin = ReliabilityBin;
  using P = ProbabilityScore;
  const Fields<Bin> bin{{"low", &Bin::low},
                        {"high", &Bin::high},
                        {"pairs", &Bin::count},
                        {"predicted", &Bin::predicted},
                        {"observed", &Bin::observed}};
  return {{"pairs", &P::count}, {"brier", &P::brier}, {"bins", &P::bins, bin}};
}

/// Only where there are speed checks.
Fields<Validation> speed_fields() {
  using S = SpeedSummary;
  using V = Validation;
  const Fields<S> checks{{"checks", &S::checks},
                         {"one_unit", &S::one_unit},
                         {"all_units", &S::all_units},
                         {"overall", &S::overall},
                         {"overall_p5", &S::p5},
                         {"overall_p95", &S::p95},
                         {"rounds", &S::rounds},
                         {"disturbed_rounds", &S::disturbed}};
  return {inlined<V>(&V::speed, checks),
          {"makespan_error", &V::at_speed, error_fields()},
          {"makespan_error_undisturbed", &V::undisturbed, error_fields()},
          {"order_right",
           [](const V& v) {
             return ShareOf{v.at_speed_order, v.decidable};
           },
           share_fields()},
          when<V>(&V::calibrated,
                  {"interval_coverage",
                   [](const V& v) {
                     return ShareOf{v.at_speed_coverage, v.at_speed.count};
                   },
                   share_fields()})};
}

Fields<KindSummary> kind_fields() {
  using K = KindSummary;
  return {{"kind", &K::kind},
          {"scenarios", &K::scenarios},
          {"tasks", &K::tasks},
          {"duration_error_p50", &K::duration_p50},
          {"duration_error_p90", &K::duration_p90},
          {"start_error_p50", &K::start_p50},
          {"start_error_p90", &K::start_p90},
          {"bias", &K::bias}};
}

Fields<PolicySummary> policy_fields() {
  using P = PolicySummary;
  return {{"policy", &P::policy},
          {"makespan_error", &P::error, error_fields()},
          when<P>([](const P& p) { return p.speed_ups > 0; },
                  {{"speed_ups", &P::speed_ups},
                   {"predicted_speed_up_median", &P::predicted_speed_up},
                   {"measured_speed_up_median", &P::measured_speed_up},
                   {"signs_right", &P::signs_right},
                   {"decidable", &P::decidable},
                   {"decidable_signs_right", &P::decidable_right}})};
}

/// Over all scenarios: parts of the error, kinds of tasks, policies.
Fields<Validation> breakdown_fields() {
  using V = Validation;
  const Fields<BudgetSummary> part_fields{{"median", &BudgetSummary::bias},
                                          {"median_absolute", &BudgetSummary::absolute}};
  const auto part_of = [&part_fields](const std::string& word, ErrorPart part) {
    const auto get = [part](const V& v) { return v.budget.at(static_cast<std::size_t>(part)); };
    return Fields<V>{word, get, part_fields};
  };
  return {{"error_budget", itself, for_each_name<ErrorPart, V>(part_of)},
          {"kinds", &V::kinds, kind_fields(), unless_empty},
          {"policies", &V::policies, policy_fields(), unless_empty}};
}

/// The 90 % intervals, and what they promise of pairs.
Fields<Validation> interval_fields() {
  using V = Validation;
  const auto medians = [](const V& v) {
    const auto with = std::count_if(v.scenarios.begin(), v.scenarios.end(), [](const auto& one) {
      return one.predicted_90.has_value();
    });
    return ShareOf{v.coverage, static_cast<std::size_t>(with)};
  };
  const auto runs = [](const V& v) {
    std::size_t all = 0;
    for (const ScenarioOutcome& one : v.scenarios) all += one.predicted_90 ? one.runs : 0;
    return ShareOf{v.run_coverage, all};
  };
  return {{"interval_coverage", medians, share_fields()},
          {"interval_coverage_runs", runs, share_fields()},
          {"faster_probability", &V::probabilities, score_fields()},
          {"faster_probability_decidable", &V::decidable_probabilities, score_fields()}};
}

Fields<Validation> error_summary_fields() {
  using V = Validation;
  return {{"scenarios", [](const V& v) { return v.scenarios.size(); }},
          {"compared", [](const V& v) { return v.all.count; }},
          {"calibrated", &V::calibrated},
          {"makespan_error", &V::all, error_fields()},
          {"makespan_error_inside", &V::inside, error_fields()},
          {"makespan_error_outside", &V::outside, error_fields()},
          {"makespan_error_fastest_run", &V::fastest, error_fields()},
          {"memory_error", &V::memory, error_fields()},
          {"spread_of_runs", &V::spread}};
}

Fields<Validation> order_summary_fields() {
  using V = Validation;
  const auto decidable_signs = [](const V& v) {
    const auto decidable = std::count_if(
        v.speed_ups.begin(), v.speed_ups.end(), std::mem_fn(&SpeedUpOutcome::decidable));
    return ShareOf{v.signs, static_cast<std::size_t>(decidable)};
  };
  return {{"pairs", [](const V& v) { return v.pairs.size(); }},
          {"decidable_pairs", &V::decidable},
          {"order_right",
           [](const V& v) {
             return ShareOf{v.order, v.decidable};
           },
           share_fields()},
          {"speed_up_sign_right",
           [](const V& v) {
             return ShareOf{v.all_signs, v.speed_ups.size()};
           },
           share_fields()},
          {"decidable_speed_up_sign_right", decidable_signs, share_fields()},
          {"kendall_tau", &V::kendall_tau, or_null},
          {"kendall_tau_group_median", &V::group_tau, or_null},
          {"regret_mean", &V::mean_regret},
          {"regret_max", &V::max_regret},
          when<V>([](const V& v) { return v.speed.checks > 0; }, {"speed", itself, speed_fields()}),
          when<V>(&V::calibrated, interval_fields()),
          breakdown_fields()};
}

Fields<ValidationReport> summary_fields_of_report() {
  using M = Measurements;
  using R = ValidationReport;
  const auto measured = [](const R& r) -> const M& { return r.measured; };
  const auto validation = [](const R& r) -> const Validation& { return r.validation; };
  return {inlined<R>(measured,
                     {{"device", &M::device},
                      {"date", &M::date},
                      {"complete", &M::complete},
                      {"repetitions", &M::repetitions}}),
          inlined<R>(validation, error_summary_fields()),
          {"other_load", [](const R& r) { return r.measured.other_load; }, or_null},
          inlined<R>(validation, order_summary_fields()),
          {"broken_bounds", &R::broken}};
}

/// Scenarios that differ in their policy alone.
Fields<PartOf<Validation, GroupOutcome>> group_fields() {
  using G = PartOf<Validation, GroupOutcome>;
  const auto policy_of = [](std::size_t GroupOutcome::*best) {
    return [best](const G& g) { return g.whole.scenarios[g.part.*best].policy; };
  };
  return {{"name", [](const G& g) { return g.part.name; }},
          {"scenarios", [](const G& g) { return g.part.members.size(); }},
          when<G>([](const G& g) { return !g.part.members.empty(); },
                  {{"kendall_tau", [](const G& g) { return g.part.kendall_tau; }, or_null},
                   {"regret", [](const G& g) { return g.part.regret; }},
                   {"predicted_best", policy_of(&GroupOutcome::predicted_best)},
                   {"measured_best", policy_of(&GroupOutcome::measured_best)}})};
}

Fields<PartOf<Validation, SpeedUpOutcome>> speed_up_fields() {
  using S = PartOf<Validation, SpeedUpOutcome>;
  return {{"scenario", [](const S& s) { return s.whole.scenarios[s.part.outcome].scenario; }},
          {"policy", [](const S& s) { return s.whole.scenarios[s.part.outcome].policy; }},
          {"predicted", [](const S& s) { return s.part.predicted; }},
          {"measured", [](const S& s) { return s.part.measured; }},
          {"decidable", [](const S& s) { return s.part.decidable; }},
          {"sign_agrees", [](const S& s) { return s.part.sign_agrees; }}};
}

Fields<ValidationReport> launch_fields() {
  using G = PartOf<Validation, LaunchGain>;
  using C = LaunchCrossover;
  using R = ValidationReport;
  const Fields<G> gain{
      {"eager_scenario", [](const G& g) { return g.whole.scenarios[g.part.eager].scenario; }},
      {"graph_launch_scenario",
       [](const G& g) { return g.whole.scenarios[g.part.loaded].scenario; }},
      {"operator_us", [](const G& g) { return g.part.operator_us; }, from_zero},
      {"predicted_gain", [](const G& g) { return g.part.predicted_gain; }},
      {"measured_gain", [](const G& g) { return g.part.measured_gain; }}};
  const Fields<C> crossover{{"name", &C::name},
                            {"sizes", &C::sizes},
                            {"predicted_us", &C::predicted_us, or_null},
                            {"measured_us", &C::measured_us, or_null},
                            {"fastest_us", &C::fastest_us, or_null},
                            {"error", &C::error, or_null}};
  return {{"gains", [](const R& r) { return parts_of(r.validation, r.launch.gains); }, gain},
          {"crossovers", [](const R& r) { return r.launch.crossovers; }, crossover}};
}

Fields<PartOf<Validation, DispatchGain>> dispatch_fields() {
  using D = PartOf<Validation, DispatchGain>;
  return {
      {"scenario", [](const D& d) { return d.whole.scenarios[d.part.other].scenario; }},
      {"dynamic_scenario", [](const D& d) { return d.whole.scenarios[d.part.dynamic].scenario; }},
      {"predicted_gain", [](const D& d) { return d.part.predicted_gain; }},
      {"measured_gain", [](const D& d) { return d.part.measured_gain; }},
      {"decidable", [](const D& d) { return d.part.decidable; }}};
}

Fields<PartOf<Validation, LibraryRow>> library_fields() {
  using L = PartOf<Validation, LibraryRow>;
  return {
      {"network", [](const L& l) { return l.part.network; }},
      {"policy", [](const L& l) { return l.part.policy; }},
      {"algorithm", [](const L& l) { return l.part.variant.algorithm; }},
      {"launch", [](const L& l) { return l.part.variant.launch; }},
      {"library_us", [](const L& l) { return l.part.library_us; }, from_zero},
      {"fastest_us", [](const L& l) { return l.part.fastest_us; }, from_zero},
      {"chosen_us", [](const L& l) { return l.part.chosen_us; }, from_zero},
      {"fastest_scenario", [](const L& l) { return l.whole.scenarios[l.part.fastest].scenario; }},
      {"chosen_scenario", [](const L& l) { return l.whole.scenarios[l.part.chosen].scenario; }}};
}

Fields<ValidationReport> report_fields() {
  using R = ValidationReport;
  return {
      {"program", [](const R&) { return fmt::format("schedlab {}", program_version()); }},
      {"name", [](const R& r) { return r.spec.name; }},
      {"summary", itself, summary_fields_of_report()},
      {"groups",
       [](const R& r) { return parts_of(r.validation, r.validation.groups); },
       group_fields()},
      {"speed_ups",
       [](const R& r) { return parts_of(r.validation, r.validation.speed_ups); },
       speed_up_fields()},
      {"launch", itself, launch_fields()},
      {"dispatch",
       [](const R& r) { return parts_of(r.validation, r.dispatch); },
       dispatch_fields()},
      {"library", [](const R& r) { return parts_of(r.validation, r.library); }, library_fields()},
      {"scenarios", [](const R& r) -> const auto& {return r.validation.scenarios;
}
, scenario_fields()
}  // namespace
};  // namespace schedlab
}

}  // namespace

std::string validation_json(const ValidationReport& report) {
  Json json{{"schedlab", "validation"}, {"version", 1}};
  report_fields().add_to(json, report);
  return json.dump(1) + "\n";
}

std::string validation_schema() {
  return schema::file("SchedLab validation: predicted against measured",
                      "validation",
                      report_fields().schema())
      .dump(2);
}

std::string validation_summary_json(const ValidationReport& report,
                                    const std::vector<std::string>& files,
                                    const std::string& out) {
  Json json{{"verb", "validate"}, {"out", out}, {"files", files}};
  summary_fields_of_report().add_to(json, report);
  return json.dump(2) + "\n";
}

}  // namespace schedlab
