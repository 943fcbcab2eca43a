// SPDX-License-Identifier: Apache-2.0
#include "cli/validate/validation_files.hpp"

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
  if (!all.speed_ups.empty()) {
    const auto agree = std::count_if(all.speed_ups.begin(),
                                     all.speed_ups.end(),
                                     [](const SpeedUpOutcome& one) { return one.sign_agrees; });
    text += fmt::format("  {:<23}over {}: sign right in {} of {}, {} of those that are decidable\n",
                        "speed-up",
                        all.baseline,
                        agree,
                        all.speed_ups.size(),
                        percent(all.signs.value));
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

}  // namespace

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
    text += fmt::format("  {:<23}{} between the quartiles of equal runs (median){}\n",
                        "scatter",
                        percent(all.spread),
                        report.measured.other_load
                            ? fmt::format("; other processes had {} of the cores",
                                          percent(*report.measured.other_load))
                            : std::string{});
    add_order(text, all);
    add_intervals(text, all);
    add_budget(text, all);
  }
  for (const std::string& broken : report.broken) text += fmt::format("  not kept: {}\n", broken);
  return text;
}

}  // namespace schedlab
