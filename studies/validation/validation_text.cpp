// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

void add_errors(std::string& text, const char* what, const ErrorSummary& errors) {
  if (errors.count == 0) return;
  text += fmt::format("  {:<23}median {}, 90 % below {}, most {}; {} scenario{}, bias {:+.1f} %\n",
                      what,
                      percent(errors.median),
                      percent(errors.p90),
                      percent(errors.most),
                      errors.count,
                      errors.count == 1 ? "" : "s",
                      100 * errors.bias);
}

void add_speed(std::string& text, const Validation& all) {
  const SpeedSummary& speed = all.speed;
  if (speed.probes == 0) return;
  text += fmt::format(
      "  {:<23}kernels took {:.2f} times as long as calibrated on one core, {:.2f} on all (medians "
      "of {} probes, 90 % within {:.2f} to {:.2f}); {} of {} rounds disturbed\n",
      "speed of the machine",
      speed.one_unit,
      speed.all_units,
      speed.probes,
      speed.p5,
      speed.p95,
      speed.disturbed,
      speed.rounds);
  add_errors(text, "error at that speed", all.at_speed);
  add_errors(text, "... undisturbed rounds", all.undisturbed);
  if (all.decidable > 0) {
    text += fmt::format("  {:<23}{} of the decidable pairs right{}\n",
                        "order at that speed",
                        percent(all.at_speed_order.value),
                        all.calibrated ? fmt::format("; 90 % intervals hold {} of the medians",
                                                     percent(all.at_speed_coverage.value))
                                       : std::string{});
  }
}

const PolicySummary* first_with_speed_up(const Validation& all) {
  for (const PolicySummary& policy : all.policies) {
    if (policy.speed_ups > 0) return &policy;
  }
  return nullptr;
}

void add_order(std::string& text, const Validation& all) {
  if (!all.pairs.empty()) {
    text += fmt::format(
        "  {:<23}{} of {} pairs decidable", "order of policies", all.decidable, all.pairs.size());
    if (all.decidable > 0) {
      text += fmt::format(", {} of them right ({})",
                          std::lround(all.order.value * static_cast<double>(all.decidable)),
                          percent(all.order.value));
    }
    text += '\n';
  }
  for (const PolicySummary& policy : all.policies) {
    if (policy.speed_ups == 0) continue;
    text += fmt::format(
        "  {:<23}{} {:.3f} predicted, {:.3f} measured (medians), sign right in {} of {}, {} of {} "
        "decidable\n",
        &policy == first_with_speed_up(all) ? fmt::format("over {}", all.baseline) : std::string{},
        policy.policy,
        policy.predicted_speed_up,
        policy.measured_speed_up,
        policy.signs_right,
        policy.speed_ups,
        policy.decidable_right,
        policy.decidable);
  }
  if (all.group_tau) {
    text += fmt::format("  {:<23}{:.2f} (median of the groups)", "Kendall tau", *all.group_tau);
    if (all.kendall_tau) text += fmt::format(", {:.2f} over all scenarios", *all.kendall_tau);
    text += fmt::format("\n  {:<23}{} on average, {} at most: taking the predicted best\n",
                        "regret",
                        percent(all.mean_regret),
                        percent(all.most_regret));
  }
}

void add_intervals(std::string& text, const Validation& all) {
  if (!all.calibrated) return;
  text += fmt::format("  {:<23}hold {} of the measured medians; those of single runs {}\n",
                      "90 % intervals",
                      percent(all.coverage.value),
                      percent(all.run_coverage.value));
  if (all.probabilities.count > 0) {
    text +=
        fmt::format("  {:<23}Brier score {:.3f} over {} pairs (0 sure and right, 0.25 a coin)\n",
                    "P(A faster than B)",
                    all.probabilities.brier,
                    all.probabilities.count);
  }
}

void add_budget(std::string& text, const Validation& all) {
  text += fmt::format("  {:<23}", "error budget");
  for (std::size_t part = 0; part < error_part_count; ++part) {
    text += fmt::format("{}{} {:+.1f} %",
                        part == 0 ? "" : ", ",
                        to_string(static_cast<ErrorPart>(part)),
                        100 * all.budget.at(part).bias);
  }
  text += " (medians)\n";
}

// From where on a warning is worth its line. // assumed
constexpr std::size_t least_runs = 15;
constexpr double much_scatter = 0.1;  // of repeated runs
constexpr double much_other_load = 0.05;
constexpr double much_drift = 0.05;
constexpr double much_change = 0.2;

std::string crossover_line(const LaunchCrossover& crossover) {
  const auto size = [](const std::optional<double>& us) {
    return us ? fmt::format("{:.2f} us", *us) : std::string{"not within the grid"};
  };
  const auto error = crossover.error();
  return fmt::format("  {:<23}predicted {}, measured {}{}, of the fastest runs {}{}\n",
                     "break-even operator",
                     size(crossover.predicted_us),
                     size(crossover.measured_us),
                     error ? fmt::format(" ({:+.1f} %)", 100 * *error) : std::string{},
                     size(crossover.fastest_us),
                     crossover.name.empty() ? std::string{} : "; " + crossover.name);
}

}  // namespace

std::vector<std::string> validation_warnings(const ValidationReport& report) {
  const Validation& all = report.validation;
  std::vector<std::string> warnings;
  if (!report.measured.complete) {
    warnings.emplace_back(
        "Stopped before the end: the figures are of the rounds that were finished.");
  }
  if (all.all.count < all.scenarios.size()) {
    warnings.push_back(
        fmt::format("{} of {} scenarios could not be compared; the column note says why.",
                    all.scenarios.size() - all.all.count,
                    all.scenarios.size()));
  }
  const double others = report.measured.other_load.value_or(0);
  if (all.spread > much_scatter || others > much_other_load) {
    warnings.push_back(
        fmt::format("The machine was not idle: other processes had {:.0f} % of its cores, and "
                    "equal runs scatter by {:.0f} % between their quartiles. Errors of medians "
                    "are theirs, too.",
                    100 * others,
                    100 * all.spread));
  }
  const SpeedSummary& speed = all.speed;
  if (speed.probes > 0 &&
      (std::abs(speed.overall - 1) > much_drift || speed.p95 / speed.p5 - 1 > much_change)) {
    warnings.push_back(fmt::format(
        "The machine was not as fast as when it was calibrated: the same kernels took {:.2f} times "
        "as long (median of {} probes), between {:.2f} and {:.2f} times in nine of ten. What that "
        "does to the errors is \"drift\" in the error budget.",
        speed.overall,
        speed.probes,
        speed.p5,
        speed.p95));
  }
  const auto few =
      std::count_if(all.scenarios.begin(), all.scenarios.end(), [](const ScenarioOutcome& outcome) {
        return outcome.compared() && outcome.runs < least_runs;
      });
  if (few > 0) {
    warnings.push_back(
        fmt::format("{} scenarios have fewer than {} runs: which pairs are decidable, and the "
                    "intervals of the medians, are then rough.",
                    few,
                    least_runs));
  }
  return warnings;
}

std::string validation_text(const ValidationReport& report) {
  const Validation& all = report.validation;
  std::string text = fmt::format("{} scenario{} in {} group{}, {} compared; measured on {}, {}\n",
                                 all.scenarios.size(),
                                 all.scenarios.size() == 1 ? "" : "s",
                                 all.groups.size(),
                                 all.groups.size() == 1 ? "" : "s",
                                 all.all.count,
                                 report.measured.device,
                                 report.measured.date);
  if (all.outside.count == 0) {
    add_errors(text, "makespan error", all.all);
  } else {
    add_errors(text, "makespan error inside", all.inside);
    add_errors(text, "... outside the hull", all.outside);
  }
  if (all.all.count > 0) {
    add_errors(text, "... of the fastest run", all.fastest);
    add_errors(text, "peak memory error", all.memory);
    text += fmt::format("  {:<23}{} between the quartiles of equal runs (median){}\n",
                        "scatter",
                        percent(all.spread),
                        report.measured.other_load
                            ? fmt::format("; other processes had {} of the cores",
                                          percent(*report.measured.other_load))
                            : std::string{});
    add_speed(text, all);
    add_order(text, all);
    add_intervals(text, all);
    add_budget(text, all);
  }
  for (const LaunchCrossover& crossover : report.launch.crossovers) {
    text += crossover_line(crossover);
  }
  for (const std::string& broken : report.broken) text += fmt::format("  not kept: {}\n", broken);
  return text;
}

}  // namespace schedlab
