// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/policy_comparison.hpp"

#include "sim/trace/sampled_metrics.hpp"
#include "studies/spec/axis_label.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {
namespace {

std::vector<Cell> row(const Grid& grid,
                      std::uint64_t first,
                      std::uint64_t second,
                      const PairComparison& pair) {
  return {static_cast<std::int64_t>(first),
          static_cast<std::int64_t>(second),
          axes_text(grid, first, false),
          axes_text(grid, first, true),
          axes_text(grid, second, true),
          static_cast<std::int64_t>(pair.samples),
          static_cast<std::int64_t>(pair.ties),
          pair.faster.value,
          pair.faster.low,
          pair.faster.high,
          pair.ratio.mean,
          pair.ratio.mean_low,
          pair.ratio.mean_high,
          pair.ratio.p5,
          pair.ratio.p95};
}

}  // namespace

std::string axes_text(const Grid& grid, std::uint64_t scenario, bool policy) {
  const std::vector<Cell> cells = grid.axis_values(scenario);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const AxisColumn& axis = grid.axes()[i];
    if (cells[i].index() == 0 || axis.path.starts_with("/policy") != policy) continue;
    const std::string value = to_string(cells[i]);
    words.push_back(axis.path == "/policy" ? value : fmt::format("{}={}", axis.name, value));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

Table compare_policies(const Grid& grid, const ResultsStore& store) {
  Table table;
  using enum ColumnRole;
  table.columns = {{"scenario", note},
                   {"other_scenario", note},
                   {"case", axis},
                   {"policy", axis},
                   {"other_policy", axis},
                   {"samples", metric},
                   {"ties", metric},
                   {"faster_probability", metric},
                   {"faster_probability_low", metric},
                   {"faster_probability_high", metric},
                   {"speed_up_mean", metric},
                   {"speed_up_mean_low", metric},
                   {"speed_up_mean_high", metric},
                   {"speed_up_p5", metric},
                   {"speed_up_p95", metric}};
  const std::uint64_t policies = grid.own_count(Part::policy);
  for (std::uint64_t scenario = 0; scenario < grid.size(); ++scenario) {
    if (grid.with_part(scenario, Part::policy, 0) != scenario) continue;  // once per case
    std::vector<std::vector<Duration>> samples(policies);
    for (std::uint64_t i = 0; i < policies; ++i) {
      samples[i] = store.samples(grid.with_part(scenario, Part::policy, i));
    }
    for (std::uint64_t i = 0; i < policies; ++i) {
      for (std::uint64_t k = i + 1; k < policies; ++k) {
        if (samples[i].empty() || samples[i].size() != samples[k].size()) continue;
        table.rows.push_back(row(grid,
                                 grid.with_part(scenario, Part::policy, i),
                                 grid.with_part(scenario, Part::policy, k),
                                 compare_samples(samples[i], samples[k])));
      }
    }
  }
  return table;
}

}  // namespace schedlab
