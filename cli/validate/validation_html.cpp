// SPDX-License-Identifier: Apache-2.0
#include "cli/axis_label.hpp"
#include "cli/validate/validation_files.hpp"
#include "cli/version.hpp"
#include "notebooks_export/axis.hpp"
#include "notebooks_export/html_style.hpp"
#include "notebooks_export/overlay.hpp"
#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

constexpr std::size_t most_table_rows = 500;

std::string percent(double share, int decimals = 1) {
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}
std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}
std::string time_of(double us) {
  return readable(from_us(us));
}

/// The report of a validation, section by section.
class ValidationPage {
 public:
  explicit ValidationPage(const ValidationReport& report)
      : report_(report), all_(report.validation) {}

  [[nodiscard]] std::string write() {
    const std::string title =
        report_.spec.name.empty() ? std::string{"Validation"} : report_.spec.name;
    out_ << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>";
    out_.xml(title) << "</title>\n<style>" << html_style << "</style>\n</head>\n<body>\n";
    element("h1", title);
    element("p",
            fmt::format("Predicted by schedlab {}, measured on {}, {}: {} scenarios, {} "
                        "interleaved runs each.",
                        program_version(),
                        report_.measured.device,
                        report_.measured.date,
                        all_.scenarios.size(),
                        report_.measured.repetitions),
            "lead");
    for (const std::string& warning : report_.warnings) element("p", warning, "warning");
    for (const std::string& broken : report_.broken) {
      element("p", fmt::format("Not kept: {}.", broken), "warning");
    }
    if (all_.all.count > 0) {
      write_summary();
      figure(makespans_picture(report_));
      figure(policies_picture(report_));
      write_speed();
      write_launch();
      write_library();
      write_order();
      write_probabilities();
      write_budget();
      write_kinds();
    }
    write_scenarios();
    element("h2", "The spec");
    element("pre", report_.spec.text);
    out_ << "</body>\n</html>\n";
    return std::move(out_).take();
  }

 private:
  void element(std::string_view tag, std::string_view text, std::string_view css_class = {}) {
    html_element(out_, tag, text, css_class);
    out_ << '\n';
  }
  void figure(const std::string& svg) { out_ << "<figure>\n" << svg << "</figure>\n"; }
  void head(const std::vector<std::string>& names) {
    out_ << "<div class=\"scroll\"><table class=\"all\">\n<tr>";
    for (const std::string& name : names) element("th", name);
    out_ << "</tr>\n";
  }
  void row(const std::vector<std::string>& cells, std::size_t words) {
    out_ << "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) element("td", cells[i], i < words ? "" : "n");
    out_ << "</tr>\n";
  }
  void end() { out_ << "</table></div>\n"; }

  void write_summary() {
    element("h2", "How good are the predictions?");
    head({"makespan error", "scenarios", "median", "90 % below", "most", "bias"});
    const auto line = [&](const char* what, const ErrorSummary& errors) {
      if (errors.count == 0) return;
      row({what,
           fmt::format("{}", errors.count),
           percent(errors.median),
           percent(errors.p90),
           percent(errors.most),
           signed_percent(errors.bias)},
          1);
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
    end();
    element("p",
            "Error: predicted / measured - 1, measured: median of the runs. Median, 90 % and most "
            "are of absolute values, bias is the median with its sign.",
            "note");
    element("p",
            fmt::format("Equal runs scatter by {} between their quartiles (median of the "
                        "scenarios).{}",
                        percent(all_.spread),
                        report_.measured.other_load
                            ? fmt::format(" Other processes had {} of the cores meanwhile.",
                                          percent(*report_.measured.other_load))
                            : std::string{}));
    if (!all_.calibrated) {
      element("p",
              "The machine has no calibration: there are no prediction intervals, and nothing is "
              "known of the range in which its costs hold.",
              "note");
      return;
    }
    element("p",
            fmt::format("The 90 % prediction intervals hold {} of the measured medians (95 % "
                        "certain: {} to {}), those of single runs {} of these.",
                        percent(all_.coverage.value),
                        percent(all_.coverage.low),
                        percent(all_.coverage.high),
                        percent(all_.run_coverage.value)));
  }

  void write_launch() {
    const LaunchGains& launch = report_.launch;
    if (launch.gains.empty()) return;
    element("h2", "What loading beforehand gains");
    head({"eager scenario", "mean operator", "predicted gain", "measured gain"});
    for (const LaunchGain& gain : launch.gains) {
      row({all_.scenarios[gain.eager].name,
           time_of(gain.operator_us),
           fmt::format("{:.3f}", gain.predicted_gain),
           fmt::format("{:.3f}", gain.measured_gain)},
          1);
    }
    end();
    element("p", "Gain: eager makespan over that of the same tasks in device graphs.", "note");
    if (launch.crossovers.empty()) return;
    head({"scenarios",
          "break-even operator, predicted",
          "measured",
          "of the fastest runs",
          "error"});
    for (const LaunchCrossover& crossover : launch.crossovers) {
      const auto size = [](const std::optional<double>& us) {
        return us ? time_of(*us) : std::string{"not within the grid"};
      };
      const auto error = crossover.error();
      row({crossover.name,
           size(crossover.predicted_us),
           size(crossover.measured_us),
           size(crossover.fastest_us),
           error ? signed_percent(*error) : std::string{}},
          1);
    }
    end();
  }

  void write_library() {
    if (report_.library.empty()) return;
    element("h2", "Against the library's own routine");
    head({"network",
          "policy",
          "library",
          "fastest / library",
          "chosen / library",
          "regret",
          "chosen"});
    for (const LibraryRow& line_of : report_.library) {
      row({line_of.network,
           line_of.policy.empty() ? "(all)" : line_of.policy,
           fmt::format("{} ({}, {})",
                       time_of(line_of.library_us),
                       line_of.variant.algorithm,
                       line_of.variant.launch),
           fmt::format("{:.3f}", line_of.fastest_ratio()),
           fmt::format("{:.3f}", line_of.chosen_ratio()),
           percent(line_of.regret()),
           all_.scenarios[line_of.chosen].name},
          3);
    }
    end();
    element(
        "p",
        "Measured times. Fastest: the best of all plans, known only after measuring; chosen: the "
        "plan that the simulation holds for the fastest; regret: what that costs.",
        "note");
  }

  void write_speed() {
    const SpeedSummary& speed = all_.speed;
    if (speed.probes == 0) return;
    element("h2", "How fast was the machine?");
    element("p",
            fmt::format(
                "Between the rounds the same kernels ran again {} times. They took {:.2f} times as "
                "long as when the machine was calibrated on one core, {:.2f} times on all cores "
                "together (medians); nine of ten probes were between {:.2f} and {:.2f}. {} of {} "
                "rounds were disturbed: a probe beside them was more than {:.0f} % off the median.",
                speed.probes,
                speed.one_unit,
                speed.all_units,
                speed.p5,
                speed.p95,
                speed.disturbed,
                speed.rounds,
                100 * disturbed_by));
    figure(speed_picture(report_));
    element("p",
            "The errors \"at the speed of the measurement\" above are of the same predictions with "
            "kernel times multiplied by what the probes say; no validated run has a part in that.",
            "note");
  }

  void write_order() {
    if (all_.pairs.empty()) return;
    element("h2", "Is the order of the policies right?");
    element("p",
            fmt::format("{} of {} pairs of policies are decidable ({}): the 95 % intervals of "
                        "their measured medians do not overlap. Of these, {} are in the predicted "
                        "order (95 % certain: {} to {}).",
                        all_.decidable,
                        all_.pairs.size(),
                        percent(static_cast<double>(all_.decidable) /
                                static_cast<double>(all_.pairs.size())),
                        percent(all_.order.value),
                        percent(all_.order.low),
                        percent(all_.order.high)));
    head({"group", "Kendall tau", "regret", "predicted best", "measured best"});
    for (const GroupOutcome& group : all_.groups) {
      if (group.members.size() < 2) continue;
      row({group.name.empty() ? "(all)" : group.name,
           group.kendall_tau ? fmt::format("{:.2f}", *group.kendall_tau) : "",
           percent(group.regret),
           all_.scenarios[group.predicted_best].policy,
           all_.scenarios[group.measured_best].policy},
          1);
    }
    end();
    element("p",
            "Kendall tau: 1 where predicted and measured order agree, -1 where they are reversed. "
            "Regret: measured time of the predicted best over that of the measured best, minus 1.",
            "note");
    if (all_.speed_ups.empty()) return;
    element("h2", fmt::format("Speed-up over {}", all_.baseline));
    head({"policy",
          "groups",
          "predicted, median",
          "measured, median",
          "sign right",
          "of the decidable"});
    for (const PolicySummary& policy : all_.policies) {
      if (policy.speed_ups == 0) continue;
      row({policy.policy,
           fmt::format("{}", policy.speed_ups),
           fmt::format("{:.3f}", policy.predicted_speed_up),
           fmt::format("{:.3f}", policy.measured_speed_up),
           fmt::format("{} of {}", policy.signs_right, policy.speed_ups),
           fmt::format("{} of {}", policy.decidable_right, policy.decidable)},
          1);
    }
    end();
    head({"scenario", "predicted", "measured", "sign", "decidable"});
    std::size_t shown = 0;
    for (const SpeedUpOutcome& one : all_.speed_ups) {
      if (shown++ == most_table_rows) break;
      row({all_.scenarios[one.outcome].name,
           fmt::format("{:.3f}", one.predicted),
           fmt::format("{:.3f}", one.measured),
           one.sign_agrees ? "right" : "wrong",
           one.decidable ? "yes" : "no"},
          1);
    }
    end();
  }

  void write_probabilities() {
    if (all_.probabilities.count == 0) return;
    element("h2", "How sure is that?");
    element("p",
            fmt::format("Probability that one policy is faster than another, from draws of the "
                        "calibration's residuals. Brier score {:.3f} over {} pairs, {:.3f} over "
                        "the {} decidable ones; 0 is always sure and right, 0.25 is a coin.",
                        all_.probabilities.brier,
                        all_.probabilities.count,
                        all_.decidable_probabilities.brier,
                        all_.decidable_probabilities.count));
    head({"predicted probability", "pairs", "mean prediction", "came true"});
    for (const ReliabilityBin& bin : all_.probabilities.bins) {
      row({fmt::format("{:.1f} to {:.1f}", bin.low, bin.high),
           fmt::format("{}", bin.count),
           bin.count == 0 ? "" : fmt::format("{:.2f}", bin.predicted),
           bin.count == 0 ? "" : fmt::format("{:.2f}", bin.observed)},
          1);
    }
    end();
    figure(reliability_picture(report_));
  }

  void write_budget() {
    element("h2", "Where the error comes from");
    head({"part", "median of all scenarios", "median of absolute values"});
    for (std::size_t part = 0; part < error_part_count; ++part) {
      row({std::string{to_string(static_cast<ErrorPart>(part))},
           signed_percent(all_.budget.at(part).bias),
           percent(all_.budget.at(part).absolute)},
          1);
    }
    end();
    element(
        "p",
        "In % of the measured makespan, along the critical path of the measured run nearest "
        "to the median. kernel_time, memory: kernels alone; contention: what company costs; "
        "host: the device waits for the host; gaps: pauses between tasks; noise: as much of "
        "the unexplained as the median may be off; rest: the two runs went different ways; drift: "
        "the machine was faster or slower than when it was calibrated, by the probes.",
        "note");
    figure(budget_picture(report_));
  }

  void write_kinds() {
    element("h2", "Task by task");
    head({"kind",
          "scenarios",
          "tasks",
          "duration error p50",
          "p90",
          "start error p50",
          "p90",
          "bias of durations"});
    for (const KindSummary& kind : all_.kinds) {
      row({kind.kind,
           fmt::format("{}", kind.scenarios),
           fmt::format("{}", kind.tasks),
           percent(kind.duration_p50),
           percent(kind.duration_p90),
           percent(kind.start_p50, 2),
           percent(kind.start_p90, 2),
           signed_percent(kind.bias)},
          1);
    }
    end();
    element("p",
            "Medians over the scenarios. Duration errors are relative to the task's measured "
            "duration, start errors to the measured makespan; bias: sum of predicted over sum of "
            "measured durations, minus 1.",
            "note");
    const ScenarioOutcome& shown = all_.scenarios[report_.shown];
    element("h3", fmt::format("Scenario {}: {}", shown.scenario, shown.name));
    const MeasuredScenario& measured = report_.measured.scenarios[shown.scenario];
    const FullRun& run = *report_.predicted[shown.scenario].run;
    const auto [simulated, real] = overlaid_documents(run, measured, shown.name);
    figure(overlay_svg(simulated, real));
  }

  void write_scenarios() {
    element("h2", "All scenarios");
    head({"scenario",
          "predicted",
          "90 % interval",
          "measured",
          "95 % interval",
          "error",
          "range",
          "runs",
          "note"});
    std::size_t shown = 0;
    for (const ScenarioOutcome& outcome : all_.scenarios) {
      if (shown++ == most_table_rows) break;
      if (!outcome.compared()) {
        row({outcome.name, "", "", "", "", "", "", fmt::format("{}", outcome.runs), outcome.note},
            1);
        continue;
      }
      const auto range = [](const Interval& interval) {
        return fmt::format("{} .. {}", time_of(interval.low), time_of(interval.high));
      };
      row({outcome.name,
           time_of(outcome.predicted_us),
           outcome.predicted_90 ? range(*outcome.predicted_90) : "",
           time_of(outcome.measured_us),
           range(outcome.measured_95),
           signed_percent(outcome.error),
           outcome.inside_hull ? "inside" : "outside",
           fmt::format("{}", outcome.runs),
           ""},
          1);
    }
    end();
    if (all_.scenarios.size() > most_table_rows) {
      element(
          "p",
          fmt::format(
              "The first {} of {}; scenarios.csv has all.", most_table_rows, all_.scenarios.size()),
          "note");
    }
  }

  const ValidationReport& report_;
  const Validation& all_;
  TextBuffer out_;
};

}  // namespace

std::string validation_html(const ValidationReport& report) {
  return ValidationPage{report}.write();
}

}  // namespace schedlab
