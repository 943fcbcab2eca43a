// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/overlay.hpp"
#include "studies/base/version.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/validation/validation_page.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {
namespace {

/// The report of a validation, section by section.
class ValidationPage {
 public:
  explicit ValidationPage(const ValidationReport& report)
      : report_(report), all_(report.validation) {}

  [[nodiscard]] std::string write() {
    const std::string title =
        report_.spec.name.empty() ? std::string{"Validation"} : report_.spec.name;
    page_.begin(title);
    page_.element("h1", title);
    page_.element("p",
                  fmt::format("Predicted by schedlab {}, measured on {}, {}: {} scenarios, {} "
                              "interleaved runs each.",
                              program_version(),
                              report_.measured.device,
                              report_.measured.date,
                              all_.scenarios.size(),
                              report_.measured.repetitions),
                  "lead");
    for (const std::string& warning : report_.warnings) page_.element("p", warning, "warning");
    for (const std::string& broken : report_.broken) {
      page_.element("p", fmt::format("Not kept: {}.", broken), "warning");
    }
    if (all_.all.count > 0) {
      write_summary();
      page_.figure(makespans_picture(report_));
      page_.figure(policies_picture(report_));
      write_speed();
      write_launch();
      write_library();
      write_order_sections(report_, page_);
      write_budget();
      write_kinds();
    }
    write_scenarios();
    page_.element("h2", "The spec");
    page_.element("pre", report_.spec.text);
    return page_.take();
  }

 private:
  void write_summary() {
    page_.element("h2", "How good are the predictions?");
    page_.head({"makespan error", "scenarios", "median", "90 % below", "most", "bias"});
    const auto line = [&](const char* what, const ErrorSummary& errors) {
      if (errors.count == 0) return;
      page_.row({what,
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
    page_.end();
    page_.element(
        "p",
        "Error: predicted / measured - 1, measured: median of the runs. Median, 90 % and most "
        "are of absolute values, bias is the median with its sign.",
        "note");
    page_.element("p",
                  fmt::format("Equal runs scatter by {} between their quartiles (median of the "
                              "scenarios).{}",
                              percent(all_.spread),
                              report_.measured.other_load
                                  ? fmt::format(" Other processes had {} of the cores meanwhile.",
                                                percent(*report_.measured.other_load))
                                  : std::string{}));
    if (!all_.calibrated) {
      page_.element(
          "p",
          "The machine has no calibration: there are no prediction intervals, and nothing is "
          "known of the range in which its costs hold.",
          "note");
      return;
    }
    page_.element("p",
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
    page_.element("h2", "What loading beforehand gains");
    page_.head({"eager scenario", "mean operator", "predicted gain", "measured gain"});
    for (const LaunchGain& gain : launch.gains) {
      page_.row({all_.scenarios[gain.eager].name,
                 readable_us(gain.operator_us),
                 fmt::format("{:.3f}", gain.predicted_gain),
                 fmt::format("{:.3f}", gain.measured_gain)},
                1);
    }
    page_.end();
    page_.element(
        "p", "Gain: eager makespan over that of the same tasks in device graphs.", "note");
    if (launch.crossovers.empty()) return;
    page_.head({"scenarios",
                "break-even operator, predicted",
                "measured",
                "of the fastest runs",
                "error"});
    for (const LaunchCrossover& crossover : launch.crossovers) {
      const auto size = [](const std::optional<double>& us) {
        return us ? readable_us(*us) : std::string{"not within the grid"};
      };
      const auto error = crossover.error();
      page_.row({crossover.name,
                 size(crossover.predicted_us),
                 size(crossover.measured_us),
                 size(crossover.fastest_us),
                 error ? signed_percent(*error) : std::string{}},
                1);
    }
    page_.end();
  }

  void write_library() {
    if (report_.library.empty()) return;
    page_.element("h2", "Against the library's own routine");
    page_.head({"network",
                "policy",
                "library",
                "fastest / library",
                "chosen / library",
                "regret",
                "chosen"});
    for (const LibraryRow& line_of : report_.library) {
      page_.row({line_of.network,
                 line_of.policy.empty() ? "(all)" : line_of.policy,
                 fmt::format("{} ({}, {})",
                             readable_us(line_of.library_us),
                             line_of.variant.algorithm,
                             line_of.variant.launch),
                 fmt::format("{:.3f}", line_of.fastest_ratio()),
                 fmt::format("{:.3f}", line_of.chosen_ratio()),
                 percent(line_of.regret()),
                 all_.scenarios[line_of.chosen].name},
                3);
    }
    page_.end();
    page_.element(
        "p",
        "Measured times. Fastest: the best of all plans, known only after measuring; chosen: the "
        "plan that the simulation holds for the fastest; regret: what that costs.",
        "note");
  }

  void write_speed() {
    const SpeedSummary& speed = all_.speed;
    if (speed.probes == 0) return;
    page_.element("h2", "How fast was the machine?");
    page_.element(
        "p",
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
    page_.figure(speed_picture(report_));
    page_.element(
        "p",
        "The errors \"at the speed of the measurement\" above are of the same predictions with "
        "kernel times multiplied by what the probes say; no validated run has a part in that.",
        "note");
  }

  void write_budget() {
    page_.element("h2", "Where the error comes from");
    page_.head({"part", "median of all scenarios", "median of absolute values"});
    for (std::size_t part = 0; part < error_part_count; ++part) {
      page_.row({std::string{to_string(static_cast<ErrorPart>(part))},
                 signed_percent(all_.budget.at(part).bias),
                 percent(all_.budget.at(part).absolute)},
                1);
    }
    page_.end();
    page_.element(
        "p",
        "In % of the measured makespan, along the critical path of the measured run nearest "
        "to the median. kernel_time, memory: kernels alone; contention: what company costs; "
        "host: the device waits for the host; gaps: pauses between tasks; noise: as much of "
        "the unexplained as the median may be off; rest: the two runs went different ways; drift: "
        "the machine was faster or slower than when it was calibrated, by the probes.",
        "note");
    page_.figure(budget_picture(report_));
  }

  void write_kinds() {
    page_.element("h2", "Task by task");
    page_.head({"kind",
                "scenarios",
                "tasks",
                "duration error p50",
                "p90",
                "start error p50",
                "p90",
                "bias of durations"});
    for (const KindSummary& kind : all_.kinds) {
      page_.row({kind.kind,
                 fmt::format("{}", kind.scenarios),
                 fmt::format("{}", kind.tasks),
                 percent(kind.duration_p50),
                 percent(kind.duration_p90),
                 percent(kind.start_p50, 2),
                 percent(kind.start_p90, 2),
                 signed_percent(kind.bias)},
                1);
    }
    page_.end();
    page_.element(
        "p",
        "Medians over the scenarios. Duration errors are relative to the task's measured "
        "duration, start errors to the measured makespan; bias: sum of predicted over sum of "
        "measured durations, minus 1.",
        "note");
    const ScenarioOutcome& shown = all_.scenarios[report_.shown];
    page_.element("h3", fmt::format("Scenario {}: {}", shown.scenario, shown.name));
    const MeasuredScenario& measured = report_.measured.scenarios[shown.scenario];
    const FullRun& run = *report_.predicted[shown.scenario].run;
    const auto [simulated, real] = overlaid_documents(run, measured, shown.name);
    page_.figure(overlay_svg(simulated, real));
  }

  void write_scenarios() {
    page_.element("h2", "All scenarios");
    page_.head({"scenario",
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
      if (shown++ == ValidationHtml::most_table_rows) break;
      if (!outcome.compared()) {
        page_.row(
            {outcome.name, "", "", "", "", "", "", fmt::format("{}", outcome.runs), outcome.note},
            1);
        continue;
      }
      const auto range = [](const Interval& interval) {
        return fmt::format("{} .. {}", readable_us(interval.low), readable_us(interval.high));
      };
      page_.row({outcome.name,
                 readable_us(outcome.predicted_us),
                 outcome.predicted_90 ? range(*outcome.predicted_90) : "",
                 readable_us(outcome.measured_us),
                 range(outcome.measured_95),
                 signed_percent(outcome.error),
                 outcome.inside_hull ? "inside" : "outside",
                 fmt::format("{}", outcome.runs),
                 ""},
                1);
    }
    page_.end();
    if (all_.scenarios.size() > ValidationHtml::most_table_rows) {
      page_.element("p",
                    fmt::format("The first {} of {}; scenarios.csv has all.",
                                ValidationHtml::most_table_rows,
                                all_.scenarios.size()),
                    "note");
    }
  }

  const ValidationReport& report_;
  const Validation& all_;
  ValidationHtml page_;
};

}  // namespace

std::string validation_html(const ValidationReport& report) {
  return ValidationPage{report}.write();
}

}  // namespace schedlab
