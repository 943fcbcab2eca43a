// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/table.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

struct SweepViewOptions {
  /// The policy that speed-ups are relative to. Empty, or not among the policies: "single_stream"
  /// if that was run, else the first policy.
  std::string baseline;
  /// Axes that are knobs of the policies, besides "policy" itself. Axes called "policy.*", and
  /// those that only some policies have, are taken for such without being named.
  std::vector<std::string> policy_axes;
  /// The tasks last equally long on every machine: no picture compares machines by the makespan.
  bool same_durations = false;
};

/// One row of the table that has a result.
struct SweepRun {
  std::size_t row = 0;
  std::size_t policy = 0;  ///< index in SweepView::policies()
  std::string variant;     ///< "critical_first, max_streams = 9"
  double makespan_us = 0;
};

/// All runs that differ only in the policy and its knobs: what may be compared.
struct SweepCase {
  std::vector<Cell> values;             ///< one per SweepView::case_axes()
  std::vector<SweepRun> runs;           ///< in the order of the table
  std::optional<std::size_t> best;      ///< index of the shortest run, the first among equals
  std::optional<std::size_t> baseline;  ///< index of the shortest run of the baseline policy
};

/// The results of a sweep, seen as cases in which policies compete. Columns: axes by their role,
/// among them "policy" (without it all runs belong to one policy without a name); the metric
/// "makespan_us". The table must outlive the view.
class SweepView {
 public:
  explicit SweepView(const Table& table, const SweepViewOptions& options = {});

  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] const std::vector<std::string>& policies() const { return policies_; }
  [[nodiscard]] const std::string& baseline() const { return baseline_; }
  [[nodiscard]] const std::vector<SweepCase>& cases() const { return cases_; }
  /// Columns of the axes that make a case, and of the policies' knobs.
  [[nodiscard]] const std::vector<std::size_t>& case_axes() const { return case_axes_; }
  [[nodiscard]] const std::vector<std::size_t>& policy_axes() const { return policy_axes_; }
  [[nodiscard]] bool same_durations() const { return same_durations_; }
  [[nodiscard]] const std::string& name(std::size_t column) const {
    return table_.columns[column].name;
  }
  /// Where a case stands on its axis of this index: "layers = 4", or of words the value alone.
  [[nodiscard]] std::string place(std::size_t case_axis, const Cell& value) const;
  /// Do its rows with a result have two values or more in this column?
  [[nodiscard]] bool varies(std::size_t column) const;
  /// Rows without a makespan.
  [[nodiscard]] std::size_t failed_count() const { return failed_; }
  [[nodiscard]] std::size_t run_count() const { return table_.rows.size() - failed_; }

  /// Number in a cell of a row, if it is there and is one.
  [[nodiscard]] std::optional<double> number(std::size_t row, std::string_view column) const;
  [[nodiscard]] std::string text(std::size_t row, std::string_view column) const;

  /// Baseline over this run: above 1 is faster. nullopt if the case has no run of the baseline.
  [[nodiscard]] std::optional<double> speed_up(const SweepCase& one, const SweepRun& run) const;
  /// The shortest run of a policy in a case.
  [[nodiscard]] static const SweepRun* shortest(const SweepCase& one, std::size_t policy);

 private:
  void sort_axes(const SweepViewOptions& options);
  [[nodiscard]] bool belongs_to_policies(std::size_t axis) const;
  void collect_cases();
  void choose_baseline(const std::string& wanted);

  const Table& table_;
  std::vector<std::string> policies_;
  std::string baseline_;
  std::vector<SweepCase> cases_;
  std::vector<std::size_t> case_axes_;
  std::vector<std::size_t> policy_axes_;
  std::size_t policy_column_ = 0;    // table_.columns.size(): none
  std::size_t makespan_column_ = 0;  // likewise
  std::size_t failed_ = 0;
  bool same_durations_;
};

/// Index of the column of this name; as many as there are columns if there is none.
[[nodiscard]] std::size_t column_index(const Table& table, std::string_view name);
/// A cell as people read it; missing: empty.
[[nodiscard]] std::string cell_text(const Cell& cell);
[[nodiscard]] std::optional<double> cell_number(const Cell& cell);

}  // namespace schedlab
