// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation_page.hpp"

#include <fmt/format.h>

#include <string>

namespace schedlab {
namespace {

void write_order(const ValidationReport& report, ValidationHtml& page) {
  const Validation& all = report.validation;
  if (all.pairs.empty()) return;
  page.element("h2", "Is the order of the policies right?");
  page.element(
      "p",
      fmt::format(
          "{} of {} pairs of policies are decidable ({}): the 95 % intervals of "
          "their measured medians do not overlap. {}",
          all.decidable,
          all.pairs.size(),
          percent(static_cast<double>(all.decidable) / static_cast<double>(all.pairs.size())),
          all.decidable == 0
              ? std::string{"Whether they are in the predicted order: n/a."}
              : fmt::format("Of these, {} are in the predicted order (95 % certain: {} to {}).",
                            percent(all.order.value),
                            percent(all.order.low),
                            percent(all.order.high))));
  page.head({"group", "Kendall tau", "regret", "predicted best", "measured best"});
  for (const GroupOutcome& group : all.groups) {
    if (group.members.size() < 2) continue;
    page.row({group.name.empty() ? "(all)" : group.name,
              group.kendall_tau ? fmt::format("{:.2f}", *group.kendall_tau) : "",
              percent(group.regret),
              all.scenarios[group.predicted_best].policy,
              all.scenarios[group.measured_best].policy},
             1);
  }
  page.end();
  page.element(
      "p",
      "Kendall tau: 1 where predicted and measured order agree, -1 where they are reversed. "
      "Regret: measured time of the predicted best over that of the measured best, minus 1.",
      "note");
}

void write_speed_ups(const ValidationReport& report, ValidationHtml& page) {
  const Validation& all = report.validation;
  if (all.speed_ups.empty()) return;
  page.element("h2", fmt::format("Speed-up over {}", all.baseline));
  page.head({"policy",
             "groups",
             "predicted, median",
             "measured, median",
             "sign right",
             "of the decidable"});
  for (const PolicySummary& policy : all.policies) {
    if (policy.speed_ups == 0) continue;
    page.row({policy.policy,
              fmt::format("{}", policy.speed_ups),
              fmt::format("{:.3f}", policy.predicted_speed_up),
              fmt::format("{:.3f}", policy.measured_speed_up),
              fmt::format("{} of {}", policy.signs_right, policy.speed_ups),
              fmt::format("{} of {}", policy.decidable_right, policy.decidable)},
             1);
  }
  page.end();
  page.head({"scenario", "predicted", "measured", "sign", "decidable"});
  std::size_t shown = 0;
  for (const SpeedUpOutcome& one : all.speed_ups) {
    if (shown++ == ValidationHtml::most_table_rows) break;
    page.row({all.scenarios[one.outcome].name,
              fmt::format("{:.3f}", one.predicted),
              fmt::format("{:.3f}", one.measured),
              one.sign_agrees ? "right" : "wrong",
              one.decidable ? "yes" : "no"},
             1);
  }
  page.end();
}

void write_probabilities(const ValidationReport& report, ValidationHtml& page) {
  const Validation& all = report.validation;
  if (all.probabilities.count == 0) return;
  page.element("h2", "How sure is that?");
  page.element("p",
               fmt::format("Probability that one policy is faster than another, from draws of the "
                           "calibration's residuals. Brier score {:.3f} over {} pairs, {:.3f} over "
                           "the {} decidable ones; 0 is always sure and right, 0.25 is a coin.",
                           all.probabilities.brier,
                           all.probabilities.count,
                           all.decidable_probabilities.brier,
                           all.decidable_probabilities.count));
  page.head({"predicted probability", "pairs", "mean prediction", "came true"});
  for (const ReliabilityBin& bin : all.probabilities.bins) {
    page.row({fmt::format("{:.1f} to {:.1f}", bin.low, bin.high),
              fmt::format("{}", bin.count),
              bin.count == 0 ? "" : fmt::format("{:.2f}", bin.predicted),
              bin.count == 0 ? "" : fmt::format("{:.2f}", bin.observed)},
             1);
  }
  page.end();
  page.figure(reliability_picture(report));
}

}  // namespace

void write_order_sections(const ValidationReport& report, ValidationHtml& page) {
  write_order(report, page);
  write_speed_ups(report, page);
  write_probabilities(report, page);
}

}  // namespace schedlab
