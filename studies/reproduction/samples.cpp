// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/samples.hpp"

#include "notebooks_export/sweep_view.hpp"
#include "sim/base/error.hpp"
#include "sim/base/spelling.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace schedlab {
namespace {

using Kind = Measure::Kind;
using Rows = std::vector<std::size_t>;
using Key = std::vector<Cell>;

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

std::size_t column_of(const std::vector<Column>& columns, const std::string& name) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return none;
}

class Collector {
 public:
  Collector(const Table& table, const Measure& measure, const RunSelector& at)
      : table_(table),
        measure_(measure),
        at_(at),
        metric_(known_column(measure.metric)),
        findings_(column_of(table.columns, "findings")) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].role == ColumnRole::axis) found_.axes.push_back(i);
    }
  }

  /// Nothing if the grid does not vary an axis that the claim is about: a quick one may not.
  [[nodiscard]] ClaimSamples collect() {
    if (!covered()) return std::move(found_);
    switch (measure_.kind) {
      case Kind::value:
      case Kind::ratio:
        found_.samples = points();
        break;
      case Kind::trend:
        found_.samples = ends(points());
        break;
      case Kind::order:
        found_.samples = orders();
        break;
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool covered() const {
    std::set<std::string> named;
    const auto add = [&](const RunSelector& selector) {
      for (const auto& [axis, values] : selector.axes) named.insert(axis);
    };
    add(at_);
    for (const RunSelector& selector : measure_.runs) add(selector);
    if (!measure_.along.empty()) named.insert(measure_.along);
    for (const auto& factors : measure_.per) {
      for (const auto& factor : factors) {
        if (const auto* axis = std::get_if<std::string>(&factor)) named.insert(*axis);
      }
    }
    return std::all_of(named.begin(), named.end(), [&](const std::string& axis) {
      return column_of(table_.columns, axis) != none;
    });
  }

  [[nodiscard]] std::size_t known_column(const std::string& name) const {
    const std::size_t column = column_of(table_.columns, name);
    SCHEDLAB_EXPECTS(column != none, "column " + name);
    return column;
  }

  [[nodiscard]] bool selected(const RunSelector& selector, std::size_t row) const {
    return std::all_of(selector.axes.begin(), selector.axes.end(), [&](const auto& item) {
      const Cell& cell = table_.rows[row][known_column(item.first)];
      return std::any_of(item.second.begin(), item.second.end(), [&](const Cell& wanted) {
        return same_value(cell, wanted);
      });
    });
  }

  [[nodiscard]] Rows rows_of(const RunSelector& selector) {
    Rows rows;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      if (!selected(selector, row) || !selected(at_, row)) continue;
      if (cell_number(table_.rows[row][metric_]) && !faulty(row)) {
        rows.push_back(row);
      } else {
        ++found_.missing;
      }
    }
    return rows;
  }

  /// A plan the checker objects to (too little memory, say) says nothing about the machine.
  [[nodiscard]] bool faulty(std::size_t row) const {
    return findings_ != none && cell_number(table_.rows[row][findings_]).value_or(0) > 0;
  }

  [[nodiscard]] double metric(std::size_t row) const {
    return *cell_number(table_.rows[row][metric_]);
  }

  [[nodiscard]] bool has(const Rows& rows, std::size_t column) const {
    return std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
      return table_.rows[row][column].index() != 0;
    });
  }

  /// The axes that must agree between rows of all these sets.
  [[nodiscard]] std::vector<std::size_t> common_axes(const std::vector<Rows>& sets) const {
    std::set<std::string> named;
    for (const RunSelector& selector : measure_.runs) {
      for (const auto& [axis, values] : selector.axes) named.insert(axis);
    }
    std::vector<std::size_t> axes;
    for (const std::size_t column : found_.axes) {
      const bool everywhere = std::all_of(
          sets.begin(), sets.end(), [&](const Rows& rows) { return has(rows, column); });
      if (everywhere && !named.contains(table_.columns[column].name)) axes.push_back(column);
    }
    return axes;
  }

  [[nodiscard]] Key key_of(std::size_t row, const std::vector<std::size_t>& axes) const {
    Key key;
    for (const std::size_t axis : axes) key.push_back(table_.rows[row][axis]);
    return key;
  }

  [[nodiscard]] ClaimSample sample(double value, Rows rows) const {
    ClaimSample made{value, {}, std::move(rows)};
    for (const std::size_t axis : found_.axes) {
      Cell cell;
      for (const std::size_t row : made.rows) {
        if (cell.index() == 0) cell = table_.rows[row][axis];
      }
      made.axes.push_back(std::move(cell));
    }
    return made;
  }

  [[nodiscard]] double divisor(std::size_t row) const {
    if (measure_.per.empty()) return 1;
    double sum = 0;
    for (const auto& factors : measure_.per) {
      double product = 1;
      for (const auto& factor : factors) {
        const auto* number = std::get_if<double>(&factor);
        product *=
            number != nullptr
                ? *number
                : *cell_number(table_.rows[row][known_column(std::get<std::string>(factor))]);
      }
      sum += product;
    }
    return sum;
  }

  [[nodiscard]] std::vector<ClaimSample> points() {
    std::vector<ClaimSample> samples;
    const Rows of = rows_of(measure_.runs.front());
    if (measure_.runs.size() == 1) {
      for (const std::size_t row : of) samples.push_back(sample(metric(row) / divisor(row), {row}));
      return samples;
    }
    const Rows over = rows_of(measure_.runs[1]);
    const auto axes = common_axes({of, over});
    std::map<Key, Rows> others;
    for (const std::size_t row : over) others[key_of(row, axes)].push_back(row);
    for (const std::size_t row : of) {
      const auto found = others.find(key_of(row, axes));
      if (found == others.end()) continue;
      for (const std::size_t other : found->second) {
        if (metric(other) <= 0) continue;
        const double value = metric(row) / divisor(row) / (metric(other) / divisor(other));
        samples.push_back(sample(value, {row, other}));
      }
    }
    return samples;
  }

  /// One sample per line along the axis: its last value over its first.
  [[nodiscard]] std::vector<ClaimSample> ends(const std::vector<ClaimSample>& points) const {
    const std::size_t along = static_cast<std::size_t>(
        std::find(found_.axes.begin(), found_.axes.end(), known_column(measure_.along)) -
        found_.axes.begin());
    std::map<Key, std::map<double, const ClaimSample*>> lines;
    for (const ClaimSample& point : points) {
      const auto place = cell_number(point.axes.at(along));
      if (!place) continue;
      Key key;
      // Runs differ in what selectors name, so those axes are taken of every run.
      for (const std::size_t row : point.rows) {
        for (const std::size_t axis : found_.axes) {
          if (axis != found_.axes[along]) key.push_back(table_.rows[row][axis]);
        }
      }
      lines[key].emplace(*place, &point);
    }
    std::vector<ClaimSample> samples;
    for (const auto& [key, line] : lines) {
      const ClaimSample& first = *line.begin()->second;
      const ClaimSample& last = *line.rbegin()->second;
      if (line.size() < 2 || first.value <= 0) continue;
      Rows rows = last.rows;
      rows.insert(rows.end(), first.rows.begin(), first.rows.end());
      samples.push_back(sample(last.value / first.value, std::move(rows)));
      samples.back().axes[along] = Cell{};
    }
    return samples;
  }

  [[nodiscard]] std::vector<ClaimSample> orders() {
    std::vector<Rows> sets;
    for (const RunSelector& selector : measure_.runs) sets.push_back(rows_of(selector));
    const auto axes = common_axes(sets);
    std::map<Key, Rows> places;  // the best row of each set, none where there is no run
    for (std::size_t i = 0; i < sets.size(); ++i) {
      for (const std::size_t row : sets[i]) {
        Rows& place = places.try_emplace(key_of(row, axes), sets.size(), none).first->second;
        if (place[i] == none || metric(row) < metric(place[i])) place[i] = row;
      }
    }
    std::vector<ClaimSample> samples;
    for (auto& [key, rows] : places) {
      if (std::find(rows.begin(), rows.end(), none) != rows.end()) continue;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (metric(rows[i]) > 0) least = std::min(least, metric(rows[i - 1]) / metric(rows[i]));
      }
      // The last, the fastest, is the run of interest: it goes first.
      std::reverse(rows.begin(), rows.end());
      samples.push_back(sample(least, rows));
    }
    return samples;
  }

  const Table& table_;
  const Measure& measure_;
  const RunSelector& at_;
  std::size_t metric_;
  std::size_t findings_;
  ClaimSamples found_;
};

[[noreturn]] void unknown(const PublishedSystem& system,
                          const Claim& claim,
                          const std::string& found,
                          const std::vector<std::string>& candidates,
                          const std::string& word) {
  refuse_unknown(system.file, claim.pointer, found, word, candidates);
}

/// Does a claim speak of axes, values and columns that its grid has?
class ClaimCheck {
 public:
  ClaimCheck(const PublishedSystem& system,
             const Claim& claim,
             const std::vector<Column>& columns,
             const std::vector<std::vector<Cell>>& values)
      : system_(system), claim_(claim), columns_(columns), values_(values) {
    for (const Column& column : columns) {
      (column.role == ColumnRole::axis ? axes_ : metrics_).push_back(column.name);
    }
  }

  void run() const {
    const Measure& measure = claim_.measure;
    for (const RunSelector& selector : measure.runs) expect_selector(selector);
    for (const PublishedPoint& point : claim_.published) {
      expect_selector(point.at);
      expect_selector(point.over);
    }
    if (!claim_.by.empty()) static_cast<void>(expect_axis(claim_.by));
    if (!measure.along.empty()) static_cast<void>(expect_axis(measure.along));
    for (const auto& factors : measure.per) {
      for (const auto& factor : factors) {
        if (const auto* name = std::get_if<std::string>(&factor)) expect_column(*name);
      }
    }
    if (std::find(metrics_.begin(), metrics_.end(), measure.metric) != metrics_.end()) return;
    refuse(fmt::format("the metric \"{}\"", measure.metric), metrics_, measure.metric);
  }

 private:
  [[noreturn]] void refuse(const std::string& found,
                           const std::vector<std::string>& candidates,
                           const std::string& word) const {
    unknown(system_, claim_, found, candidates, word);
  }

  [[nodiscard]] std::size_t expect_axis(const std::string& axis) const {
    const std::size_t column = column_of(columns_, axis);
    if (column != none && columns_[column].role == ColumnRole::axis) return column;
    refuse(fmt::format("the axis \"{}\", which grid {} has not", axis, claim_.grid), axes_, axis);
  }

  void expect_column(const std::string& name) const {
    if (column_of(columns_, name) != none) return;
    std::vector<std::string> all = axes_;
    all.insert(all.end(), metrics_.begin(), metrics_.end());
    refuse(fmt::format("the column \"{}\"", name), all, name);
  }

  void expect_selector(const RunSelector& selector) const {
    for (const auto& [axis, wanted] : selector.axes) {
      const std::vector<Cell>& there = values_[expect_axis(axis)];
      for (const Cell& value : wanted) expect_value(axis, value, there);
    }
  }

  void expect_value(const std::string& axis,
                    const Cell& value,
                    const std::vector<Cell>& there) const {
    const bool known = std::any_of(
        there.begin(), there.end(), [&](const Cell& cell) { return same_value(cell, value); });
    if (known) return;
    std::vector<std::string> words;
    words.reserve(there.size());
    for (const Cell& cell : there) words.push_back(to_string(cell));
    refuse(fmt::format("{} = {}, which grid {} has not", axis, to_string(value), claim_.grid),
           words,
           to_string(value));
  }

  const PublishedSystem& system_;
  const Claim& claim_;
  const std::vector<Column>& columns_;
  const std::vector<std::vector<Cell>>& values_;
  std::vector<std::string> axes_;
  std::vector<std::string> metrics_;
};

}  // namespace

bool same_value(const Cell& a, const Cell& b) {
  const auto x = cell_number(a);
  const auto y = cell_number(b);
  if (x && y) return *x == *y;
  return a.index() != 0 && b.index() != 0 && to_string(a) == to_string(b);
}

ClaimSamples collect_samples(const Table& table, const Measure& measure, const RunSelector& at) {
  return Collector{table, measure, at}.collect();
}

void check_claim(const PublishedSystem& system,
                 const Claim& claim,
                 const std::vector<Column>& columns,
                 const std::vector<std::vector<Cell>>& values) {
  ClaimCheck{system, claim, columns, values}.run();
}

}  // namespace schedlab
