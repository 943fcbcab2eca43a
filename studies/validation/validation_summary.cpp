// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation_summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace schedlab {
namespace {

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0.0 : median(values);
}

void summarize_ranking(Validation& all) {
  std::vector<double> taus;
  std::vector<double> regrets;
  for (const GroupOutcome& group : all.groups) {
    if (group.members.size() < 2) continue;
    if (group.kendall_tau) taus.push_back(*group.kendall_tau);
    regrets.push_back(group.regret);
  }
  if (!taus.empty()) all.group_tau = median(taus);
  for (const double regret : regrets) {
    all.mean_regret += regret / static_cast<double>(regrets.size());
    all.max_regret = std::max(all.max_regret, regret);
  }
}

void summarize_pairs(Validation& all) {
  double right = 0;
  double right_at_speed = 0;
  std::size_t decidable_at_speed = 0;
  std::vector<std::pair<double, bool>> predictions;
  std::vector<std::pair<double, bool>> decidable_predictions;
  for (const PairOutcome& pair : all.pairs) {
    all.decidable += pair.decidable ? 1 : 0;
    right += pair.decidable && pair.right ? 1 : 0;
    if (pair.decidable && pair.right_at_speed) {
      ++decidable_at_speed;
      right_at_speed += *pair.right_at_speed ? 1 : 0;
    }
    if (!pair.probability || pair.measured_ratio == 1) continue;
    predictions.emplace_back(*pair.probability, pair.measured_ratio > 1);
    if (pair.decidable) decidable_predictions.push_back(predictions.back());
  }
  all.order = proportion(right, all.decidable);
  all.at_speed_order = proportion(right_at_speed, decidable_at_speed);
  all.probabilities = score_probabilities(predictions);
  all.decidable_probabilities = score_probabilities(decidable_predictions);
}

void summarize_signs(Validation& all) {
  std::size_t decidable = 0;
  double agree = 0;
  double agree_decidable = 0;
  for (const SpeedUpOutcome& speed_up : all.speed_ups) {
    decidable += speed_up.decidable ? 1 : 0;
    agree += speed_up.sign_agrees ? 1 : 0;
    agree_decidable += speed_up.decidable && speed_up.sign_agrees ? 1 : 0;
  }
  all.signs = proportion(agree_decidable, decidable);
  all.all_signs = proportion(agree, all.speed_ups.size());
}

/// Its speed-ups over the baseline.
void add_speed_ups(const Validation& all, PolicySummary& summary) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const SpeedUpOutcome& one : all.speed_ups) {
    if (all.scenarios[one.outcome].policy != summary.policy) continue;
    predicted.push_back(one.predicted);
    measured.push_back(one.measured);
    summary.signs_right += one.sign_agrees ? 1 : 0;
    summary.decidable += one.decidable ? 1 : 0;
    summary.decidable_right += one.decidable && one.sign_agrees ? 1 : 0;
  }
  summary.speed_ups = predicted.size();
  summary.predicted_speed_up = median_or_zero(predicted);
  summary.measured_speed_up = median_or_zero(measured);
}

void summarize_policies(Validation& all) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> errors;
  for (const ScenarioOutcome& outcome : all.scenarios) {
    if (!outcome.compared()) continue;
    auto& list = errors[outcome.policy];
    if (list.empty()) names.push_back(outcome.policy);
    list.push_back(outcome.error);
  }
  for (const std::string& name : names) {
    PolicySummary summary;
    summary.policy = name;
    summary.error = summarize_errors(errors[name]);
    summary.scenarios = summary.error.count;
    add_speed_ups(all, summary);
    all.policies.push_back(std::move(summary));
  }
}

void summarize_budgets(Validation& all) {
  for (std::size_t part = 0; part < error_part_count; ++part) {
    std::vector<double> shares;
    std::vector<double> absolute;
    for (const ScenarioOutcome& outcome : all.scenarios) {
      if (!outcome.compared() || outcome.measured_us <= 0) continue;
      const Duration value = outcome.comparison.budget.parts.at(part);
      shares.push_back(to_us(value) / outcome.measured_us);
      absolute.push_back(std::abs(shares.back()));
    }
    all.budget.at(part) = {median_or_zero(shares), median_or_zero(absolute)};
  }
}

void summarize_kinds(Validation& all) {
  std::map<std::string, std::vector<const TaskErrors*>> kinds;
  for (const ScenarioOutcome& outcome : all.scenarios) {
    if (!outcome.compared()) continue;
    for (const TaskErrors& errors : outcome.comparison.by_kind) {
      kinds[errors.name].push_back(&errors);
    }
  }
  for (const auto& [kind, list] : kinds) {
    const auto over = [&list = list](const auto& value) {
      std::vector<double> values;
      values.reserve(list.size());
      for (const TaskErrors* errors : list) values.push_back(value(*errors));
      return median(values);
    };
    KindSummary summary{.kind = kind, .scenarios = list.size()};
    for (const TaskErrors* errors : list) summary.tasks += errors->tasks;
    summary.duration_p50 = over([](const TaskErrors& e) { return e.duration.p50; });
    summary.duration_p90 = over([](const TaskErrors& e) { return e.duration.p90; });
    summary.start_p50 = over([](const TaskErrors& e) { return e.start.p50; });
    summary.start_p90 = over([](const TaskErrors& e) { return e.start.p90; });
    summary.bias = over([](const TaskErrors& e) { return e.bias; });
    all.kinds.push_back(std::move(summary));
  }
}

}  // namespace

void summarize_validation(Validation& all) {
  summarize_ranking(all);
  summarize_pairs(all);
  summarize_signs(all);
  summarize_policies(all);
  summarize_budgets(all);
  summarize_kinds(all);
}

}  // namespace schedlab
