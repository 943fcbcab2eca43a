// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"
#include "notebooks_export/overlay.hpp"
#include "studies/base/version.hpp"
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t max_rows = 500;

std::string readable_us(double us) {
  return readable(from_us(us));
}
std::string range_us(const Interval& interval) {
  return fmt::format("{} .. {}", readable_us(interval.low), readable_us(interval.high));
}
std::string three_decimals(double value) {
  return fmt::format("{:.3f}", value);
}
std::string in_digits(std::size_t count) {
  return fmt::format("{}", count);
}

/// The report of a validation, section by section; `whole`: with pictures and single scenarios.
class ValidationPage {
 public:
  ValidationPage(const ValidationReport& report, bool whole)
      : report_(report),
        all_(report.validation),
        whole_(whole),
        page_(report.spec.name.empty() ? "Validation" : report.spec.name) {}

  [[nodiscard]] ReportDocument write() {
    if (whole_) write_answer();
    page_.paragraph(fmt::format("Predicted by schedlab {}, measured on {}, {}: {} in {}, {} "
                                "compared, {} interleaved runs each.",
                                program_version(),
                                report_.measured.device,
                                report_.measured.date,
                                counted(all_.scenarios.size(), "scenario"),
                                counted(all_.groups.size(), "group"),
                                all_.all.count,
                                report_.measured.repetitions),
                    Tone::lead);
    if (whole_) {
      for (const std::string& warning : report_.warnings) page_.paragraph(warning, Tone::warning);
    }
    for (const std::string& broken : report_.broken) {
      page_.paragraph(fmt::format("Not kept: {}.", broken), Tone::warning);
    }
    if (all_.all.count > 0) {
      write_errors();
      figure(policies_picture);
      write_speed();
      write_launch();
      write_dispatch();
      write_library();
      write_order();
      write_speed_ups();
      write_probabilities();
      write_budget();
    }
    if (!whole_) return std::move(page_);
    if (all_.all.count > 0) write_kinds();
    write_sensitivity();
    write_scenarios();
    page_.heading("The spec");
    page_.code(report_.spec.text);
    return std::move(page_);
  }

 private:
  void figure(std::string (*picture)(const ValidationReport&)) {
    if (whole_) page_.figure(picture(report_));
  }
  void write_answer() {
    if (all_.all.count == 0) return;
    std::string answer =
        fmt::format("Predicted makespans are off by {} (median of {}; 90th percentile {}).",
                    percent(all_.all.median),
                    counted(all_.all.count, "scenario"),
                    percent(all_.all.p90));
    if (all_.decidable > 0) {
      answer += fmt::format(
          " Of {} of policies that the measurement can tell apart, {} are in the "
          "predicted order.",
          counted(all_.decidable, "pair"),
          percent(all_.order.value));
    }
    answer += fmt::format(
        " Equal runs scatter by {} between their quartiles, which no prediction "
        "can beat.",
        percent(all_.spread));
    page_.paragraph(std::move(answer), Tone::lead);
    figure(makespans_picture);
    page_.link("Explore a run as predicted and as measured", "timeline.html");
  }
  void note(std::string text) { page_.paragraph(std::move(text), Tone::note); }
  void write_sensitivity() {
    if (!report_.sensitivity) return;
    add_sensitivity(page_, *report_.sensitivity, "Of two policies predicted to be closest: ");
  }

  void write_errors() {
    page_.heading("How good are the predictions?");
    PrintedTable table =
        empty_table({"makespan error", "scenarios", "median", "p90", "max", "bias"});
    const auto line = [&](const char* what, const ErrorSummary& errors) {
      if (errors.count == 0) return;
      table.rows.push_back({what,
                            in_digits(errors.count),
                            percent(errors.median),
                            percent(errors.p90),
                            percent(errors.max),
                            signed_percent(errors.bias)});
    };
    line("all", all_.all);
    if (all_.outside.count > 0) {
      line("inside the calibrated range", all_.inside);
      line("outside", all_.outside);
    }
    line("all, against the fastest run", all_.fastest);
    line("all, at the speed of the measurement", all_.at_speed);
    line("all, without disturbed rounds", all_.undisturbed);
    line("peak memory, where it was counted", all_.memory);
    page_.table(std::move(table));
    note(
        "Error: predicted / measured - 1, measured: median of the runs. Median, p90 and max are of "
        "absolute values, bias is the median with its sign.");
    page_.paragraph(fmt::format(
        "Equal runs scatter by {} between their quartiles (median of the scenarios).{}",
        percent(all_.spread),
        report_.measured.other_load ? fmt::format(" Other processes had {} of the cores meanwhile.",
                                                  percent(*report_.measured.other_load))
                                    : std::string{}));
    if (!all_.calibrated) {
      note(
          "The machine has no calibration: there are no prediction intervals, and nothing is known "
          "of the range in which its costs hold.");
      return;
    }
    page_.paragraph(fmt::format(
        "The 90 % prediction intervals hold {} of the measured medians (95 % certain: {} to {}), "
        "those of single runs {} of these.",
        percent(all_.coverage.value),
        percent(all_.coverage.low),
        percent(all_.coverage.high),
        percent(all_.run_coverage.value)));
  }

  void write_speed() {
    const SpeedSummary& speed = all_.speed;
    if (speed.checks == 0) return;
    page_.heading("How fast was the machine?");
    page_.paragraph(fmt::format(
        "Between the rounds the same kernels ran again {} times. They took {:.2f} times as long as "
        "when the machine was calibrated on one core, {:.2f} times on all cores together "
        "(medians); nine of ten speed checks were between {:.2f} and {:.2f}. {} of {} rounds were "
        "disturbed: a speed check beside them was more than {:.0f} % off the median.",
        speed.checks,
        speed.one_unit,
        speed.all_units,
        speed.p5,
        speed.p95,
        speed.disturbed,
        speed.rounds,
        100 * disturbed_by));
    if (all_.decidable > 0) {
      page_.paragraph(fmt::format(
          "At that speed {} of the decidable pairs are in the predicted order{}.",
          percent(all_.at_speed_order.value),
          all_.calibrated ? fmt::format(", and the 90 % intervals hold {} of the medians",
                                        percent(all_.at_speed_coverage.value))
                          : std::string{}));
    }
    figure(speed_picture);
    note(
        "The errors \"at the speed of the measurement\" above are of the same predictions with "
        "kernel times multiplied by what the speed checks say; no validated run has a part in "
        "that.");
  }

  void write_launch() {
    const LaunchGains& launch = report_.launch;
    if (launch.gains.empty()) return;
    page_.heading("What loading beforehand gains");
    if (whole_) {
      PrintedTable table =
          empty_table({"eager scenario", "mean operator", "predicted gain", "measured gain"});
      for (const LaunchGain& gain : launch.gains) {
        table.rows.push_back({all_.scenarios[gain.eager].name,
                              readable_us(gain.operator_us),
                              three_decimals(gain.predicted_gain),
                              three_decimals(gain.measured_gain)});
      }
      page_.table(std::move(table));
      note("Gain: eager makespan over that of the same tasks in device graphs.");
    }
    if (launch.crossovers.empty()) return;
    PrintedTable table = empty_table({"scenarios",
                                      "break-even operator, predicted",
                                      "measured",
                                      "of the fastest runs",
                                      "error"});
    const auto size = [](const std::optional<double>& us) {
      return us ? readable_us(*us) : std::string{"not within the grid"};
    };
    for (const LaunchCrossover& crossover : launch.crossovers) {
      const auto error = crossover.error();
      table.rows.push_back({crossover.name.empty() ? "all" : crossover.name,
                            size(crossover.predicted_us),
                            size(crossover.measured_us),
                            size(crossover.fastest_us),
                            error ? signed_percent(*error) : ""});
    }
    page_.table(std::move(table));
  }

  void write_dispatch() {
    if (report_.dispatch.empty()) return;
    page_.heading("What deciding at run time gains");
    PrintedTable table = empty_table({"scenario that is not dynamic",
                                      "measured",
                                      "dynamic, measured",
                                      "predicted gain",
                                      "measured gain",
                                      "decidable",
                                      "changed decisions"});
    for (const DispatchGain& gain : report_.dispatch) {
      const ScenarioOutcome& other = all_.scenarios[gain.other];
      const ScenarioOutcome& dynamic = all_.scenarios[gain.dynamic];
      table.rows.push_back({other.name,
                            readable_us(other.measured_us),
                            readable_us(dynamic.measured_us),
                            three_decimals(gain.predicted_gain),
                            three_decimals(gain.measured_gain),
                            gain.decidable ? "yes" : "no",
                            percent(dynamic.changed_decisions.value_or(0))});
    }
    page_.table(std::move(table));
    note(
        "Gain: makespan of the plan, or of a host that decides, over that of workers that take "
        "tasks themselves. Changed decisions: share of tasks behind another one on their worker "
        "than predicted.");
  }

  void write_library() {
    if (report_.library_name.empty()) return;
    page_.heading(fmt::format("Against {}", report_.library_name));
    if (report_.library.empty()) {
      page_.paragraph("No network of the baseline was measured.", Tone::warning);
      return;
    }
    PrintedTable table = empty_table({"network",
                                      "policy",
                                      "library",
                                      "fastest / library",
                                      "chosen / library",
                                      "regret",
                                      "chosen"},
                                     3);
    table.columns.back().is_number = false;
    for (const LibraryRow& row : report_.library) {
      table.rows.push_back({row.network,
                            row.policy.empty() ? "all" : row.policy,
                            fmt::format("{} ({}, {})",
                                        readable_us(row.library_us),
                                        row.variant.algorithm,
                                        row.variant.launch),
                            three_decimals(row.fastest_ratio()),
                            three_decimals(row.chosen_ratio()),
                            percent(row.regret()),
                            all_.scenarios[row.chosen].name});
    }
    page_.table(std::move(table));
    write_turns();
    note(
        "Measured times. Fastest: the best of all plans, known only after measuring; chosen: the "
        "plan that the simulation holds for the fastest; regret: what that costs.");
  }

  void write_turns() {
    PrintedTable table = turns_table(report_.library);
    if (table.rows.empty()) return;
    page_.table(std::move(table));
    note(
        "In turns, in one process: medians and their 95 % intervals. Drift: of the library's "
        "median since the baseline was measured.");
  }

  void write_order() {
    if (all_.pairs.empty()) return;
    page_.heading("Is the order of the policies right?");
    const auto share = static_cast<double>(all_.decidable) / static_cast<double>(all_.pairs.size());
    page_.paragraph(fmt::format(
        "{} of {} pairs of policies are decidable ({}): the 95 % intervals of their measured "
        "medians do not overlap. {}",
        all_.decidable,
        all_.pairs.size(),
        percent(share),
        all_.decidable == 0
            ? std::string{"Whether they are in the predicted order: n/a."}
            : fmt::format("Of these, {} are in the predicted order (95 % certain: {} to {}).",
                          percent(all_.order.value),
                          percent(all_.order.low),
                          percent(all_.order.high))));
    if (all_.group_tau) {
      page_.paragraph(fmt::format(
          "Kendall tau is {:.2f} in the median of the groups; taking the predicted best costs {} "
          "on average, {} at most.",
          *all_.group_tau,
          percent(all_.mean_regret),
          percent(all_.max_regret)));
    }
    if (!whole_) return;
    PrintedTable table =
        empty_table({"group", "Kendall tau", "regret", "predicted best", "measured best"});
    for (const GroupOutcome& group : all_.groups) {
      if (group.members.size() < 2) continue;
      table.rows.push_back({group.name.empty() ? "all" : group.name,
                            group.kendall_tau ? fmt::format("{:.2f}", *group.kendall_tau) : "",
                            percent(group.regret),
                            all_.scenarios[group.predicted_best].policy,
                            all_.scenarios[group.measured_best].policy});
    }
    page_.table(std::move(table));
    note(
        "Kendall tau: 1 where predicted and measured order agree, -1 where they are reversed. "
        "Regret: measured time of the predicted best over that of the measured best, minus 1.");
  }

  void write_speed_ups() {
    if (all_.speed_ups.empty()) return;
    page_.heading(fmt::format("Speed-up over {}", all_.baseline));
    PrintedTable by_policy = empty_table(
        {"policy", "groups", "predicted", "measured", "sign right", "of the decidable"});
    for (const PolicySummary& policy : all_.policies) {
      if (policy.speed_ups == 0) continue;
      by_policy.rows.push_back({policy.policy,
                                in_digits(policy.speed_ups),
                                three_decimals(policy.predicted_speed_up),
                                three_decimals(policy.measured_speed_up),
                                fmt::format("{} of {}", policy.signs_right, policy.speed_ups),
                                fmt::format("{} of {}", policy.decidable_right, policy.decidable)});
    }
    page_.table(std::move(by_policy));
    note("Predicted, measured: medians of the groups.");
    if (!whole_) return;
    PrintedTable table = empty_table({"scenario", "predicted", "measured", "sign", "decidable"});
    for (const SpeedUpOutcome& one : all_.speed_ups) {
      if (table.rows.size() == max_rows) break;
      table.rows.push_back({all_.scenarios[one.outcome].name,
                            three_decimals(one.predicted),
                            three_decimals(one.measured),
                            one.sign_agrees ? "right" : "wrong",
                            one.decidable ? "yes" : "no"});
    }
    small(std::move(table));
  }

  void write_probabilities() {
    if (all_.probabilities.count == 0) return;
    page_.heading("How sure is that?");
    page_.paragraph(fmt::format(
        "Probability that one policy is faster than another, from draws of the calibration's "
        "residuals. Brier score {:.3f} over {} pairs, {:.3f} over the {} decidable ones; 0 is "
        "always sure and right, 0.25 is a coin.",
        all_.probabilities.brier,
        all_.probabilities.count,
        all_.decidable_probabilities.brier,
        all_.decidable_probabilities.count));
    if (!whole_) return;
    PrintedTable table =
        empty_table({"predicted probability", "pairs", "mean prediction", "came true"});
    for (const ReliabilityBin& bin : all_.probabilities.bins) {
      table.rows.push_back({fmt::format("{:.1f} to {:.1f}", bin.low, bin.high),
                            in_digits(bin.count),
                            bin.count == 0 ? "" : fmt::format("{:.2f}", bin.predicted),
                            bin.count == 0 ? "" : fmt::format("{:.2f}", bin.observed)});
    }
    page_.table(std::move(table));
    figure(reliability_picture);
  }

  void write_budget() {
    page_.heading("Where the error comes from");
    PrintedTable table = empty_table({"part", "median", "median of absolute values"});
    for (std::size_t part = 0; part < error_part_count; ++part) {
      table.rows.push_back({std::string{to_string(static_cast<ErrorPart>(part))},
                            signed_percent(all_.budget.at(part).bias),
                            percent(all_.budget.at(part).absolute)});
    }
    page_.table(std::move(table));
    note(
        "In % of the measured makespan, along the critical path of the measured run nearest to the "
        "median. kernel_time, memory: kernels alone; contention: slow-down by kernels that run at "
        "the same time; host: the device waits for the host; gaps: pauses between tasks; noise: "
        "the part of the rest within the uncertainty of the median; rest: the critical paths of "
        "the two runs differ; drift: the machine was faster or slower than when it was calibrated, "
        "by the speed checks.");
    figure(budget_picture);
  }

  void write_kinds() {
    page_.heading("Task by task");
    PrintedTable table = empty_table({"kind",
                                      "scenarios",
                                      "tasks",
                                      "duration error p50",
                                      "p90",
                                      "start error p50",
                                      "p90",
                                      "bias of durations"});
    for (const KindSummary& kind : all_.kinds) {
      table.rows.push_back({kind.kind,
                            in_digits(kind.scenarios),
                            in_digits(kind.tasks),
                            percent(kind.duration_p50),
                            percent(kind.duration_p90),
                            percent(kind.start_p50, 2),
                            percent(kind.start_p90, 2),
                            signed_percent(kind.bias)});
    }
    page_.table(std::move(table));
    note(
        "Medians over the scenarios. Duration errors are relative to the task's measured duration, "
        "start errors to the measured makespan; bias: sum of predicted over sum of measured "
        "durations, minus 1.");
    const ScenarioOutcome& shown = all_.scenarios[report_.shown];
    page_.heading(fmt::format("Scenario {}: {}", shown.scenario, shown.name), 3);
    const auto [simulated, real] = overlaid_documents(*report_.predicted[shown.scenario].run,
                                                      report_.measured.scenarios[shown.scenario],
                                                      shown.name);
    page_.figure(overlay_svg(simulated, real));
  }

  void write_scenarios() {
    page_.heading("All scenarios");
    PrintedTable table = empty_table({"scenario",
                                      "predicted",
                                      "90 % interval",
                                      "measured",
                                      "95 % interval",
                                      "error",
                                      "range",
                                      "runs",
                                      "note"});
    table.columns.back().is_number = false;
    for (const ScenarioOutcome& outcome : all_.scenarios) {
      if (table.rows.size() == max_rows) break;
      const bool compared = outcome.compared();
      table.rows.push_back({outcome.name,
                            compared ? readable_us(outcome.predicted_us) : "",
                            compared && outcome.predicted_90 ? range_us(*outcome.predicted_90) : "",
                            compared ? readable_us(outcome.measured_us) : "",
                            compared ? range_us(outcome.measured_95) : "",
                            compared ? signed_percent(outcome.error) : "",
                            compared ? outcome.in_calibrated_range ? "inside" : "outside" : "",
                            in_digits(outcome.runs),
                            outcome.note});
    }
    small(std::move(table));
    if (all_.scenarios.size() <= max_rows) return;
    note(
        fmt::format("The first {} of {}; scenarios.csv has all.", max_rows, all_.scenarios.size()));
  }

  void small(PrintedTable table) {
    table.small_print = true;
    page_.table(std::move(table));
  }

  const ValidationReport& report_;
  const Validation& all_;
  bool whole_;
  ReportDocument page_;
};

}  // namespace

ReportDocument validation_document(const ValidationReport& report, bool whole) {
  return ValidationPage{report, whole}.write();
}

}  // namespace schedlab
