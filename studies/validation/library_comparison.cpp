// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/library_comparison.hpp"

#include "notebooks_export/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// The library's time for a pass, of one variant; nullopt: it has none.
std::optional<double> time_of(const BaselineVariant& variant, RecurrentPass pass) {
  double us = 0;
  const auto add = [&](RnnCall call) {
    const CallTimes* times = variant.find(call);
    if (times != nullptr) us += times->median_us();
    return times != nullptr;
  };
  if (pass != RecurrentPass::backward && !add(RnnCall::forward)) return std::nullopt;
  if (pass != RecurrentPass::forward && !add(RnnCall::backward)) return std::nullopt;
  return us;
}

/// The fastest variant's name and time, in the row; false: no variant has run.
bool take_fastest_variant(const BaselineWorkload& workload, LibraryRow& row) {
  bool found = false;
  for (const BaselineVariant& variant : workload.variants) {
    const std::optional<double> us = time_of(variant, workload.spec.pass);
    if (!us || (found && *us >= row.library_us)) continue;
    found = true;
    row.library_us = *us;
    row.variant = variant.variant;
  }
  return found;
}

/// The outcomes of a network that were compared, as numbers of scenarios of the validation.
struct NetworkOutcomes {
  std::vector<std::size_t> all;
  /// Each policy once, in the order of the spec.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> by_policy;
};

NetworkOutcomes outcomes_of(const RecurrentSpec& network,
                            const ScenarioSpace& space,
                            const Validation& validation) {
  const Grid& grid = space.grid();
  const Components& components = space.components();
  NetworkOutcomes outcomes;
  for (std::size_t i = 0; i < validation.scenarios.size(); ++i) {
    const ScenarioOutcome& outcome = validation.scenarios[i];
    if (!outcome.compared()) continue;
    const auto spec = components.recurrent_spec(grid.part_index(outcome.scenario, Part::workload),
                                                Granularity::fine);
    if (!spec || !same_network(*spec, network)) continue;
    outcomes.all.push_back(i);
    const std::string policy =
        components.policy_name(grid.part_index(outcome.scenario, Part::policy));
    auto own = std::find_if(outcomes.by_policy.begin(),
                            outcomes.by_policy.end(),
                            [&](const auto& named) { return named.first == policy; });
    if (own == outcomes.by_policy.end()) own = outcomes.by_policy.insert(own, {policy, {}});
    own->second.push_back(i);
  }
  return outcomes;
}

/// Completes a row from the outcomes that it is about.
LibraryRow row_of(LibraryRow row,
                  const Validation& validation,
                  const std::vector<std::size_t>& outcomes) {
  const auto& all = validation.scenarios;
  const auto least = [&](double ScenarioOutcome::*time) {
    return *std::min_element(outcomes.begin(), outcomes.end(), [&](std::size_t a, std::size_t b) {
      return all[a].*time < all[b].*time;
    });
  };
  row.scenarios = outcomes.size();
  row.fastest = least(&ScenarioOutcome::measured_us);
  row.chosen = least(&ScenarioOutcome::predicted_us);
  row.fastest_us = all[row.fastest].measured_us;
  row.chosen_us = all[row.chosen].measured_us;
  return row;
}

void add_turns(const std::optional<LibraryTurns>& turns, std::vector<Cell>& row) {
  constexpr std::size_t cells = 9;
  if (!turns) return row.resize(row.size() + cells);
  row.insert(row.end(),
             {std::int64_t{turns->turns},
              turns->plan_us,
              turns->plan.low,
              turns->plan.high,
              turns->library_us,
              turns->library.low,
              turns->library.high,
              turns->ratio(),
              turns->drift});
}

}  // namespace

std::vector<LibraryRow> compare_with_library(const ScenarioSpace& space,
                                             const Validation& validation,
                                             const Baselines& baselines) {
  std::vector<LibraryRow> rows;
  for (const BaselineWorkload& workload : baselines.workloads) {
    LibraryRow row;
    row.network = workload.label;
    if (!take_fastest_variant(workload, row)) continue;
    const NetworkOutcomes outcomes = outcomes_of(workload.spec, space, validation);
    if (outcomes.all.empty()) continue;
    rows.push_back(row_of(row, validation, outcomes.all));
    for (const auto& [policy, own] : outcomes.by_policy) {
      row.policy = policy;
      rows.push_back(row_of(row, validation, own));
    }
  }
  return rows;
}

Table library_table(const Validation& validation, const std::vector<LibraryRow>& rows) {
  using enum ColumnRole;
  Table table{.columns = {{"network", axis},
                          {"policy", axis},
                          {"scenarios", metric},
                          {"algorithm", note},
                          {"library_launch", note},
                          {"library_us", metric},
                          {"fastest_us", metric},
                          {"fastest_over_library", metric},
                          {"chosen_us", metric},
                          {"chosen_over_library", metric},
                          {"regret", metric},
                          {"fastest", note},
                          {"chosen", note},
                          {"turns", metric},
                          {"plan_in_turns_us", metric},
                          {"plan_in_turns_low_us", metric},
                          {"plan_in_turns_high_us", metric},
                          {"library_in_turns_us", metric},
                          {"library_in_turns_low_us", metric},
                          {"library_in_turns_high_us", metric},
                          {"over_library_in_turns", metric},
                          {"library_drift", metric}},
              .rows = {}};
  for (const LibraryRow& row : rows) {
    table.rows.push_back({row.network,
                          row.policy.empty() ? std::string{"(all)"} : row.policy,
                          static_cast<std::int64_t>(row.scenarios),
                          row.variant.algorithm,
                          row.variant.launch,
                          row.library_us,
                          row.fastest_us,
                          row.fastest_ratio(),
                          row.chosen_us,
                          row.chosen_ratio(),
                          row.regret(),
                          validation.scenarios[row.fastest].name,
                          validation.scenarios[row.chosen].name});
    add_turns(row.turns, table.rows.back());
  }
  return table;
}

PrintedTable turns_table(const std::vector<LibraryRow>& rows) {
  const auto interval = [](double us, const Interval& between) {
    return fmt::format("{} ({} to {})",
                       readable(from_us(us)),
                       readable(from_us(between.low)),
                       readable(from_us(between.high)));
  };
  PrintedTable table =
      empty_table({"network", "turns", "fastest", "library", "fastest / library", "drift"}, 1);
  for (const LibraryRow& row : rows) {
    if (!row.turns) continue;
    table.rows.push_back({row.network,
                          fmt::format("{}", row.turns->turns),
                          interval(row.turns->plan_us, row.turns->plan),
                          interval(row.turns->library_us, row.turns->library),
                          fmt::format("{:.3f}", row.turns->ratio()),
                          signed_percent(row.turns->drift)});
  }
  return table;
}

}  // namespace schedlab
