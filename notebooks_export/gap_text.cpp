// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/gap_text.hpp"

#include "notebooks_export/chart.hpp"
#include "notebooks_export/like_for_like.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr double little = 0.03;  // of the makespan

/// What is left at most of a makespan that is so many times its bound.
double share_left(double gap) {
  return gap > 1 ? 1 - 1 / gap : 0;
}

std::string percent_text(double share) {
  return fmt::format("{:.2g} %", 100 * share);
}

/// "work 12, host launch 5": the bounds of cases that are further from them than `little`.
std::string deciding_bounds(const SweepView& view) {
  std::map<std::string, std::size_t> counts;
  for (const SweepCase& one : view.cases()) {
    const auto gap = best_gap(view, one);
    if (!gap || share_left(*gap) <= little) continue;
    std::string bound = view.text(one.runs[*one.best].row, "case_bound");
    std::replace(bound.begin(), bound.end(), '_', ' ');
    ++counts[bound];
  }
  std::vector<std::pair<std::size_t, std::string>> sorted;
  for (const auto& [bound, count] : counts) sorted.emplace_back(count, bound);
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<std::string> parts;
  for (const auto& [count, bound] : sorted) parts.push_back(fmt::format("{} {}", bound, count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "diagonal is fastest in 30 of 48 cases (heft in 18)"; empty of one policy.
std::string winners_text(const SweepView& view) {
  const auto fastest = wins(view);
  if (view.policies().size() < 2 || fastest.empty()) return {};
  std::string others;
  for (std::size_t i = 1; i < fastest.size(); ++i) {
    others += fmt::format("{}{} in {}", i == 1 ? " (" : ", ", fastest[i].first, fastest[i].second);
  }
  return fmt::format("{} is fastest in {} of {}{}{}",
                     fastest.front().first,
                     fastest.front().second,
                     counted(view.cases().size(), "case"),
                     others,
                     others.empty() ? "" : ")");
}

}  // namespace

std::optional<double> best_gap(const SweepView& view, const SweepCase& one) {
  if (!one.best) return std::nullopt;
  return view.number(one.runs[*one.best].row, "case_gap");
}

std::optional<double> largest_best_gap(const SweepView& view) {
  std::optional<double> largest;
  for (const SweepCase& one : view.cases()) {
    if (const auto gap = best_gap(view, one)) largest = std::max(largest.value_or(0), *gap);
  }
  return largest;
}

std::string gap_text(const SweepView& view) {
  std::size_t bounded = 0;
  std::size_t near = 0;
  std::size_t optimal = 0;
  double fixed = 0;  // of the makespan, by neither order nor the graph's dependencies alone
  for (const SweepCase& one : view.cases()) {
    const auto gap = best_gap(view, one);
    if (!gap) continue;
    const std::size_t row = one.runs[*one.best].row;
    ++bounded;
    if (share_left(*gap) <= little) ++near;
    if (view.number(row, "proven_optimal").value_or(0) > 0) ++optimal;
    const double bound = view.number(row, "case_bound_us").value_or(0);
    const double path = view.number(row, "case_critical_path_us").value_or(bound);
    if (bound > 0) fixed += (bound - path) / (bound * *gap);
  }
  std::string text = winners_text(view);
  const bool several = !text.empty();
  if (bounded == 0) return several ? text + "." : text;
  if (several) text += "; ";
  text += fmt::format(
      "{}t most {} can still be won by reordering in {} of {}, at most {} in any; "
      "{} of the makespan needs another machine or fewer launches; {} proven optimal",
      several ? "a" : "A",
      percent_text(little),
      near,
      several ? "them" : counted(bounded, "case"),
      percent_text(share_left(*largest_best_gap(view))),
      percent_text(fixed / static_cast<double>(bounded)),
      optimal == 0 ? "none is" : fmt::format("{} {}", optimal, optimal == 1 ? "is" : "are"));
  const std::string left = deciding_bounds(view);
  return text + (left.empty() ? "." : fmt::format("; bounds of the others: {}.", left));
}

namespace {

/// The shortest run of all policies but that of the best; nullptr: there is none.
const SweepRun* next_best(const SweepView& view, const SweepCase& one) {
  const SweepRun* found = nullptr;
  for (std::size_t policy = 0; policy < view.policies().size(); ++policy) {
    if (policy == one.runs[*one.best].policy) continue;
    const SweepRun* run = SweepView::shortest(one, policy);
    if (run != nullptr && (found == nullptr || run->makespan_us < found->makespan_us)) found = run;
  }
  return found;
}

std::string spread_text(const RatioSpread& gains) {
  std::string text = fmt::format("{:.3g} times", gains.mean());
  if (gains.count > 1) {
    text += fmt::format(" ({:.3g} to {:.3g})", gains.range.low, gains.range.high);
  }
  return text;
}

}  // namespace

std::string winning_gain_text(const SweepView& view) {
  RatioSpread over_next;
  RatioSpread over_baseline;
  for (const SweepCase& one : view.cases()) {
    if (!one.best) continue;
    const SweepRun& best = one.runs[*one.best];
    if (const SweepRun* next = next_best(view, one)) {
      over_next.add(next->makespan_us / best.makespan_us);
    }
    over_baseline.add(view.speed_up(one, best));
  }
  if (over_next.count == 0) return {};
  std::string text = fmt::format("The fastest is {} as fast as the next", spread_text(over_next));
  if (over_baseline.mean() >= 1.005) {  // else the baseline is the fastest
    text += fmt::format(", {} as fast as {}", spread_text(over_baseline), view.baseline());
  }
  return text + (over_next.count > 1 ? "; geometric means." : ".");
}

std::optional<SweepPlot> gap_bars(const SweepView& view) {
  BarFigure figure{.title = "Distance from the lower bounds",
                   .subtitle =
                       "makespan over the bound of the case, which no schedule beats: "
                       "geometric mean over all cases; the line spans the smallest and "
                       "the largest",
                   .x_label = "makespan / certified lower bound",
                   .panels = {BarPanel{}},
                   .reference = 1};
  std::vector<NamedBar>& bars = figure.panels.front().bars;
  for (std::size_t policy = 0; policy < view.policies().size(); ++policy) {
    RatioSpread gaps;
    for (const SweepCase& one : view.cases()) {
      const SweepRun* run = SweepView::shortest(one, policy);
      if (run != nullptr) gaps.add(view.number(run->row, "case_gap"));
    }
    if (gaps.count == 0) continue;
    bars.push_back({.name = view.policies()[policy],
                    .value = gaps.mean(),
                    .low = gaps.range.low,
                    .high = gaps.range.high,
                    .emphasized = false});
  }
  if (bars.empty()) return std::nullopt;
  std::min_element(bars.begin(), bars.end(), [](const NamedBar& a, const NamedBar& b) {
    return a.value < b.value;
  })->emphasized = true;
  return SweepPlot{"gap", figure.title, bar_figure_svg(figure)};
}

}  // namespace schedlab
