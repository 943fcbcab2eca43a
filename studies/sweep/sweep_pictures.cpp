// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/sweep_pictures.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/gap_text.hpp"
#include "notebooks_export/like_for_like.hpp"
#include "notebooks_export/report.hpp"
#include "notebooks_export/sweep_plot.hpp"
#include "notebooks_export/sweep_view.hpp"
#include "sim/base/file.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/metrics.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/version.hpp"
#include "studies/scenario/problem_costs.hpp"
#include "studies/sensitivity/sensitivity.hpp"
#include "studies/sweep/policy_comparison.hpp"
#include "studies/sweep/results_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::uint64_t max_drawn_rows = 100'000;
constexpr std::size_t max_report_timelines = 12;

/// Rows with a note that begins so.
std::size_t noted(const Table& table, std::string_view beginning) {
  const auto note = std::find_if(
      table.columns.begin(), table.columns.end(), [](const Column& c) { return c.name == "note"; });
  const auto column = static_cast<std::size_t>(note - table.columns.begin());
  return static_cast<std::size_t>(
      std::count_if(table.rows.begin(), table.rows.end(), [&](const auto& row) {
        const auto* text = std::get_if<std::string>(&row[column]);
        return text != nullptr && text->starts_with(beginning);
      }));
}

SweepViewOptions view_options(const Grid& grid,
                              const std::optional<Baseline>& baseline,
                              const Table& table) {
  SweepViewOptions options;
  options.same_durations =
      !table.rows.empty() && noted(table, all_durations_given) == table.rows.size();
  if (baseline) options.baseline = baseline->label();
  for (const AxisColumn& axis : grid.axes()) {
    if (axis.path.starts_with("/policy/")) options.policy_axes.push_back(axis.name);
  }
  return options;
}

/// Slowest over fastest (or baseline over fastest): how much there is to see in a case.
double contrast(const SweepCase& one) {
  const double best = one.runs[*one.best].makespan_us;
  double other = one.baseline ? one.runs[*one.baseline].makespan_us : 0.0;
  if (!one.baseline) {
    for (const SweepRun& run : one.runs) other = std::max(other, run.makespan_us);
  }
  return best > 0 ? other / best : 0;
}

/// The fastest and the slowest of all runs.
std::vector<std::uint64_t> extreme_scenarios(const SweepView& view) {
  const SweepRun* fastest = nullptr;
  const SweepRun* slowest = nullptr;
  for (const SweepCase& one : view.cases()) {
    for (const SweepRun& run : one.runs) {
      if (fastest == nullptr || run.makespan_us < fastest->makespan_us) fastest = &run;
      if (slowest == nullptr || run.makespan_us > slowest->makespan_us) slowest = &run;
    }
  }
  if (fastest == nullptr) return {};
  std::vector<std::uint64_t> scenarios{scenario_of(view.table(), fastest->row)};
  if (slowest != fastest) scenarios.push_back(scenario_of(view.table(), slowest->row));
  return scenarios;
}

/// The scenarios of which a timeline is drawn: of the case in which the policies differ most, the
/// fastest run and the baseline's (without one: the slowest); of one policy the extremes.
std::vector<std::uint64_t> best_scenarios(const SweepView& view) {
  if (view.policies().size() < 2) return extreme_scenarios(view);
  const SweepCase* chosen = nullptr;
  for (const SweepCase& one : view.cases()) {
    if (!one.best) continue;
    if (chosen == nullptr || contrast(one) > contrast(*chosen)) chosen = &one;
  }
  if (chosen == nullptr) return {};
  const SweepRun* other = &chosen->runs.front();
  for (const SweepRun& run : chosen->runs) {
    if (run.makespan_us > other->makespan_us) other = &run;
  }
  if (chosen->baseline) other = &chosen->runs[*chosen->baseline];
  std::vector<std::uint64_t> scenarios{scenario_of(view.table(), chosen->runs[*chosen->best].row)};
  const std::uint64_t second = scenario_of(view.table(), other->row);
  if (second != scenarios.front()) scenarios.push_back(second);
  return scenarios;
}

std::vector<std::uint64_t> wanted_scenarios(const SweepPictures& sweep, const SweepView& view) {
  if (sweep.timelines == "none") return {};
  if (sweep.timelines == "best") return best_scenarios(view);
  std::vector<std::uint64_t> all;
  for (const SweepCase& one : view.cases()) {
    for (const SweepRun& run : one.runs) all.push_back(scenario_of(view.table(), run.row));
  }
  std::sort(all.begin(), all.end());
  return all;
}

struct DrawnScenario {
  std::string svg;
  std::string page;
};

/// Runs a scenario again with everything recorded, and draws it.
DrawnScenario draw_timeline(const SweepPictures& sweep,
                            ScenarioRunner& runner,
                            std::uint64_t scenario) {
  FullRun run = runner.run_fully(scenario);
  const Problem problem = run.scenario.problem->problem();
  const Metrics metrics =
      compute_metrics(problem, run.plan, run.trace, run.scenario.problem->bounds);
  const std::string title =
      fmt::format("{}: {}", sweep.spec.name, sweep.space.grid().describe(scenario));
  const TraceDocument document = make_document(problem, run.plan, std::move(run.trace), title);
  return {run_timeline(document, metrics), run_viewer(problem, run.plan, document, metrics)};
}

void draw_timelines(const SweepPictures& sweep,
                    const SweepView& view,
                    ReportOptions& report,
                    RunFiles& files) {
  const std::vector<std::uint64_t> scenarios = wanted_scenarios(sweep, view);
  if (scenarios.empty()) return;
  make_folder(sweep.folder / "timelines");
  ScenarioRunner runner(sweep.space, sweep.stop);
  for (const std::uint64_t scenario : scenarios) {
    const std::string name = fmt::format("timelines/scenario_{}", scenario);
    DrawnScenario drawn = draw_timeline(sweep, runner, scenario);
    write_file_atomically(sweep.folder / (name + ".svg"), drawn.svg);
    write_file_atomically(sweep.folder / (name + ".html"), drawn.page);
    report.timelines.emplace(std::to_string(scenario), name + ".html");
    if (report.figures.size() >= max_report_timelines) continue;
    report.figures.push_back(
        {fmt::format("Scenario {}: {}", scenario, sweep.space.grid().describe(scenario)),
         std::move(drawn.svg),
         name + ".html"});
  }
  files.files.push_back(scenarios.size() == 1
                            ? "timelines/ (1 picture)"
                            : fmt::format("timelines/ ({} pictures)", scenarios.size()));
}

/// How many pairs of policies the scatter of the machine leaves undecided.
std::string certainty_of(const Table& pairs) {
  const std::size_t low = column_index(pairs, "faster_probability_low");
  const std::size_t high = column_index(pairs, "faster_probability_high");
  const auto decided =
      std::count_if(pairs.rows.begin(), pairs.rows.end(), [low, high](const auto& row) {
        return cell_number(row[low]).value_or(0) > 0.5 || cell_number(row[high]).value_or(1) < 0.5;
      });
  return fmt::format(
      "On a machine that scatters one of two policies is the faster one in most runs, 95 % "
      "certain, "
      "in {} of {}.",
      decided,
      counted(pairs.rows.size(), "pair"));
}

/// The two fastest policies of a case.
struct CloseCase {
  const SweepCase* of = nullptr;
  const SweepRun* best = nullptr;
  const SweepRun* next = nullptr;
};

/// Of the cases small enough, that in which the second policy takes the least longer than the
/// first.
CloseCase closest_case(const SweepView& view) {
  CloseCase closest;
  double least = std::numeric_limits<double>::infinity();
  for (const SweepCase& one : view.cases()) {
    if (!one.best || view.number(one.runs[*one.best].row, "tasks") > max_sensitivity_tasks)
      continue;
    const SweepRun& best = one.runs[*one.best];
    for (std::size_t policy = 0; policy < view.policies().size(); ++policy) {
      const SweepRun* next = SweepView::shortest(one, policy);
      if (next == nullptr || policy == best.policy || next->makespan_us <= best.makespan_us ||
          view.number(next->row, "tasks") > max_sensitivity_tasks) {
        continue;
      }
      const double ratio = next->makespan_us / best.makespan_us;
      if (ratio >= least) continue;
      least = ratio;
      closest = {&one, &best, next};
    }
  }
  return closest;
}

/// How wrong the machine would have to be for the closest case to end otherwise; no rows: none can
/// tell.
ReportTable closest_case_table(const SweepPictures& sweep, const SweepView& view) {
  const CloseCase closest = closest_case(view);
  if (closest.of == nullptr || view.same_durations()) return {};
  const Sensitivity result = sensitivity(
      sweep.spec,
      sweep.space.grid(),
      {scenario_of(view.table(), closest.best->row), scenario_of(view.table(), closest.next->row)},
      {.most_delicate = most_delicate_numbers, .stop = sweep.stop});
  ReportTable table = sensitivity_table(result);
  std::vector<std::string> places;
  for (std::size_t i = 0; i < closest.of->values.size(); ++i) {
    if (view.varies(view.case_axes()[i])) places.push_back(view.place(i, closest.of->values[i]));
  }
  if (!places.empty()) {
    table.note = fmt::format("The closest case, {}: {}", fmt::join(places, ", "), table.note);
  }
  return table;
}

/// The values of the first axis that tells which evidence a scenario has: {evidence: values}; the
/// values are empty where no axis does.
std::map<std::string, std::set<std::string>> evidence_by_axis(const Table& table) {
  const std::size_t column = column_index(table, "cost_evidence");
  std::map<std::string, std::set<std::string>> by_evidence;
  if (column == table.columns.size()) return by_evidence;
  for (const auto& row : table.rows) {
    if (const auto* word = std::get_if<std::string>(&row[column])) by_evidence[*word];
  }
  for (std::size_t axis = 0; axis < table.columns.size() && by_evidence.size() > 1; ++axis) {
    if (table.columns[axis].role != ColumnRole::axis) continue;
    auto values = by_evidence;
    std::set<std::string> all;
    std::size_t pairs = 0;
    for (const auto& row : table.rows) {
      const auto* word = std::get_if<std::string>(&row[column]);
      if (word == nullptr) continue;
      const std::string value = cell_text(row[axis]);
      pairs += values[*word].insert(value).second ? 1U : 0U;
      all.insert(value);
    }
    if (pairs == all.size()) return values;
  }
  return by_evidence;
}

/// What the makespans rest on, where that is not the same for all; else empty.
std::string mixed_evidence(const Table& table) {
  const auto evidence = evidence_by_axis(table);
  if (evidence.size() < 2) return {};
  std::vector<std::string> words;
  for (const auto& [word, values] : evidence) {
    words.push_back(values.empty() ? word : fmt::format("{} ({})", word, fmt::join(values, ", ")));
  }
  return fmt::format("Kernel times rest on different evidence, see column cost_evidence: {}.",
                     fmt::join(words, "; "));
}

std::vector<std::string> warnings_of(const Table& table, std::uint64_t failed) {
  std::vector<std::string> warnings;
  if (failed > 0) {
    warnings.push_back(fmt::format(
        "{} of {} scenarios have no result; the column note says why.", failed, table.rows.size()));
  }
  std::uint64_t faulty = 0;
  const auto findings = std::find_if(table.columns.begin(),
                                     table.columns.end(),
                                     [](const Column& c) { return c.name == "findings"; });
  const auto column = static_cast<std::size_t>(findings - table.columns.begin());
  for (const auto& row : table.rows) {
    const auto* count = std::get_if<std::int64_t>(&row[column]);
    faulty += count != nullptr && *count > 0 ? 1 : 0;
  }
  if (faulty > 0) {
    warnings.push_back(
        fmt::format("The plan checker objects to {} plans; their times mean nothing.", faulty));
  }
  if (std::string mixed = mixed_evidence(table); !mixed.empty()) {
    warnings.push_back(std::move(mixed));
  }
  const std::size_t given = noted(table, durations_given);
  if (given > 0) {
    warnings.push_back(
        fmt::format("In {} of {} scenarios the graph gives task durations, which are the same on "
                    "every machine: the makespans do not compare machines.",
                    given,
                    table.rows.size()));
  }
  return warnings;
}

}  // namespace

std::vector<std::string> draw_sweep(const SweepPictures& sweep, RunFiles& files) {
  const std::uint64_t rows = sweep.store.row_count();
  if (rows > max_drawn_rows) {
    files.notices.push_back(fmt::format(
        "no plots and no report: {} scenarios are more than {}; use results.csv or results.sqlite",
        rows,
        max_drawn_rows));
    return {};
  }
  const Table table = results_table(sweep.store, sweep.baseline, max_drawn_rows);
  const SweepViewOptions view_of = view_options(sweep.space.grid(), sweep.baseline, table);
  const SweepView view(table, view_of);
  ReportOptions options;
  std::vector<SweepPlot> plots;
  if (sweep.adaptive == nullptr) {
    plots = sweep_plots(view);
  } else {
    options.along_axes = false;
    options.lead = sweep.adaptive->summary();
    options.maps = sweep.adaptive->pictures();
    for (const ReportFigure& map : options.maps) plots.push_back({"borders", map.title, map.svg});
  }
  if (!plots.empty()) make_folder(sweep.folder / "plots");
  for (const SweepPlot& plot : plots) {
    write_file_atomically(sweep.folder / "plots" / (plot.file_name + ".svg"), plot.svg);
    files.files.push_back("plots/" + plot.file_name + ".svg");
  }
  options.title = sweep.spec.name;
  options.description = sweep.spec.description;
  options.spec = sweep.spec.text;
  options.program = fmt::format("schedlab {}", program_version());
  options.warnings = warnings_of(table, view.failed_count());
  options.view = view_of;
  draw_timelines(sweep, view, options, files);
  options.certainty =
      "Simulated without noise: a difference below the error of the machine model is none.";
  if (sweep.spec.part(Part::variability) != nullptr) {
    Table pairs = compare_policies(sweep.space.grid(), sweep.store);
    options.certainty = certainty_of(pairs);
    options.tables.push_back({"How sure is that?",
                              "Two runs of one case on the same draws of a machine that scatters. "
                              "Speed-up: makespan of the second over that of the first, sample by "
                              "sample. All results and pictures without this word are of the run "
                              "without noise.",
                              std::move(pairs)});
  }
  if (sweep.sensitivity) {
    ReportTable closest = closest_case_table(sweep, view);
    if (!closest.table.rows.empty()) options.tables.push_back(std::move(closest));
  }
  write_file_atomically(sweep.folder / "report.html", report_html(table, options));
  files.files.emplace_back("report.html");
  std::vector<std::string> sentences = comparison_text(view);
  if (std::string gaps = gap_text(view); !gaps.empty()) sentences.push_back(std::move(gaps));
  return sentences;
}

std::optional<double> largest_gap(const Grid& grid,
                                  const ResultsStore& store,
                                  const std::optional<Baseline>& baseline) {
  const Table table = results_table(store, baseline, store.row_count());
  const auto gap = largest_best_gap(SweepView(table, view_options(grid, baseline, table)));
  return gap ? std::optional{*gap - 1} : std::nullopt;
}

}  // namespace schedlab
