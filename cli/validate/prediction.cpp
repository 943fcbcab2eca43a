// SPDX-License-Identifier: Apache-2.0
#include "cli/validate/prediction.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/machine/variability.hpp"
#include "sim/plan/default_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace schedlab {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xFF);  // no text contains it
  }
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) step(static_cast<unsigned char>(number >> (8 * i)));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void step(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001B3ULL; }

  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

std::uint64_t key_of(const Operation& operation) {
  Hash hash;
  hash.add(operation.name);
  hash.add(static_cast<std::uint64_t>(operation.kind));
  for (const Kernel& kernel : operation.kernels) {
    for (const std::int64_t number : {static_cast<std::int64_t>(kernel.kind),
                                      static_cast<std::int64_t>(kernel.type),
                                      kernel.m,
                                      kernel.n,
                                      kernel.k,
                                      static_cast<std::int64_t>(kernel.flops.count()),
                                      kernel.bytes_read.count(),
                                      kernel.bytes_written.count()}) {
      hash.add(static_cast<std::uint64_t>(number));
    }
  }
  return hash.value();
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t draw, std::uint64_t key) {
  Hash hash;
  hash.add(seed);
  hash.add(draw);
  hash.add(key);
  return hash.value();
}

/// One factor for every operation.
IdVector<OperationId, double> factors_of(const TaskGraph& graph,
                                         const OperationCalibration& calibration,
                                         std::uint64_t seed,
                                         std::uint64_t draw) {
  IdVector<OperationId, double> factors(graph.operations().size(), 1.0);
  for (const OperationId operation : factors.ids()) {
    if (!calibration.residuals.contains(operation)) continue;
    const std::vector<double>& residuals = calibration.residuals[operation];
    if (residuals.empty()) continue;
    Rng rng(mixed(seed, draw, key_of(graph.operations()[operation])));
    factors[operation] = residuals[rng.below(residuals.size())];
  }
  return factors;
}

std::vector<double> draw_makespans(ScenarioSpace& space,
                                   std::uint64_t scenario,
                                   const FullRun& run,
                                   const OperationCalibration& calibration,
                                   const DrawRequest& request,
                                   const StopFlag* stop) {
  const Problem nominal = run.prepared->problem();
  const IdVector<TaskId, Duration> durations = nominal.costs.durations();
  const SimulationOptions options{.stop = stop};
  CostTable costs = nominal.costs;
  Simulator simulator;
  Simulator::Recording recording;
  std::vector<double> makespans;
  // A host that shares a core makes tasks longer (ScenarioSpace::prepare_for_execution); the draws
  // take over by how much.
  simulator.run_into(nominal, run.plan, options, recording.trace);
  const double plain = to_us(recording.trace.makespan());
  const double slowed = plain > 0 ? to_us(run.trace.makespan()) / plain : 1.0;
  for (std::uint32_t draw = 0; draw < request.draws; ++draw) {
    const auto factors = factors_of(nominal.graph, calibration, request.seed, draw);
    IdVector<TaskId, Duration> drawn = durations;
    for (const TaskId task : drawn.ids()) {
      const double factor = factors[nominal.graph.operation_id(task)];
      drawn[task] = Duration{std::llround(static_cast<double>(durations[task].count()) * factor)};
    }
    costs.set_task_durations(std::move(drawn));
    const Problem problem{nominal.graph, nominal.platform, costs};
    if (const auto online = online_policy(space, scenario, run)) {
      recording = simulator.record(problem, *online, options);
    } else {
      simulator.run_into(problem, run.plan, options, recording.trace);
    }
    makespans.push_back(slowed * to_us(recording.trace.makespan()));
  }
  return makespans;
}

bool all_inside(const TaskGraph& graph, const OperationCalibration& calibration) {
  const auto tasks = graph.tasks();
  return std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
    const OperationId operation = graph.operation_id(task);
    return !calibration.inside_hull.contains(operation) || calibration.inside_hull[operation] != 0;
  });
}

}  // namespace

std::vector<double> draws_of_medians(const PredictedScenario& predicted,
                                     std::size_t runs,
                                     std::uint64_t seed) {
  std::vector<double> draws = predicted.draws_us;
  if (predicted.run_noise <= 0 || runs == 0) return draws;
  const double of_median = runs == 1 ? 1.0 : 1.2533 / std::sqrt(static_cast<double>(runs));
  for (std::size_t draw = 0; draw < draws.size(); ++draw) {
    draws[draw] *= noise_factor(NoiseLaw::lognormal,
                                predicted.run_noise * of_median,
                                mixed(seed + runs, draw, ~predicted.scenario));
  }
  return draws;
}

OperationCalibration no_calibration(std::uint64_t, const PreparedProblem&) {
  return {};
}

std::unique_ptr<OnlinePolicy> online_policy(ScenarioSpace& space,
                                            std::uint64_t scenario,
                                            const FullRun& run) {
  if (space.planned_ahead(scenario)) return nullptr;
  const std::uint64_t index = space.grid().part_index(scenario, Part::policy);
  auto online = space.policy(index)->online(run.prepared->problem());
  if (online == nullptr || !space.legacy_default_stream(scenario)) return online;
  return with_legacy_default_stream(std::move(online));
}

PredictedScenario predict_scenario(ScenarioSpace& space,
                                   ScenarioRunner& runner,
                                   std::uint64_t scenario,
                                   const CalibrationLookup& calibration,
                                   const DrawRequest& request,
                                   const StopFlag* stop) {
  PredictedScenario predicted;
  predicted.scenario = scenario;
  try {
    auto run = std::make_shared<FullRun>(runner.run_fully(scenario));
    if (!run->findings.empty()) {
      predicted.note = fmt::format("the plan checker objects: {}", run->findings.front().message);
      return predicted;
    }
    const OperationCalibration known = calibration(scenario, *run->prepared);
    predicted.calibrated = known.known();
    predicted.inside_hull = all_inside(*run->prepared->graph, known);
    if (known.known()) {
      predicted.draws_us = draw_makespans(space, scenario, *run, known, request, stop);
    }
    predicted.run_noise = known.run_noise;
    predicted.run = std::move(run);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::runtime_error& error) {  // InputError, InfeasibleError
    predicted.note = error.what();
  } catch (const ContractViolation& error) {
    predicted.note = error.what();
  }
  return predicted;
}

}  // namespace schedlab
