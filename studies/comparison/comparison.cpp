// SPDX-License-Identifier: Apache-2.0
#include "studies/comparison/comparison.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/timelines.hpp"
#include "sim/base/error.hpp"
#include "sim/sweep/field_table.hpp"
#include "sim/trace/document.hpp"
#include "studies/explanation/imported_run.hpp"
#include "studies/explanation/input_content.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// A result, and the file that it is read from.
struct ComparedInput {
  ComparedKind kind;
  fs::path file;
};

ComparedInput compared_input(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(path / results_database)) return {ComparedKind::sweeps, path / results_database};
    if (fs::exists(path / "validation.json")) {
      return {ComparedKind::validations, path / "validation.json"};
    }
    return {ComparedKind::runs, path};
  }
  if (path.extension() == ".sqlite") return {ComparedKind::sweeps, path};
  if (path.filename() == "validation.json") return {ComparedKind::validations, path};
  switch (input_content(path.string())) {
    case InputContent::own_trace:
      return {ComparedKind::runs, path};
    case InputContent::profile:
      return {ComparedKind::profiles, path};
    default:
      throw InputError({.file = path.string(),
                        .pointer = {},
                        .found = "no results",
                        .expected = "a run, a profile, or the folder of a sweep or a validation",
                        .hint = "a graph must be simulated first"});
  }
}

Explanation explained(const ComparedInput& input) {
  if (input.kind == ComparedKind::runs) return explain(load_explained_run(input.file), 1);
  return explain(explained_run(load_imported_run({input.file})), 1);
}

std::string timelines_of(const Explanation& first, const Explanation& second) {
  const auto document = [](const Explanation& each, const char* which) {
    const ExplainedRun& run = each.run;
    return make_document(
        run.problem(), run.plan, run.trace, fmt::format("{}: {}", which, run.title), run.origin);
  };
  const std::array documents{document(first, "first"), document(second, "second")};
  return timelines_svg(documents);
}

const Fields<Comparison>& comparison_fields() {
  using C = Comparison;
  static const Fields<C> fields{
      {"kind", &C::kind},
      {"first", &C::first},
      {"second", &C::second},
      {"answer", comparison_answer},
      {"slowdown",
       &C::slowdown,
       {.doc = "by how much the second takes longer; of several scenarios the largest"}},
      {"max_slowdown", &C::max_slowdown},
      {"broken", &C::broken, {.doc = "why --max-slowdown is not kept"}},
      {"runs", &C::runs, run_comparison_fields()},
      {"scenarios", &C::scenarios, scenario_comparison_fields()}};
  return fields;
}

/// "3.00 % longer than"; of more than twice the time "16.6 times as long as".
std::string stretched(double change) {
  if (change > 1) return fmt::format("{:.3g} times as long as", 1 + change);
  return change < 0 ? fmt::format("{:.2f} % less than", -100 * change)
                    : fmt::format("{:.2f} % longer than", 100 * change);
}

std::string answer_of_runs(const Comparison& all) {
  const RunComparison& runs = *all.runs;
  if (runs.first == runs.second) {
    return fmt::format(
        "{} and {} take the same time, {}", all.second, all.first, readable(runs.first));
  }
  return fmt::format("{} takes {} {}: {} against {}",
                     all.second,
                     stretched(all.slowdown()),
                     all.first,
                     readable(runs.second),
                     readable(runs.first));
}

std::string answer_of_scenarios(const Comparison& all) {
  const ScenarioComparison& scenarios = *all.scenarios;
  const std::size_t count = scenarios.scenarios.size();
  if (scenarios.ratio == 1.0 && scenarios.slower + scenarios.faster == 0) {
    return fmt::format(
        "{} takes as long as {} in {}", all.second, all.first, counted(count, "scenario"));
  }
  const std::string sure = all.kind == ComparedKind::validations ? " beyond noise" : "";
  const std::string winners = scenarios.groups == 0
                                  ? std::string{}
                                  : fmt::format("; another policy wins {} of {}",
                                                scenarios.winners.size(),
                                                counted(scenarios.groups, "case"));
  return fmt::format("{} takes {} {} over {} (geometric mean): {} slower and {} faster{}{}",
                     all.second,
                     stretched(scenarios.ratio - 1),
                     all.first,
                     counted(count, "scenario"),
                     scenarios.slower,
                     scenarios.faster,
                     sure,
                     winners);
}

}  // namespace

double Comparison::slowdown() const {
  if (runs) return runs->first == Duration{0} ? 0 : to_us(runs->second) / to_us(runs->first) - 1;
  const auto counts = [](const ScenarioChange& change) { return change.counts(); };
  const auto worst = std::ranges::find_if(scenarios->scenarios, counts);
  return worst == scenarios->scenarios.end() ? 0 : worst->ratio() - 1;
}

Comparison compare_results(const fs::path& first, const fs::path& second) {
  const ComparedInput mine = compared_input(first);
  const ComparedInput theirs = compared_input(second);
  if (mine.kind != theirs.kind) {
    throw InputError(
        {.file = second.string(),
         .pointer = {},
         .found = fmt::format("one of {}", to_string(theirs.kind)),
         .expected = fmt::format("one of {}, as {}", to_string(mine.kind), first.string()),
         .hint = "compare results of one kind"});
  }
  Comparison result;
  result.kind = mine.kind;
  result.first = first.string();
  result.second = second.string();
  if (mine.kind == ComparedKind::sweeps) {
    result.scenarios = compare_scenarios(times_of_sweep(mine.file), times_of_sweep(theirs.file));
  } else if (mine.kind == ComparedKind::validations) {
    result.scenarios =
        compare_scenarios(times_of_validation(mine.file), times_of_validation(theirs.file));
  } else {
    const Explanation one = explained(mine);
    const Explanation other = explained(theirs);
    result.runs = compare_runs(one, other);
    result.picture = timelines_of(one, other);
  }
  return result;
}

void apply_bound(Comparison& comparison, double max_slowdown) {
  comparison.max_slowdown = max_slowdown;
  comparison.broken.clear();
  if (comparison.slowdown() > max_slowdown) {
    const std::string what = comparison.runs ? "the second" : "a scenario of the second";
    comparison.broken.push_back(
        fmt::format("{} takes {} the first, at most {:.2f} % longer is allowed",
                    what,
                    stretched(comparison.slowdown()),
                    100 * max_slowdown));
  }
  if (!comparison.scenarios) return;
  const ScenarioComparison& scenarios = *comparison.scenarios;
  for (const std::string& scenario : scenarios.second_failed) {
    if (std::ranges::find(scenarios.first_failed, scenario) != scenarios.first_failed.end()) {
      continue;
    }
    comparison.broken.push_back(fmt::format("{} has no time in the second", scenario));
  }
}

std::string comparison_answer(const Comparison& comparison) {
  return comparison.runs ? answer_of_runs(comparison) : answer_of_scenarios(comparison);
}

std::string comparison_json(const Comparison& comparison) {
  schema::Json json{{"schedlab", "comparison"}, {"version", 1}};
  comparison_fields().add_to(json, comparison);
  return json.dump(1) + "\n";
}

std::string comparison_schema() {
  return schema::file(
             "SchedLab comparison of two results", "comparison", comparison_fields().schema())
      .dump(2);
}

Table comparison_table(const Comparison& comparison) {
  if (comparison.runs) return table_of(task_change_fields(), comparison.runs->tasks);
  return table_of(scenario_change_fields(), comparison.scenarios->scenarios);
}

}  // namespace schedlab
