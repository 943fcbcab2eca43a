// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/chart.hpp"
#include "notebooks_export/chart_parts.hpp"
#include "notebooks_export/chart_scatter.hpp"
#include "notebooks_export/chart_spans.hpp"
#include "notebooks_export/palette.hpp"
#include "sim/trace/document.hpp"
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace schedlab {
namespace {

constexpr double shaded_error = 0.05;  // assumed: what is small beside the gains of policies

/// Compared, and with times that can be drawn.
bool drawn(const ScenarioOutcome& outcome) {
  return outcome.compared() && outcome.measured_us > 0 && outcome.predicted_us > 0;
}

/// Drawn outcomes by policy, in the order of their first appearance.
std::vector<std::pair<std::string, std::vector<const ScenarioOutcome*>>> by_policy(
    const Validation& validation) {
  std::vector<std::pair<std::string, std::vector<const ScenarioOutcome*>>> policies;
  for (const ScenarioOutcome& outcome : validation.scenarios) {
    if (!drawn(outcome)) continue;
    auto found = std::find_if(policies.begin(), policies.end(), [&](const auto& entry) {
      return entry.first == outcome.policy;
    });
    if (found == policies.end()) {
      found = policies.insert(policies.end(), {outcome.policy, {}});
    }
    found->second.push_back(&outcome);
  }
  return policies;
}

}  // namespace

std::pair<TraceDocument, TraceDocument> overlaid_documents(const FullRun& run,
                                                           const MeasuredScenario& measured,
                                                           const std::string& title) {
  const Problem problem = run.scenario.problem->problem();
  const Plan& plan = measured.plans.empty() ? run.plan : measured.plans.front();
  return {make_document(problem, run.plan, run.trace, title, "simulated"),
          make_document(problem, plan, measured.traces.front(), title, "measured")};
}

std::string makespans_picture(const ValidationReport& report) {
  ScatterFigure figure;
  figure.title = "Predicted and measured makespan";
  figure.subtitle =
      fmt::format("lines across: 95 % of the measured median{}; band: {:.0f} %",
                  report.validation.calibrated ? ", upright: 90 % of the prediction" : "",
                  100 * shaded_error);
  figure.x_label = "measured makespan, median (ms)";
  figure.y_label = "predicted makespan (ms)";
  figure.logarithmic = true;
  figure.band = shaded_error;
  constexpr double ms = 1e-3;
  for (const auto& [policy, outcomes] : by_policy(report.validation)) {
    ScatterSeries& series = figure.series.emplace_back();
    series.name = policy;
    for (const ScenarioOutcome* outcome : outcomes) {
      ScatterPoint point{.x = outcome->measured_us * ms,
                         .y = outcome->predicted_us * ms,
                         .x_low = outcome->measured_95.low * ms,
                         .x_high = outcome->measured_95.high * ms,
                         .hollow = !outcome->in_calibrated_range};
      point.y_low = outcome->predicted_90 ? outcome->predicted_90->low * ms : point.y;
      point.y_high = outcome->predicted_90 ? outcome->predicted_90->high * ms : point.y;
      if (point.hollow) figure.hollow_name = "hollow: outside the calibrated range";
      series.points.push_back(point);
    }
  }
  return scatter_figure_svg(figure);
}

std::string policies_picture(const ValidationReport& report) {
  SpanFigure figure;
  figure.title = "Error by policy";
  figure.subtitle = "thin: all scenarios; thick: middle half; dot: median; dashed: no error";
  figure.x_label = "predicted / measured makespan";
  figure.reference = 1;
  std::size_t color = 0;
  for (const auto& [policy, outcomes] : by_policy(report.validation)) {
    std::vector<double> ratios;
    for (const ScenarioOutcome* outcome : outcomes) ratios.push_back(1 + outcome->error);
    std::sort(ratios.begin(), ratios.end());
    figure.rows.push_back({.name = policy,
                           .note = fmt::format("{:+.1f} %", 100 * (percentile(ratios, 0.5) - 1)),
                           .color = std::string{series_color(color++)},
                           .low = ratios.front(),
                           .lower_quartile = percentile(ratios, 0.25),
                           .median = percentile(ratios, 0.5),
                           .upper_quartile = percentile(ratios, 0.75),
                           .high = ratios.back(),
                           .target = {},
                           .target_low = {},
                           .target_high = {}});
  }
  return span_figure_svg(figure);
}

std::string budget_picture(const ValidationReport& report) {
  PartsFigure figure;
  figure.title = "Where the error of each prediction comes from";
  figure.subtitle =
      "the parts of a bar add up to the black mark, the error; to the right: predicted too long";
  figure.x_label = "% of the measured makespan";
  for (std::size_t part = 0; part < error_part_count; ++part) {
    std::string name{to_string(static_cast<ErrorPart>(part))};
    std::replace(name.begin(), name.end(), '_', ' ');
    figure.part_names.push_back(std::move(name));
  }
  for (const ScenarioOutcome& outcome : report.validation.scenarios) {
    if (!drawn(outcome)) continue;
    PartsRow& row = figure.rows.emplace_back();
    row.name = fmt::format("{}: {}", outcome.scenario, outcome.name);
    for (const Duration part : outcome.comparison.budget.parts) {
      row.parts.push_back(100 * to_us(part) / outcome.measured_us);
    }
  }
  return parts_figure_svg(figure);
}

std::string speed_picture(const ValidationReport& report) {
  Series one{.name = "one core", .points = {}};
  Series all{.name = "all cores together", .points = {}};
  for (const SpeedCheck& check : report.measured.speed_checks) {
    one.points.push_back({.x = check.at_s, .y = check.reading.one_unit()});
    all.points.push_back({.x = check.at_s, .y = check.reading.all_units()});
  }
  LineFigure figure;
  figure.title = "Speed of the machine during the measurement";
  figure.subtitle =
      "the same kernels again and again; above the dashed line: slower than when calibrated";
  figure.x_label = "time since the start of the measurement (s)";
  figure.y_label = "kernel time over calibrated time";
  figure.reference_y = 1;
  figure.continuous_x = true;
  figure.panels.push_back({.title = "", .series = {std::move(one), std::move(all)}});
  return line_figure_svg(figure);
}

std::string reliability_picture(const ValidationReport& report) {
  ScatterFigure figure;
  figure.title = "Is the probability that a policy is faster right?";
  figure.subtitle = "pairs of about one probability: what came true, with 95 % intervals";
  figure.x_label = "predicted probability of the likelier order";
  figure.y_label = "share that came true";
  figure.side = 420;
  // Beside each other where both have the same pairs.
  const auto add = [&](const char* name, const ProbabilityScore& score, double shift) {
    ScatterSeries& series = figure.series.emplace_back();
    series.name = name;
    for (const ReliabilityBin& bin : score.bins) {
      if (bin.count == 0) continue;
      const Proportion share = proportion(bin.observed * static_cast<double>(bin.count), bin.count);
      series.points.push_back({.x = bin.predicted + shift,
                               .y = bin.observed,
                               .x_low = bin.predicted + shift,
                               .x_high = bin.predicted + shift,
                               .y_low = share.low,
                               .y_high = share.high});
    }
  };
  add("all pairs", report.validation.probabilities, -0.005);
  add("decidable pairs", report.validation.decidable_probabilities, 0.005);
  return scatter_figure_svg(figure);
}

}  // namespace schedlab
