// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/launch_gains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t min_sizes = 3;  // of a crossover

/// The alternatives of a scenario's parts but for `without`.
std::vector<std::uint64_t> parts_without(const Grid& grid,
                                         std::uint64_t scenario,
                                         std::initializer_list<Part> without) {
  std::vector<std::uint64_t> indices;
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto part = static_cast<Part>(i);
    const bool left_out = std::find(without.begin(), without.end(), part) != without.end();
    indices.push_back(left_out ? 0 : grid.part_index(scenario, part));
  }
  return indices;
}

/// "front_end_us=5": the axes of a scenario that belong to neither workload nor launch mode.
std::string shared_axes(const Grid& grid, std::uint64_t scenario) {
  const std::vector<Cell> values = grid.axis_values(scenario);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const AxisColumn& axis = grid.axes()[i];
    if (axis.path.starts_with("/workload") || axis.path.starts_with("/launch")) continue;
    std::visit(
        [&](const auto& value) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
            words.push_back(fmt::format("{}={}", axis.name, value));
          }
        },
        values[i]);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

double tasks_of(const PredictedScenario& predicted) {
  return static_cast<double>(predicted.run->scenario.problem->graph->task_count());
}

double mean_operator_us(const PredictedScenario& predicted) {
  double sum = 0;
  for (const Duration duration : predicted.run->scenario.problem->costs.durations()) {
    sum += to_us(duration);
  }
  return sum / std::max(tasks_of(predicted), 1.0);
}

class GainCollector {
 public:
  GainCollector(const ScenarioSpace& space,
                const std::vector<PredictedScenario>& predicted,
                const Validation& validation)
      : space_(space), grid_(space.grid()), predicted_(predicted), validation_(validation) {}

  [[nodiscard]] LaunchGains collect() {
    pair_up();
    std::map<std::vector<std::uint64_t>, std::vector<const LaunchGain*>> groups;
    for (const LaunchGain& gain : result_.gains) {
      groups[parts_without(grid_, scenario(gain.eager), {Part::workload, Part::launch})].push_back(
          &gain);
    }
    for (const auto& [key, gains] : groups) {
      if (gains.size() >= min_sizes) result_.crossovers.push_back(crossover_of(gains));
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint64_t scenario(std::size_t outcome) const {
    return validation_.scenarios[outcome].scenario;
  }

  void pair_up() {
    constexpr auto none = static_cast<std::size_t>(-1);
    std::map<std::vector<std::uint64_t>, std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < validation_.scenarios.size(); ++i) {
      const ScenarioOutcome& outcome = validation_.scenarios[i];
      if (!outcome.compared()) continue;
      const LaunchMode mode = space_.launch(outcome.scenario).mode;
      if (mode != LaunchMode::eager && mode != LaunchMode::graph_launch) continue;
      const auto found =
          pairs.try_emplace(parts_without(grid_, outcome.scenario, {Part::launch}), none, none);
      std::size_t& place =
          mode == LaunchMode::eager ? found.first->second.first : found.first->second.second;
      if (place == none) place = i;
    }
    for (const auto& [key, pair] : pairs) {
      if (pair.first == none || pair.second == none) continue;
      const ScenarioOutcome& eager = validation_.scenarios[pair.first];
      const ScenarioOutcome& loaded = validation_.scenarios[pair.second];
      result_.gains.push_back({.eager = pair.first,
                               .loaded = pair.second,
                               .operator_us = mean_operator_us(predicted_[eager.scenario]),
                               .predicted_gain = eager.predicted_us / loaded.predicted_us,
                               .measured_gain = eager.measured_us / loaded.measured_us});
    }
  }

  [[nodiscard]] LaunchCrossover crossover_of(const std::vector<const LaunchGain*>& gains) const {
    std::vector<LaunchPoint> predicted;
    std::vector<LaunchPoint> measured;
    std::vector<LaunchPoint> fastest;
    for (const LaunchGain* gain : gains) {
      const ScenarioOutcome& eager = validation_.scenarios[gain->eager];
      const ScenarioOutcome& loaded = validation_.scenarios[gain->loaded];
      const double tasks = tasks_of(predicted_[eager.scenario]);
      predicted.push_back(
          {gain->operator_us, eager.predicted_us / tasks, loaded.predicted_us / tasks});
      measured.push_back(
          {gain->operator_us, eager.measured_us / tasks, loaded.measured_us / tasks});
      fastest.push_back({gain->operator_us, eager.min_us / tasks, loaded.min_us / tasks});
    }
    return {.name = shared_axes(grid_, scenario(gains.front()->eager)),
            .sizes = gains.size(),
            .predicted_us = crossover_size(predicted),
            .measured_us = crossover_size(measured),
            .fastest_us = crossover_size(fastest)};
  }

  const ScenarioSpace& space_;
  const Grid& grid_;
  const std::vector<PredictedScenario>& predicted_;
  const Validation& validation_;
  LaunchGains result_;
};

}  // namespace

std::optional<double> LaunchCrossover::error() const {
  if (!predicted_us || !measured_us || *measured_us == 0) return std::nullopt;
  return *predicted_us / *measured_us - 1.0;
}

std::optional<double> crossover_size(const std::vector<LaunchPoint>& points) {
  std::vector<LaunchPoint> sorted = points;
  std::sort(sorted.begin(), sorted.end(), [](const LaunchPoint& a, const LaunchPoint& b) {
    return a.operator_us < b.operator_us;
  });
  if (sorted.empty()) return std::nullopt;
  const double host_us = sorted.front().eager_us;
  if (sorted.front().loaded_us >= host_us) return std::nullopt;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const LaunchPoint& low = sorted[i - 1];
    const LaunchPoint& high = sorted[i];
    if (high.loaded_us < host_us) continue;
    const double part = (host_us - low.loaded_us) / (high.loaded_us - low.loaded_us);
    return low.operator_us + part * (high.operator_us - low.operator_us);
  }
  return std::nullopt;
}

LaunchGains launch_gains(const ScenarioSpace& space,
                         const std::vector<PredictedScenario>& predicted,
                         const Validation& validation) {
  return GainCollector{space, predicted, validation}.collect();
}

}  // namespace schedlab
