// SPDX-License-Identifier: Apache-2.0
#include "studies/search/search_files.hpp"

#include "notebooks_export/chart.hpp"
#include "sim/base/file.hpp"
#include "sim/launch/launch.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/sweep/field_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr const char* search_file_name = "search.json";
constexpr const char* improvements_file_name = "improvements.csv";
constexpr const char* picture_file_name = "search.svg";

const Fields<Improvement>& improvement_fields() {
  static const Fields<Improvement> fields{
      {"evaluations", &Improvement::evaluations, {.doc = "plans simulated until then"}},
      time_fields<Improvement>("makespan", &Improvement::makespan)};
  return fields;
}

const Fields<ScatteredTimes>& scattered_fields() {
  using S = ScatteredTimes;
  static const Fields<S> fields{
      {"objective", &S::objective, {.doc = "over the samples; improvements are of it"}},
      {"samples", &S::samples},
      time_fields<S>("makespan", &S::found, {.doc = "of the plan found"}),
      time_fields<S>("policy_makespan", &S::policy),
      time_fields<S>("bound", &S::bound, {.doc = "no plan has less on the same draws"})};
  return fields;
}

/// What the search makes small: of the plan found, and what no plan goes below.
Duration objective_found(const FoundSchedule& found) {
  return found.scattered ? found.scattered->found : found.makespan;
}
Duration objective_bound(const FoundSchedule& found) {
  return found.scattered ? found.scattered->bound : found.case_bounds.largest();
}

std::string compared(Duration found, Duration policy) {
  const double saved = 1 - to_us(found) / to_us(policy);
  if (found < policy) return fmt::format("{:.2f} % shorter", 100 * saved);
  return found == policy ? "no shorter" : fmt::format("{:.2f} % longer", -100 * saved);
}

const std::string& launch_name(const FoundSchedule& found) {
  return launch_infos()[static_cast<std::size_t>(found.scenario.launch.mode)].name;
}

std::string bound_text(const FoundSchedule& found) {
  if (found.gap() == 0) return "no bound: what tasks take depends on what caches hold";
  return fmt::format(
      "{} (by {}, {:.3f} us)",
      found.proven_optimal()
          ? "proven optimal"
          : fmt::format("no schedule is more than {:.2f} % shorter", 100 * (1 - 1 / found.gap())),
      found.case_bounds.largest_name(),
      to_us(found.case_bounds.largest()));
}

std::string scattered_text(const ScatteredTimes& times) {
  return fmt::format(
      "  {} of {} samples {:.3f} us, {} than that policy's ({:.3f} us); no schedule is more than "
      "{:.2f} % shorter\n",
      to_string(times.objective),
      times.samples,
      to_us(times.found),
      compared(times.found, times.policy),
      to_us(times.policy),
      100 * (1 - to_us(times.bound) / to_us(times.found)));
}

}  // namespace

const Fields<FoundSchedule>& found_fields() {
  using F = FoundSchedule;
  static const Fields<F> fields{
      time_fields<F>("makespan", &F::makespan, {.doc = "of the plan found"}),
      {"policy", &F::begun_with, {.doc = "the best policy that the search began with"}},
      time_fields<F>("policy_makespan", &F::begun_at),
      time_fields<F>("case_bound",
                     [](const F& f) { return f.case_bounds.largest(); },
                     {.doc = "no schedule is shorter, whatever was chosen"}),
      {"case_bound", [](const F& f) { return f.case_bounds.largest_name(); }},
      {"case_gap", &F::gap, {.doc = "makespan over that bound"}},
      {"proven_optimal", &F::proven_optimal},
      {"evaluations", &F::evaluations},
      {"streams", [](const F& f) { return f.plan.streams.size(); }},
      {"granularity",
       &F::granularity,
       {.doc = "of the tasks of the plan; empty: the workload has no such option"}},
      {"launch", &launch_name, {.doc = "of the plan found"}},
      {"max_nodes",
       [](const F& f) { return f.scenario.launch.max_nodes; },
       {.doc = "of each of its device graphs; 0: no limit"}},
      {"choices", &F::choices, {.doc = "of launch and of how the workload is cut"}},
      {"scattered", &F::scattered, scattered_fields()},
      {"bounds", &F::bounds, witness_fields()},
      {"improvements", &F::improvements, improvement_fields()}};
  return fields;
}

std::string search_picture(const FoundSchedule& found) {
  const double end = std::max<double>(1, static_cast<double>(found.evaluations));
  Series best{.name = "best plan", .points = {}};
  for (const Improvement& step : found.improvements) {
    const auto at = static_cast<double>(step.evaluations);
    if (!best.points.empty()) best.points.push_back({at, best.points.back().y});
    best.points.push_back({at, to_us(step.makespan)});
  }
  best.points.push_back({end, best.points.back().y});
  std::vector<Series> series{best};
  const double bound = to_us(objective_bound(found));
  std::string subtitle = "without a bound";
  if (bound > 0) {
    series.push_back({.name = "certified bound", .points = {{0, bound}, {end, bound}}});
    subtitle = fmt::format("no schedule is below the bound; the plan found is {:.2f} % above it",
                           100 * (to_us(objective_found(found)) / bound - 1));
  }
  return line_figure_svg({.title = "Best plan and bound",
                          .subtitle = subtitle,
                          .x_label = "evaluations",
                          .y_label = found.scattered
                                         ? fmt::format("{} of the makespans (us)",
                                                       to_string(found.scattered->objective))
                                         : "makespan (us)",
                          .panels = {{.title = "", .series = std::move(series)}},
                          .continuous_x = true});
}

std::string search_json(const FoundSchedule& found) {
  return found_fields().json(found).dump(2) + "\n";
}

std::vector<std::string> write_search(const std::filesystem::path& folder,
                                      const FoundSchedule& found) {
  const TaskGraph& planned = *found.scenario.problem->part_to_plan().graph;
  write_file_atomically(folder / plan_file_name, plan_to_json(found.plan, planned));
  write_file_atomically(folder / search_file_name, search_json(found));
  write_file_atomically(folder / improvements_file_name,
                        table_csv(table_of(improvement_fields(), found.improvements)));
  write_file_atomically(folder / picture_file_name, search_picture(found));
  return {plan_file_name, search_file_name, improvements_file_name, picture_file_name};
}

std::string search_text(const FoundSchedule& found,
                        const std::string& folder,
                        const std::vector<std::string>& files) {
  std::string text = fmt::format("makespan {:.3f} us, {} than {} ({:.3f} us)\n  {}\n",
                                 to_us(found.makespan),
                                 compared(found.makespan, found.begun_at),
                                 found.begun_with,
                                 to_us(found.begun_at),
                                 bound_text(found));
  if (found.scattered && found.scattered->bound > Duration{0}) {
    text += scattered_text(*found.scattered);
  }
  text += fmt::format("  {} evaluations in {:.1f} s, {} streams",
                      found.evaluations,
                      found.seconds,
                      found.plan.streams.size());
  if (!found.granularity.empty()) text += fmt::format(", granularity {}", found.granularity);
  if (found.choices > 1) {
    const std::uint32_t nodes = found.scenario.launch.max_nodes;
    text += fmt::format(", launch {}{}: the best of {} choices",
                        launch_name(found),
                        nodes == 0 ? "" : fmt::format(" of up to {} nodes", nodes),
                        found.choices);
  }
  return text + fmt::format("\n  {}: {}\n", folder, fmt::join(files, ", "));
}

}  // namespace schedlab
