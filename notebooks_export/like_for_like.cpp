// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/like_for_like.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

constexpr std::string_view before_granularity = "makespan_at_";
constexpr std::string_view after_granularity = "_ps";
constexpr const char* granularity_column = "task_granularity";

std::string column_at(const std::string& granularity) {
  return fmt::format("{}{}{}", before_granularity, granularity, after_granularity);
}

/// Makespan of a row at a granularity, in us.
std::optional<double> makespan_at(const SweepView& view,
                                  std::size_t row,
                                  const std::string& granularity) {
  const auto ps = view.number(row, column_at(granularity));
  return ps && *ps > 0 ? std::optional{*ps / 1e6} : std::nullopt;
}

/// "160", "160 to 640".
std::string range_text(double low, double high) {
  return low == high ? readable(low) : fmt::format("{} to {}", readable(low), readable(high));
}

[[nodiscard]] Cell text_of(const RatioSpread& spread) {
  return spread.count == 0 ? Cell{} : Cell{range_text(spread.range.low, spread.range.high)};
}

/// For views of other tables about the same sweep.
SweepViewOptions options_of(const SweepView& view) {
  SweepViewOptions options{.baseline = view.baseline(), .policy_axes = {}};
  for (const std::size_t axis : view.policy_axes()) options.policy_axes.push_back(view.name(axis));
  return options;
}

struct Given {
  RatioSpread tasks, kernels, work, over_baseline;
};

/// "critical_first over single_stream: 1.42 = cut 1.21 x order 1.17".
std::string gain_text(const SweepView& view, std::size_t policy) {
  RatioSpread whole;
  RatioSpread cut;
  RatioSpread order;
  for (const SweepCase& one : view.cases()) {
    const SweepRun* run = SweepView::shortest(one, policy);
    const auto gain = run == nullptr ? std::nullopt : split_gain(view, one, *run);
    if (!gain) continue;
    whole.add(view.speed_up(one, *run));
    cut.add(gain->cut);
    order.add(gain->order);
  }
  if (whole.count == 0) return {};
  return fmt::format("{} {:.2f} = cut {:.2f} x order {:.2f}",
                     view.policies()[policy],
                     whole.mean(),
                     cut.mean(),
                     order.mean());
}

/// "clever 1.44, cautious 0.9": geometric means over the cases, each by its best variant.
std::string speed_ups_text(const SweepView& view) {
  std::string text;
  for (std::size_t i = 0; i < view.policies().size(); ++i) {
    if (view.policies()[i] == view.baseline()) continue;
    RatioSpread all;
    for (const SweepCase& one : view.cases()) {
      const SweepRun* run = SweepView::shortest(one, i);
      if (run != nullptr) all.add(view.speed_up(one, *run));
    }
    if (all.count == 0) continue;
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", view.policies()[i], all.mean());
  }
  return text;
}

/// What every policy gains when it is given tasks of one granularity instead of another.
std::string cut_text(const SweepView& view, const std::string& from, const std::string& to) {
  std::string text;
  for (std::size_t i = 0; i < view.policies().size(); ++i) {
    RatioSpread gain;
    for (const SweepCase& one : view.cases()) {
      std::optional<double> before;
      std::optional<double> after;
      for (const SweepRun& run : one.runs) {
        if (run.policy != i) continue;
        const auto shorter = [](std::optional<double> a, std::optional<double> b) {
          return a && b ? std::min(*a, *b) : a ? a : b;
        };
        before = shorter(before, makespan_at(view, run.row, from));
        after = shorter(after, makespan_at(view, run.row, to));
      }
      if (before && after) gain.add(*before / *after);
    }
    if (gain.count == 0) continue;
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", view.policies()[i], gain.mean());
  }
  return text;
}

}  // namespace

void RatioSpread::add(std::optional<double> value) {
  if (!value || *value <= 0) return;
  range.add(*value);
  logarithms += std::log(*value);
  ++count;
}

double RatioSpread::mean() const {
  return count == 0 ? 0.0 : std::exp(logarithms / static_cast<double>(count));
}

std::vector<std::string> compared_granularities(const Table& table) {
  std::vector<std::string> compared;
  for (const Column& column : table.columns) {
    if (!column.name.starts_with(before_granularity) || !column.name.ends_with(after_granularity))
      continue;
    const std::size_t around = before_granularity.size() + after_granularity.size();
    compared.push_back(column.name.substr(before_granularity.size(), column.name.size() - around));
  }
  return compared;
}

std::optional<SplitGain> split_gain(const SweepView& view,
                                    const SweepCase& one,
                                    const SweepRun& run) {
  const auto whole = view.speed_up(one, run);
  if (!whole) return std::nullopt;
  const std::string granularity = view.text(run.row, granularity_column);
  const std::size_t baseline = one.runs[*one.baseline].policy;
  if (view.text(one.runs[*one.baseline].row, granularity_column) == granularity) {
    return SplitGain{1, *whole};
  }
  std::optional<double> there;
  for (const SweepRun& other : one.runs) {
    if (other.policy != baseline) continue;
    const auto makespan = makespan_at(view, other.row, granularity);
    if (makespan && (!there || *makespan < *there)) there = makespan;
  }
  if (!there) return std::nullopt;
  return SplitGain{one.runs[*one.baseline].makespan_us / *there, *there / run.makespan_us};
}

bool given_differently(const SweepView& view) {
  return std::any_of(view.cases().begin(), view.cases().end(), [&](const SweepCase& one) {
    std::set<std::string> given;
    for (const SweepRun& run : one.runs) {
      given.insert(view.text(run.row, granularity_column) + "/" +
                   view.text(run.row, "found_split"));
    }
    return given.size() > 1;
  });
}

Table like_for_like_table(const Table& table) {
  const std::size_t granularity = column_index(table, granularity_column);
  const std::size_t makespan = column_index(table, "makespan_us");
  if (granularity == table.columns.size() || makespan == table.columns.size()) return table;
  Table all;
  all.columns = table.columns;
  all.columns[granularity].role = ColumnRole::axis;
  const std::vector<std::string> compared = compared_granularities(table);
  for (const auto& row : table.rows) {
    bool found = false;
    for (const std::string& word : compared) {
      const auto ps = cell_number(row[column_index(table, column_at(word))]);
      if (!ps) continue;
      found = true;
      all.rows.push_back(row);
      if (row[granularity] == Cell{word}) continue;
      auto& other = all.rows.back();
      for (std::size_t i = 0; i < other.size(); ++i) {
        const Column& column = table.columns[i];
        if (column.role != ColumnRole::axis && column.name != "scenario") other[i] = {};
      }
      other[granularity] = word;
      other[makespan] = *ps / 1e6;
    }
    if (!found) all.rows.push_back(row);
  }
  return all;
}

Table given_table(const SweepView& view) {
  std::map<std::pair<std::size_t, std::string>, Given> given;
  for (const SweepCase& one : view.cases()) {
    const auto base = one.baseline ? view.number(one.runs[*one.baseline].row, "work_us")
                                   : std::optional<double>{};
    for (const SweepRun& run : one.runs) {
      Given& to = given[{run.policy, view.text(run.row, granularity_column)}];
      const auto work = view.number(run.row, "work_us");
      to.tasks.add(view.number(run.row, "tasks"));
      to.kernels.add(view.number(run.row, "launches"));
      to.work.add(work ? std::optional{*work / 1000} : std::nullopt);
      if (work && base && *base > 0) to.over_baseline.add(*work / *base);
    }
  }
  Table table;
  using enum ColumnRole;
  table.columns = {{"policy", axis},
                   {"granularity", axis},
                   {"tasks", note},
                   {"kernels", note},
                   {"work (ms)", note},
                   {fmt::format("work over that of {}", view.baseline()), note}};
  for (const auto& [key, facts] : given) {
    table.rows.push_back({view.policies()[key.first],
                          key.second.empty() ? "of the workload" : key.second,
                          text_of(facts.tasks),
                          text_of(facts.kernels),
                          text_of(facts.work),
                          text_of(facts.over_baseline)});
  }
  return table;
}

std::vector<std::pair<std::string, std::size_t>> wins(const SweepView& view) {
  std::map<std::size_t, std::size_t> counts;
  for (const SweepCase& one : view.cases()) {
    if (one.best) ++counts[one.runs[*one.best].policy];
  }
  std::vector<std::pair<std::string, std::size_t>> order;
  for (const auto& [policy, count] : counts) order.emplace_back(view.policies()[policy], count);
  std::stable_sort(
      order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return order;
}

std::string wins_text(const SweepView& view) {
  std::string text;
  for (const auto& [policy, count] : wins(view)) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", policy, count);
  }
  return fmt::format("{} of {}", text, counted(view.cases().size(), "case"));
}

std::vector<std::string> comparison_text(const SweepView& view) {
  std::vector<std::string> lines;
  if (view.policies().size() < 2 || view.cases().empty()) return lines;
  if (!given_differently(view)) {
    return {fmt::format("All policies of a case were given the same tasks: shortest {}.",
                        wins_text(view))};
  }
  const std::vector<std::string> compared = compared_granularities(view.table());
  const Table alike = like_for_like_table(view.table());
  for (const std::string& granularity : compared) {
    Table there{.columns = alike.columns, .rows = {}};
    const std::size_t column = column_index(alike, granularity_column);
    for (const auto& row : alike.rows) {
      if (row[column] == Cell{granularity}) there.rows.push_back(row);
    }
    const SweepView at_it(there, options_of(view));
    if (at_it.cases().empty()) continue;
    lines.push_back(fmt::format("Like for like, granularity {}: shortest {}; speed-up over {}: {}.",
                                granularity,
                                wins_text(at_it),
                                at_it.baseline(),
                                speed_ups_text(at_it)));
  }
  for (std::size_t i = 1; i < compared.size(); ++i) {
    lines.push_back(fmt::format("The cut by itself, {} instead of {}: {}.",
                                compared[i],
                                compared.front(),
                                cut_text(view, compared.front(), compared[i])));
  }
  if (compared.empty()) {
    lines.emplace_back(
        "Policies of a case were given different tasks, and were not run like for like: part of a "
        "gain may be due to the cut of the tasks instead of their order.");
  }
  lines.push_back(fmt::format("Each policy at its own granularity: shortest {}.", wins_text(view)));
  std::string gains;
  for (std::size_t i = 0; i < view.policies().size(); ++i) {
    if (view.policies()[i] == view.baseline()) continue;
    const std::string gain = compared.empty() ? std::string{} : gain_text(view, i);
    if (!gain.empty()) gains += (gains.empty() ? "" : "; ") + gain;
  }
  if (!gains.empty()) {
    lines.push_back(fmt::format(
        "Its speed-up over {}: {} (geometric means, as above).", view.baseline(), gains));
  }
  return lines;
}

}  // namespace schedlab
