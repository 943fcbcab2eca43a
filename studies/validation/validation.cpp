// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/validation.hpp"

#include "sim/base/rng.hpp"
#include "sim/trace/memory_use.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/sweep/policy_comparison.hpp"
#include "studies/validation/changed_decisions.hpp"
#include "studies/validation/validation_summary.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace schedlab {
namespace {

std::string policy_label(const Grid& grid, std::uint64_t scenario) {
  const std::string axes = axes_text(grid, scenario, true);
  return axes.empty() ? grid.part_label(Part::policy, grid.part_index(scenario, Part::policy))
                      : axes;
}

Interval interval_90(std::vector<double> draws) {
  std::sort(draws.begin(), draws.end());
  return {percentile(draws, 0.05), percentile(draws, 0.95)};
}

MemoryOutcome memory_outcome(const FullRun& run, Bytes measured) {
  Bytes predicted{};
  for (const DeviceMemory& device : memory_use(run.scenario.problem->problem(), run.trace)) {
    predicted = std::max(predicted, device.peak);
  }
  const double error = static_cast<double>(predicted.count()) /
                           static_cast<double>(std::max<std::int64_t>(measured.count(), 1)) -
                       1;
  return {.predicted = predicted, .measured = measured, .error = error};
}

/// Collects one thing after another; each step needs those before.
class Validator {
 public:
  Validator(const ScenarioSpace& space,
            const std::vector<PredictedScenario>& predicted,
            const Measurements& measured,
            const std::string& baseline,
            std::uint64_t seed,
            const std::vector<std::optional<PredictionAtSpeed>>& at_speed)
      : space_(space),
        predicted_(predicted),
        measured_(measured),
        baseline_(baseline),
        seed_(seed),
        at_speed_(at_speed),
        machine_(measured),
        rng_(seed) {
    for (const PredictedScenario& one : predicted) {
      medians_.push_back(draws_of_medians(one, measured.scenarios[one.scenario].runs.size(), seed));
    }
  }

  [[nodiscard]] Validation make() {
    for (const auto& group : policy_groups(space_.grid())) add_group(group);
    summarize();
    return std::move(result_);
  }

 private:
  void add_group(const std::vector<std::uint64_t>& scenarios) {
    const std::size_t number = result_.groups.size();
    GroupOutcome& group = result_.groups.emplace_back();
    group.name = axes_text(space_.grid(), scenarios.front(), false);
    const IdVectors alone = measured_alone(scenarios);
    for (const std::uint64_t scenario : scenarios) {
      const std::size_t index = result_.scenarios.size();
      result_.scenarios.push_back(outcome_of(scenario, number, alone));
      const ScenarioOutcome& outcome = result_.scenarios.back();
      if (!outcome.compared()) continue;
      group.members.push_back(index);
      const std::uint64_t policy = space_.grid().part_index(scenario, Part::policy);
      if (space_.components().policy_name(policy) != baseline_) continue;
      // A baseline with axes of its own: its shortest run, as in sweeps.
      if (!group.baseline || outcome.measured_us < result_.scenarios[*group.baseline].measured_us) {
        group.baseline = index;
        result_.baseline = baseline_;
      }
    }
    rank(group);
    add_pairs(group);
  }

  using IdVectors = std::map<const TaskGraph*, IdVector<OperationId, Duration>>;

  /// Isolated durations, from all runs of the group that share a graph.
  [[nodiscard]] IdVectors measured_alone(const std::vector<std::uint64_t>& scenarios) const {
    std::map<const TaskGraph*, std::vector<Trace>> traces;
    for (const std::uint64_t scenario : scenarios) {
      const PredictedScenario& predicted = predicted_[scenario];
      const MeasuredScenario& measured = measured_.scenarios[scenario];
      if (predicted.run == nullptr || measured.traces.empty()) continue;
      traces[predicted.run->scenario.problem->graph.get()].push_back(measured.traces.front());
    }
    IdVectors alone;
    for (const auto& [graph, list] : traces) alone.emplace(graph, durations_alone(*graph, list));
    return alone;
  }

  [[nodiscard]] ScenarioOutcome outcome_of(std::uint64_t scenario,
                                           std::size_t group,
                                           const IdVectors& alone) {
    const PredictedScenario& predicted = predicted_[scenario];
    const MeasuredScenario& measured = measured_.scenarios[scenario];
    ScenarioOutcome outcome;
    outcome.scenario = scenario;
    outcome.group = group;
    outcome.name = space_.grid().describe(scenario);
    outcome.policy = policy_label(space_.grid(), scenario);
    outcome.runs = measured.runs.size();
    outcome.note = !predicted.note.empty() ? predicted.note : measured.note;
    if (outcome.note.empty() && (measured.runs.empty() || measured.traces.empty())) {
      outcome.note = "not measured";
    }
    if (!outcome.compared()) return outcome;

    std::vector<double> makespans_us;
    std::vector<Duration> makespans;
    for (const RunRecord& run : measured.runs) {
      makespans_us.push_back(to_us(run.makespan));
      makespans.push_back(run.makespan);
    }
    outcome.measured_95 = bootstrap_median_95(makespans_us, rng_);
    outcome.in_calibrated_range = predicted.in_calibrated_range;
    outcome.min_us = *std::min_element(makespans_us.begin(), makespans_us.end());
    outcome.spread = quartiles(makespans_us).relative_spread();
    const FullRun& run = *predicted.run;
    const double half = (outcome.measured_95.high - outcome.measured_95.low) / 2;
    outcome.comparison = compare_traces({.problem = run.problem(),
                                         .simulated = run.trace,
                                         .measured = measured.traces,
                                         .makespans = makespans,
                                         .alone = &alone.at(run.scenario.problem->graph.get()),
                                         .noise_floor = from_us(half)});
    outcome.predicted_us = to_us(outcome.comparison.predicted);
    const Problem problem = predicted.run->problem();
    outcome.predicted_evidence =
        cost_evidence(problem.graph, problem.platform.devices[DeviceId{0}]);
    outcome.measured_us = to_us(outcome.comparison.measured);
    outcome.error = outcome.comparison.error;
    outcome.changed_decisions = changed_decisions(run.plan, measured.plans);
    if (scenario < at_speed_.size() && at_speed_[scenario]) {
      add_at_speed(*at_speed_[scenario], alone, outcome);
    }
    add_undisturbed(measured, outcome);
    if (measured.tensors_peak) outcome.memory = memory_outcome(run, *measured.tensors_peak);
    if (!predicted.draws_us.empty()) {
      outcome.predicted_90 = interval_90(medians_[scenario]);
      outcome.run_90 = interval_90(draws_of_medians(predicted, 1, seed_));
      for (const double makespan : makespans_us) {
        ++runs_;
        if (outcome.run_90->contains(makespan)) ++runs_covered_;
      }
      result_.calibrated = true;
    }
    return outcome;
  }

  /// The rest of the error budget is then of the prediction at that speed.
  void add_at_speed(const PredictionAtSpeed& speed,
                    const IdVectors& alone,
                    ScenarioOutcome& outcome) const {
    const FullRun& run = *predicted_[outcome.scenario].run;
    const MeasuredScenario& measured = measured_.scenarios[outcome.scenario];
    OutcomeAtSpeed& made = outcome.at_speed.emplace();
    made.predicted_us = to_us(speed.trace.makespan());
    made.error = made.predicted_us / outcome.measured_us - 1;
    if (!speed.draws_us.empty()) {
      PredictedScenario drawn;
      drawn.scenario = outcome.scenario;
      drawn.draws_us = speed.draws_us;
      drawn.run_noise = predicted_[outcome.scenario].run_noise;
      made.predicted_90 = interval_90(draws_of_medians(drawn, outcome.runs, seed_));
    }
    const Problem problem = run.problem();
    CostTable costs = problem.costs;
    costs.set_task_durations(speed.durations);
    const Problem at_speed{problem.graph, problem.platform, costs};
    ErrorBudget& budget = outcome.comparison.budget;
    const Duration typical = outcome.comparison.measured;
    budget = error_budget({.problem = at_speed,
                           .simulated = speed.trace,
                           .measured = measured.traces[nearest_to(measured.traces, typical)],
                           .median = typical,
                           .noise_floor = budget.noise_floor,
                           .alone = alone.at(run.scenario.problem->graph.get())});
    add_drift(run.trace.makespan() - speed.trace.makespan(), budget);
  }

  void add_undisturbed(const MeasuredScenario& measured, ScenarioOutcome& outcome) const {
    if (!machine_.known()) return;
    std::vector<double> makespans_us;
    for (const RunRecord& run : measured.runs) {
      if (machine_.disturbed(outcome.group, run.round)) continue;
      makespans_us.push_back(to_us(run.makespan));
    }
    if (makespans_us.size() < min_undisturbed) return;
    UndisturbedOutcome& made = outcome.undisturbed.emplace();
    made.runs = makespans_us.size();
    made.measured_us = median(std::move(makespans_us));
    made.error = outcome.predicted_us / made.measured_us - 1;
  }

  void rank(GroupOutcome& group) const {
    if (group.members.empty()) return;
    std::vector<double> predicted;
    std::vector<double> measured;
    for (const std::size_t member : group.members) {
      predicted.push_back(result_.scenarios[member].predicted_us);
      measured.push_back(result_.scenarios[member].measured_us);
    }
    group.kendall_tau = kendall_tau(predicted, measured);
    group.regret = regret_of(predicted, measured);
    const auto best = [&](const std::vector<double>& times) {
      return group.members[static_cast<std::size_t>(std::min_element(times.begin(), times.end()) -
                                                    times.begin())];
    };
    group.predicted_best = best(predicted);
    group.measured_best = best(measured);
  }

  void add_pairs(const GroupOutcome& group) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      for (std::size_t k = i + 1; k < group.members.size(); ++k) {
        result_.pairs.push_back(pair_of(group.members[i], group.members[k]));
      }
      const std::size_t member = group.members[i];
      if (!group.baseline || *group.baseline == member) continue;
      const PairOutcome pair = pair_of(member, *group.baseline);
      result_.speed_ups.push_back({.outcome = member,
                                   .predicted = pair.predicted_ratio,
                                   .measured = pair.measured_ratio,
                                   .decidable = pair.decidable,
                                   .sign_agrees = pair.right});
    }
  }

  [[nodiscard]] PairOutcome pair_of(std::size_t first, std::size_t second) const {
    const ScenarioOutcome& a = result_.scenarios[first];
    const ScenarioOutcome& b = result_.scenarios[second];
    PairOutcome pair;
    pair.first = first;
    pair.second = second;
    pair.predicted_ratio = b.predicted_us / a.predicted_us;
    pair.measured_ratio = b.measured_us / a.measured_us;
    pair.decidable = !a.measured_95.overlaps(b.measured_95);
    const auto sign = [](double ratio) { return ratio > 1 ? 1 : ratio < 1 ? -1 : 0; };
    pair.right = sign(pair.predicted_ratio) == sign(pair.measured_ratio);
    if (a.at_speed && b.at_speed) {
      const double ratio = b.at_speed->predicted_us / a.at_speed->predicted_us;
      pair.right_at_speed = sign(ratio) == sign(pair.measured_ratio);
    }
    const std::vector<double>& of_a = medians_[a.scenario];
    const std::vector<double>& of_b = medians_[b.scenario];
    if (!of_a.empty() && of_a.size() == of_b.size()) {
      double faster = 0;
      for (std::size_t i = 0; i < of_a.size(); ++i) {
        faster += of_a[i] < of_b[i] ? 1.0 : of_a[i] == of_b[i] ? 0.5 : 0.0;
      }
      pair.probability = faster / static_cast<double>(of_a.size());
    }
    return pair;
  }

  void summarize() {
    summarize_makespans();
    summarize_speed();
    summarize_validation(result_);
  }

  void summarize_makespans() {
    std::vector<double> all;
    std::vector<double> inside;
    std::vector<double> outside;
    std::vector<double> fastest;
    std::vector<double> memory;
    std::vector<double> spreads;
    std::vector<double> predicted;
    std::vector<double> measured;
    std::size_t intervals = 0;
    double covered = 0;
    for (const ScenarioOutcome& outcome : result_.scenarios) {
      if (!outcome.compared()) continue;
      all.push_back(outcome.error);
      (outcome.in_calibrated_range ? inside : outside).push_back(outcome.error);
      if (outcome.memory) memory.push_back(outcome.memory->error);
      if (outcome.min_us > 0) fastest.push_back(outcome.predicted_us / outcome.min_us - 1);
      spreads.push_back(outcome.spread);
      predicted.push_back(outcome.predicted_us);
      measured.push_back(outcome.measured_us);
      if (!outcome.predicted_90) continue;
      ++intervals;
      covered += outcome.predicted_90->contains(outcome.measured_us) ? 1 : 0;
    }
    result_.all = summarize_errors(all);
    result_.inside = summarize_errors(inside);
    result_.outside = summarize_errors(outside);
    result_.fastest = summarize_errors(fastest);
    result_.memory = summarize_errors(memory);
    if (!spreads.empty()) result_.spread = median(spreads);
    result_.kendall_tau = kendall_tau(predicted, measured);
    result_.coverage = proportion(covered, intervals);
    result_.run_coverage = proportion(static_cast<double>(runs_covered_), runs_);
  }

  void summarize_speed() {
    std::vector<double> at_speed;
    std::vector<double> undisturbed;
    std::vector<std::uint32_t> rounds(result_.groups.size(), 0);
    std::size_t intervals = 0;
    double covered = 0;
    for (const ScenarioOutcome& outcome : result_.scenarios) {
      if (!outcome.compared()) continue;
      rounds[outcome.group] =
          std::max(rounds[outcome.group], static_cast<std::uint32_t>(outcome.runs));
      if (outcome.undisturbed) undisturbed.push_back(outcome.undisturbed->error);
      if (!outcome.at_speed) continue;
      at_speed.push_back(outcome.at_speed->error);
      if (!outcome.at_speed->predicted_90) continue;
      ++intervals;
      covered += outcome.at_speed->predicted_90->contains(outcome.measured_us) ? 1 : 0;
    }
    result_.speed = machine_.summary(rounds);
    result_.at_speed = summarize_errors(at_speed);
    result_.undisturbed = summarize_errors(undisturbed);
    result_.at_speed_coverage = proportion(covered, intervals);
  }

  const ScenarioSpace& space_;
  const std::vector<PredictedScenario>& predicted_;
  const Measurements& measured_;
  const std::string& baseline_;
  std::uint64_t seed_;
  const std::vector<std::optional<PredictionAtSpeed>>& at_speed_;
  SpeedOfMachine machine_;
  Rng rng_;
  std::vector<std::vector<double>> medians_;  // draws of the measured medians, by scenario
  Validation result_;
  std::size_t runs_ = 0;
  std::size_t runs_covered_ = 0;
};

}  // namespace

std::vector<std::vector<std::uint64_t>> policy_groups(const Grid& grid) {
  std::vector<std::vector<std::uint64_t>> groups;
  for (std::uint64_t scenario = 0; scenario < grid.size(); ++scenario) {
    if (grid.with_part(scenario, Part::policy, 0) != scenario) continue;  // once per group
    auto& group = groups.emplace_back();
    for (std::uint64_t i = 0; i < grid.own_count(Part::policy); ++i) {
      group.push_back(grid.with_part(scenario, Part::policy, i));
    }
  }
  return groups;
}

Validation validate(const ScenarioSpace& space,
                    const std::vector<PredictedScenario>& predicted,
                    const Measurements& measured,
                    const std::string& baseline,
                    std::uint64_t seed,
                    const std::vector<std::optional<PredictionAtSpeed>>& at_speed) {
  return Validator{space, predicted, measured, baseline, seed, at_speed}.make();
}

}  // namespace schedlab
