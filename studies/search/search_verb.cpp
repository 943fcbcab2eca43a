// SPDX-License-Identifier: Apache-2.0
#include "studies/search/search_verb.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/sweep/field_table.hpp"
#include "studies/base/findings_text.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/scenario/components.hpp"
#include "studies/search/scenario_search.hpp"
#include "studies/spec/spec.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace schedlab {
namespace {

constexpr const char* plan_file_name = "plan.json";
constexpr const char* search_file_name = "search.json";
constexpr const char* improvements_file_name = "improvements.csv";

double share_saved(const FoundSchedule& found) {
  return 1 - to_us(found.makespan) / to_us(found.begun_at);
}

const Fields<Improvement>& improvement_fields() {
  static const Fields<Improvement> fields{
      {"evaluations", &Improvement::evaluations, {.doc = "plans simulated until then"}},
      time_fields<Improvement>("makespan", &Improvement::makespan)};
  return fields;
}

const Fields<FoundSchedule>& found_fields() {
  using F = FoundSchedule;
  static const Fields<F> fields{
      time_fields<F>("makespan", &F::makespan, {.doc = "of the plan found"}),
      {"policy", &F::begun_with, {.doc = "the best policy that the search began with"}},
      time_fields<F>("policy_makespan", &F::begun_at),
      time_fields<F>("case_bound",
                     [](const F& f) { return f.case_bounds.largest(); },
                     {.doc = "no schedule is shorter, at any granularity that was begun with"}),
      {"case_bound", [](const F& f) { return f.case_bounds.largest_name(); }},
      {"case_gap", &F::gap, {.doc = "makespan over that bound"}},
      {"proven_optimal", &F::proven_optimal},
      {"evaluations", &F::evaluations},
      {"streams", [](const F& f) { return f.plan.streams.size(); }},
      {"granularity",
       [](const F& f) { return granularity_name(f.scenario.granularity); },
       {.doc = "of the tasks of the plan, where the workload leaves that open"}},
      {"bounds", &F::bounds, witness_fields()},
      {"improvements", &F::improvements, improvement_fields()}};
  return fields;
}

void print_text(const Terminal& terminal, const FoundSchedule& found, const std::string& folder) {
  terminal.out << fmt::format(
      "makespan {:.3f} us, {} than {} ({:.3f} us)\n  {} (by {}, {:.3f} us)\n  {} evaluations in "
      "{:.1f} s, {} streams, granularity {}\n  {}: {}, {}, {}\n",
      to_us(found.makespan),
      found.makespan < found.begun_at ? fmt::format("{:.2f} % shorter", 100 * share_saved(found))
                                      : "no shorter",
      found.begun_with,
      to_us(found.begun_at),
      found.proven_optimal()
          ? "proven optimal"
          : fmt::format("no schedule is more than {:.2f} % shorter", 100 * (1 - 1 / found.gap())),
      found.case_bounds.largest_name(),
      to_us(found.case_bounds.largest()),
      found.evaluations,
      found.seconds,
      found.plan.streams.size(),
      granularity_name(found.scenario.granularity),
      folder,
      plan_file_name,
      search_file_name,
      improvements_file_name);
}

void expect_limit(const SearchVerbOptions& options) {
  if (options.seconds > 0 || options.evaluations > 0) return;
  throw InputError({.file = "--seconds",
                    .pointer = {},
                    .found = "0, and no --evaluations",
                    .expected = "a limit",
                    .hint = "give --seconds or --evaluations"});
}

}  // namespace

std::string search_json(const FoundSchedule& found) {
  return found_fields().json(found).dump(2) + "\n";
}

int run(const SearchVerbOptions& options, const Terminal& terminal) {
  expect_limit(options);
  const Spec spec = load_spec(options.spec, &terminal.err);
  OutputFolder folder(whole_folder(options.out, "search", options.overwrite), terminal.leftovers);
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  space.components().check_all();
  const FoundSchedule found = search_case(
      space,
      spec.file,
      {.limits = {.seconds = options.seconds,
                  .evaluations = options.evaluations,
                  .gap = options.gap / 100},
       .seed = options.seed,
       .max_streams = options.max_streams,
       .islands = options.jobs,
       .begin = options.resume.empty() ? std::string{} : options.resume + "/" + plan_file_name,
       .stop = terminal.stop});
  const PreparedProblem& prepared = *found.scenario.problem;
  const auto findings = check(prepared.problem().graph,
                              prepared.problem().platform,
                              as_launched(found.scenario, found.plan),
                              {.check_memory = found.scenario.checks_memory});
  write_file_atomically(folder.path() / plan_file_name, plan_to_json(found.plan, *prepared.graph));
  write_file_atomically(folder.path() / search_file_name, search_json(found));
  write_file_atomically(folder.path() / improvements_file_name,
                        table_csv(table_of(improvement_fields(), found.improvements)));
  folder.publish();
  if (!findings.empty()) terminal.err << findings_text(findings, "finding: ") << '\n';
  if (options.json) {
    auto summary = found_fields().json(found);
    summary.erase("bounds");
    summary["seconds"] = found.seconds;
    terminal.out << summary.dump(2) << '\n';
  } else {
    print_text(terminal, found, options.out);
  }
  const bool near =
      !options.max_gap || (found.gap() > 0 && 100 * (found.gap() - 1) <= *options.max_gap);
  if (!near) {
    terminal.err << fmt::format("error: the plan is {:.2f} % over its bound, more than {} %\n",
                                100 * (found.gap() - 1),
                                *options.max_gap);
  }
  return near && findings.empty() ? exit_done : exit_failed;
}

}  // namespace schedlab
