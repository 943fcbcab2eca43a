// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/sweep_view.hpp"

#include "notebooks_export/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace schedlab {

std::size_t column_index(const Table& table, std::string_view name) {
  const auto found = std::find_if(table.columns.begin(),
                                  table.columns.end(),
                                  [name](const Column& column) { return column.name == name; });
  return static_cast<std::size_t>(found - table.columns.begin());
}

std::string cell_text(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&cell)) return readable(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return {};
}

std::optional<double> cell_number(const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return std::nullopt;
}

SweepView::SweepView(const Table& table, const SweepViewOptions& options)
    : table_(table),
      policy_column_(column_index(table, "policy")),
      makespan_column_(column_index(table, "makespan_us")),
      same_durations_(options.same_durations) {
  sort_axes(options);
  collect_cases();
  choose_baseline(options.baseline);
}

void SweepView::sort_axes(const SweepViewOptions& options) {
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    if (table_.columns[i].role != ColumnRole::axis || i == policy_column_) continue;
    const std::string& axis = table_.columns[i].name;
    const bool named = std::find(options.policy_axes.begin(), options.policy_axes.end(), axis) !=
                       options.policy_axes.end();
    const bool knob = named || axis.starts_with("policy.") || belongs_to_policies(i);
    (knob ? policy_axes_ : case_axes_).push_back(i);
  }
}

/// Some policies always have the axis and the others never: then it is theirs.
bool SweepView::belongs_to_policies(std::size_t axis) const {
  if (policy_column_ == table_.columns.size()) return false;
  std::map<std::string, bool> present;
  bool missing_anywhere = false;
  for (const auto& row : table_.rows) {
    const bool has = !std::holds_alternative<std::monostate>(row[axis]);
    missing_anywhere = missing_anywhere || !has;
    const auto [entry, added] = present.try_emplace(cell_text(row[policy_column_]), has);
    if (!added && entry->second != has) return false;
  }
  return missing_anywhere;
}

void SweepView::collect_cases() {
  std::map<std::vector<Cell>, std::size_t> case_of;
  const bool has_makespan = makespan_column_ != table_.columns.size();
  for (std::size_t i = 0; i < table_.rows.size(); ++i) {
    const auto& row = table_.rows[i];
    const auto makespan = has_makespan ? cell_number(row[makespan_column_]) : std::nullopt;
    if (!makespan) {
      ++failed_;
      continue;
    }
    std::vector<Cell> values;
    for (const std::size_t axis : case_axes_) values.push_back(row[axis]);
    const auto [entry, added] = case_of.try_emplace(values, cases_.size());
    if (added) cases_.push_back({std::move(values), {}, {}, {}});

    const std::string policy =
        policy_column_ == table_.columns.size() ? "" : cell_text(row[policy_column_]);
    const auto known = std::find(policies_.begin(), policies_.end(), policy);
    SweepRun run{i, static_cast<std::size_t>(known - policies_.begin()), policy, *makespan};
    if (known == policies_.end()) policies_.push_back(policy);
    for (const std::size_t axis : policy_axes_) {
      const std::string value = cell_text(row[axis]);
      if (value.empty()) continue;
      run.variant += fmt::format("{}{} = {}", run.variant.empty() ? "" : ", ", name(axis), value);
    }
    SweepCase& one = cases_[entry->second];
    one.runs.push_back(std::move(run));
    const std::size_t index = one.runs.size() - 1;
    if (!one.best || one.runs[index].makespan_us < one.runs[*one.best].makespan_us) {
      one.best = index;
    }
  }
}

void SweepView::choose_baseline(const std::string& wanted) {
  if (policies_.empty()) return;
  std::size_t baseline = 0;
  for (const std::string& name : {std::string{"single_stream"}, wanted}) {
    const auto found = std::find(policies_.begin(), policies_.end(), name);
    if (found != policies_.end()) baseline = static_cast<std::size_t>(found - policies_.begin());
  }
  baseline_ = policies_[baseline];
  for (SweepCase& one : cases_) {
    const SweepRun* run = shortest(one, baseline);
    if (run != nullptr) one.baseline = static_cast<std::size_t>(run - one.runs.data());
  }
}

std::string SweepView::place(std::size_t case_axis, const Cell& value) const {
  if (!cell_number(value)) return cell_text(value);
  return fmt::format("{} = {}", name(case_axes_[case_axis]), cell_text(value));
}

bool SweepView::varies(std::size_t column) const {
  std::optional<Cell> first;
  for (const SweepCase& one : cases_) {
    for (const SweepRun& run : one.runs) {
      const Cell& value = table_.rows[run.row][column];
      if (!first) first = value;
      if (*first != value) return true;
    }
  }
  return false;
}

std::optional<double> SweepView::number(std::size_t row, std::string_view name) const {
  const std::size_t index = column_index(table_, name);
  return index == table_.columns.size() ? std::nullopt : cell_number(table_.rows[row][index]);
}

std::string SweepView::text(std::size_t row, std::string_view name) const {
  const std::size_t index = column_index(table_, name);
  return index == table_.columns.size() ? std::string{} : cell_text(table_.rows[row][index]);
}

std::optional<double> SweepView::speed_up(const SweepCase& one, const SweepRun& run) const {
  if (!one.baseline || run.makespan_us <= 0) return std::nullopt;
  return one.runs[*one.baseline].makespan_us / run.makespan_us;
}

const SweepRun* SweepView::shortest(const SweepCase& one, std::size_t policy) {
  const SweepRun* best = nullptr;
  for (const SweepRun& run : one.runs) {
    if (run.policy != policy) continue;
    if (best == nullptr || run.makespan_us < best->makespan_us) best = &run;
  }
  return best;
}

}  // namespace schedlab
