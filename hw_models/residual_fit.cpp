// SPDX-License-Identifier: Apache-2.0
#include "hw_models/residual_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace schedlab {
namespace {

// All chosen on choosing rows.
constexpr double counted = 0.2;         // of a tree
constexpr double loss_scale = 0.04;     // what is left beyond counts by its size
constexpr std::size_t fewest_rows = 8;  // of a leaf
constexpr std::size_t most_cuts = 63;   // of a feature
constexpr int quantile_digits = 3;
constexpr double steps_per_percent = 10;

using Node = ResidualTree::Node;

constexpr double closest = 1e-4;  // values less far from each other are one

/// To so many significant digits, as the shortest text that says so.
double rounded(double value, int digits) {
  const int decimals = digits - 1 - static_cast<int>(std::floor(std::log10(value)));
  const double scale = std::pow(10.0, std::abs(decimals));  // whole: divided by, for short texts
  return decimals > 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

/// A number between two with the fewest digits, near their geometric mean. low < high.
double between(double low, double high) {
  for (int digits = 1; digits < 6; ++digits) {
    const double number = rounded(std::sqrt(low * high), digits);
    if (number >= low && number < high) return number;
  }
  return low;
}

/// Where a feature may be cut: between all of its values, or so that parts have as many rows.
std::vector<double> cuts_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> different;
  for (const double value : values) {
    if (different.empty() || value > different.back() * (1 + closest)) different.push_back(value);
  }
  std::vector<double> cuts;
  if (different.size() <= most_cuts + 1) {
    for (std::size_t i = 1; i < different.size(); ++i) {
      cuts.push_back(between(different[i - 1], different[i]));
    }
    return cuts;
  }
  for (std::size_t i = 1; i <= most_cuts; ++i) {
    cuts.push_back(rounded(values[values.size() * i / (most_cuts + 1)], quantile_digits));
  }
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

struct Sums {
  double weighted = 0;  ///< weight x what is left
  double weight = 0;
  std::size_t rows = 0;

  void add(const Sums& other) {
    weighted += other.weighted;
    weight += other.weight;
    rows += other.rows;
  }
  [[nodiscard]] Sums without(const Sums& other) const {
    return {weighted - other.weighted, weight - other.weight, rows - other.rows};
  }
  /// By how much their mean lessens the weighted squares.
  [[nodiscard]] double explained() const { return weighted * weighted / weight; }
};

struct Split {
  double gain = 0;
  std::size_t feature = 0;
  std::size_t cut = 0;  ///< index; up to it on the first side
};

/// A node that grows.
struct Grown {
  std::vector<std::size_t> rows;
  Sums sums{};
  Split best{};
  std::size_t first = 0;  ///< index of the nodes that it was split into; 0: a leaf
  std::size_t second = 0;
};

class Booster {
 public:
  explicit Booster(const std::vector<ResidualRow>& rows) : of_row_(rows.size()) {
    for (std::size_t feature = 0; feature < residual_feature_count; ++feature) {
      std::vector<double> values;
      values.reserve(rows.size());
      for (const ResidualRow& row : rows) values.push_back(row.place[feature]);
      cuts_[feature] = cuts_of(values);
      for (const double value : values) {
        const auto part = std::lower_bound(cuts_[feature].begin(), cuts_[feature].end(), value);
        parts_[feature].push_back(static_cast<std::uint8_t>(part - cuts_[feature].begin()));
      }
    }
  }

  ResidualTree tree(const std::vector<double>& left, int leaves) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double size = left[i] / loss_scale;
      const double weight = 1.0 / std::sqrt(1.0 + size * size);
      of_row_[i] = {weight * left[i], weight, 1};
    }
    std::vector<Grown> grown(1);
    for (std::size_t i = 0; i < left.size(); ++i) grown.front().rows.push_back(i);
    measure(grown.front());
    for (int count = 1; count < leaves; ++count) {
      const auto most =
          std::max_element(grown.begin(), grown.end(), [](const auto& a, const auto& b) {
            return a.best.gain < b.best.gain;
          });
      if (most->best.gain <= 0) break;
      split(static_cast<std::size_t>(most - grown.begin()), grown);
    }
    ResidualTree made;
    put(grown, 0, made);
    return made;
  }

 private:
  void measure(Grown& node) const {
    for (const std::size_t row : node.rows) node.sums.add(of_row_[row]);
    for (std::size_t feature = 0; feature < residual_feature_count; ++feature) {
      std::array<Sums, most_cuts + 1> parts{};
      for (const std::size_t row : node.rows) parts[parts_[feature][row]].add(of_row_[row]);
      Sums low;
      for (std::size_t cut = 0; cut < cuts_[feature].size(); ++cut) {
        low.add(parts[cut]);
        const Sums high = node.sums.without(low);
        if (high.rows < fewest_rows) break;
        if (low.rows < fewest_rows || parts[cut].rows == 0) continue;
        const double gain = low.explained() + high.explained() - node.sums.explained();
        if (gain > node.best.gain) node.best = {gain, feature, cut};
      }
    }
  }

  void split(std::size_t at, std::vector<Grown>& grown) const {
    const Split by = grown[at].best;
    Grown low;
    Grown high;
    for (const std::size_t row : std::exchange(grown[at].rows, {})) {
      (parts_[by.feature][row] <= by.cut ? low : high).rows.push_back(row);
    }
    grown[at].best.gain = 0;
    grown[at].first = grown.size();
    grown[at].second = grown.size() + 1;
    for (Grown* const side : {&low, &high}) {
      measure(*side);
      grown.push_back(std::move(*side));
    }
  }

  /// Values are rounded here, so that the next trees see what a machine file will say.
  void put(const std::vector<Grown>& grown, std::size_t from, ResidualTree& made) const {
    const Grown& node = grown[from];
    const std::size_t at = made.nodes.size();
    made.nodes.emplace_back();
    if (node.first == 0) {
      const double percent = 100 * counted * node.sums.weighted / node.sums.weight;
      made.nodes[at].number = std::round(percent * steps_per_percent) / steps_per_percent + 0.0;
      return;
    }
    made.nodes[at].asked = static_cast<ResidualFeature>(node.best.feature);
    made.nodes[at].number = cuts_[node.best.feature][node.best.cut];
    put(grown, node.first, made);
    made.nodes[at].otherwise = static_cast<std::uint16_t>(made.nodes.size());
    put(grown, node.second, made);
  }

  std::array<std::vector<double>, residual_feature_count> cuts_;
  std::array<std::vector<std::uint8_t>, residual_feature_count> parts_;  ///< by row
  std::vector<Sums> of_row_;
};

}  // namespace

std::vector<ResidualTree> fit_residuals(const std::vector<ResidualRow>& rows,
                                        const ResidualFitOptions& options) {
  std::vector<ResidualTree> trees;
  if (rows.empty()) return trees;
  std::vector<double> left;
  left.reserve(rows.size());
  for (const ResidualRow& row : rows) left.push_back(row.log_ratio);
  Booster booster{rows};
  for (int i = 0; i < options.trees; ++i) {
    trees.push_back(booster.tree(left, options.leaves));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      left[row] -= residual_percent(trees.back(), rows[row].place) / 100.0;
    }
  }
  return trees;
}

}  // namespace schedlab
