// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario_runner.hpp"

#include "policies/data_parallel.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/default_stream.hpp"
#include "sim/trace/memory_use.hpp"
#include "studies/base/findings_text.hpp"
#include "studies/scenario/host_range.hpp"
#include "studies/scenario/problem_bounds.hpp"
#include "studies/scenario/problem_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

/// Runs the plan. Where the run breaks off, the user hears from the plan checker
/// what is wrong with the plan.
void run_explained(const PreparedProblem& prepared,
                   Simulator& simulator,
                   const Plan& plan,
                   const SimulationOptions& options,
                   Trace& trace) {
  const auto explain = [&](const std::string& reason) {
    const Problem problem = prepared.problem();
    const CheckOptions checks{.check_memory = false};
    expect_runnable(check(problem.graph, problem.platform, plan, checks), reason);
  };
  try {
    const SimulatedProblem what = prepared.simulated(&plan);
    run_by_kernel(simulator, what.steps, what.problem, plan, options, trace);
  } catch (const InfeasibleError& error) {
    explain(error.what());
    throw;
  } catch (const ContractViolation&) {
    explain({});  // what the engine demands of plans means nothing to users
    throw;
  }
}

/// Throws InfeasibleError if the policy schedules one device only.
void expect_all_ranks(const PolicyInfo& info, const TaskGraph& graph) {
  if (info.for_ranks || info.ready_made) return;
  throw InfeasibleError(
      fmt::format("{} schedules one device, but the workload is divided among {} ranks\n  use one "
                  "of pipeline_*, as pipeline_1f1b or pipeline_zb_h1",
                  info.name,
                  graph.rank_count()));
}

}  // namespace

/// What an online policy decides is what it decides when launching eagerly: a graph cannot be
/// decided upon while it runs.
bool ScenarioRunner::plan(const Scenario& scenario, const SimulationOptions& options) {
  const PreparedProblem& part = scenario.problem->part_to_plan();
  const Problem planned = part.problem();
  plan_ = &recording_.plan;
  if (const auto online = scenario.online(planned)) {
    const SimulatedProblem what = part.simulated();
    record_by_kernel(simulator_, what.steps, what.problem, *online, options, recording_);
    recording_.plan.policy = scenario.made_policy().name();
    return &part == scenario.problem.get() && !scenario.planned_ahead();
  }
  if (scenario.policy->info->plans_by_durations) {
    plan_ = &plans_.plan(scenario.part(Part::policy), scenario.made_policy(), part.graph, planned);
  } else {
    recording_.plan = scenario.made_policy().plan(planned);
  }
  return false;
}

void ScenarioRunner::simulate(const Scenario& scenario, const SimulationOptions& options) {
  const PreparedProblem& whole = *scenario.problem;
  const PreparedProblem& part = whole.part_to_plan();
  const bool several = whole.divided != nullptr;
  const bool ahead = scenario.planned_ahead();
  if (!several && part.graph->has_ranks()) expect_all_ranks(*scenario.policy->info, *part.graph);
  converged_ = nullptr;
  if (plan(scenario, options)) {
    converge_costs(scenario, options, true);
    return;
  }
  const bool stays = !several && !ahead && !scenario.legacy_default_stream;
  if (!stays && plan_ != &recording_.plan) {
    recording_.plan = *plan_;
    plan_ = &recording_.plan;
  }
  const TaskGraph& one_run = several ? *whole.divided : *part.graph;
  if (several) recording_.plan = data_parallel_plan(recording_.plan, one_run, whole.overlap);
  if (scenario.legacy_default_stream) use_legacy_default_stream(recording_.plan);
  if (ahead) {
    recording_.plan =
        launched_plan(std::move(recording_.plan), scenario.launch, one_run.task_count(), &one_run);
  }
  run_explained(whole, simulator_, *plan_, options, recording_.trace);
  converge_costs(scenario, options, false);
}

void ScenarioRunner::converge_costs(const Scenario& scenario,
                                    const SimulationOptions& options,
                                    bool replans) {
  const PreparedProblem& prepared = *scenario.problem;
  if (prepared.caches == nullptr) return;
  if (recording_.trace.tasks.size() != prepared.graph->task_count()) return;  // not all could run
  const auto [steps, nominal] = prepared.simulated(replans ? nullptr : plan_);
  const auto run = [&, steps = steps, &nominal = nominal](const CostTable& costs) -> const Trace& {
    const Problem problem{nominal.graph, nominal.platform, costs};
    if (replans) {
      const auto online = scenario.online(prepared.problem());
      record_by_kernel(simulator_, steps, problem, *online, options, recording_);
      recording_.plan.policy = scenario.made_policy().name();
    } else {
      run_by_kernel(simulator_, steps, problem, *plan_, options, recording_.trace);
    }
    return recording_.trace;
  };
  auto converged = std::make_shared<ConvergedCosts>();
  converged->simulated = converge(*prepared.caches, nominal.costs, recording_.trace, run);
  converged->tasks = prepared.costs;
  const IdVector<TaskId, Duration> durations = converged->simulated.durations();
  const Device& device = prepared.machine->platform.devices[DeviceId{0}];
  converged->tasks.set_task_durations(
      steps == nullptr ? durations : steps->folded(durations, device.stream_gap));
  converged->bounds =
      graph_lower_bounds({*prepared.graph, prepared.machine->platform, converged->tasks});
  if (steps != nullptr) {
    const Problem by_step{nominal.graph, nominal.platform, converged->simulated};
    converged->bounds.work = graph_lower_bounds(by_step).work;
  }
  if (scenario.launch.runs == 1) {
    const Problem by_step{nominal.graph, nominal.platform, converged->simulated};
    const BoundedProblem bounded{*prepared.graph, {steps, by_step}, scenario.launch};
    add_ladder(converged->bounds, bounded.problem());
  }
  converged_ = std::move(converged);
}

/// The host's busy time is taken evenly from what all workers could do: the system moves it about,
/// and blocks go to whoever is free.
void ScenarioRunner::slow_for_shared_core(const FullRun& run, const SimulationOptions& options) {
  const std::uint32_t workers = run.scenario.sharing_workers;
  if (workers == 0 || recording_.trace.hosts.empty()) return;  // no host, or one without calls
  constexpr double max_taken = 0.5;  // a host that polls without end still leaves the worker half
  Duration busy{0};
  for (const HostSpan& span : recording_.trace.hosts)
    busy += span.ended - span.started - span.blocked;
  const double capacity = workers * to_seconds(recording_.trace.makespan());
  if (capacity <= 0) return;
  const double taken = std::min(to_seconds(busy) / capacity, max_taken / workers);
  const auto [steps, nominal] = run.simulated(plan_);
  IdVector<TaskId, Duration> durations = nominal.costs.durations();
  for (Duration& duration : durations) {
    duration = round_up_seconds(to_seconds(duration) / (1.0 - taken));
  }
  CostTable slowed = nominal.costs;
  slowed.set_task_durations(std::move(durations));
  const Problem problem{nominal.graph, nominal.platform, slowed};
  run_by_kernel(simulator_, steps, problem, *plan_, options, recording_.trace);
}

void ScenarioRunner::expect_memory(const Problem& problem, Bytes peak) const {
  const auto& devices = problem.platform.devices;
  const bool may_exceed = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return device.memory_capacity.count() > 0 && peak > device.memory_capacity;
  });
  if (may_exceed) expect_memory_suffices(memory_use(problem, recording_.trace));
}

Samples ScenarioRunner::draw(const FullRun& run) {
  Samples samples;
  const Scenario& scenario = run.scenario;
  if (!scenario.sampling) return samples;
  const Sampling& sampling = *scenario.sampling;
  const PreparedProblem& prepared = *scenario.problem;
  const SimulationOptions options{.stop = stop_};
  const bool decided_before = scenario.planned_ahead() || prepared.divided != nullptr;
  const bool decides = !decided_before && scenario.online(prepared.problem()) != nullptr;
  const auto [steps, nominal] = run.simulated(decides ? nullptr : plan_);
  const BoundedProblem bounded{*prepared.graph, {steps, nominal}, scenario.launch};
  for (std::uint64_t i = 0; i < sampling.samples; ++i) {
    const Platform platform = vary_platform(sampling.variability, i, nominal.platform);
    vary_costs(
        sampling.variability, i, nominal.graph, nominal.platform, nominal.costs, varied_costs_);
    const Problem varied{nominal.graph, platform, varied_costs_};
    const Plan* plan = plan_;
    // Policies know what to expect, not what comes: they decide by the costs without noise. In a
    // device graph nothing is decided while it runs, and of several ranks one decides for all.
    if (decides) {
      const auto online = scenario.online(prepared.problem());
      record_by_kernel(simulator_, steps, varied, *online, options, sample_);
      plan = &sample_.plan;
    } else {
      run_by_kernel(simulator_, steps, varied, *plan, options, sample_.trace);
    }
    LowerBounds bounds = graph_lower_bounds(varied);
    add_ladder(bounds, bounded.on(platform, varied_costs_));
    if (steps == nullptr) {
      samples.add(summarizer_.summarize(varied, *plan, sample_.trace, bounds));
      continue;
    }
    CostTable of_tasks = prepared.costs;
    of_tasks.set_task_durations(
        steps->folded(varied_costs_.durations(), steps->gap(*plan, platform)));
    const Problem tasks{*prepared.graph, platform, of_tasks};
    bounds.critical_path = graph_lower_bounds(tasks).critical_path;
    samples.add(summarizer_.summarize(tasks, *plan, sample_.trace, bounds));
  }
  return samples;
}

void ScenarioRunner::add_numbers(const Scenario& scenario,
                                 bool check,
                                 bool with_samples,
                                 ScenarioResult& result) {
  const SimulationOptions options{
      .engine = EngineKind::automatic, .record_hosts = false, .record_flows = false, .stop = stop_};
  simulate(scenario, options);
  const FullRun run{.scenario = scenario,
                    .converged = converged_,
                    .plan = {},
                    .trace = {},
                    .findings = {},
                    .samples = {}};
  const Problem problem = run.problem();
  result.granularity = scenario.granularity;
  result.summary = summarizer_.summarize(problem, *plan_, recording_.trace, run.bounds());
  if (scenario.checks_memory) expect_memory(problem, result.summary.peak_memory);
  if (with_samples) result.samples = draw(run);
  if (scenario.split != nullptr) result.found_split = scenario.split->chosen;
  if (check && problem.graph.task_count() <= largest_checked_graph) {
    const auto findings = checks_.check(scenario.part(Part::policy),
                                        scenario.problem->graph,
                                        problem.platform,
                                        *plan_,
                                        {.check_memory = scenario.checks_memory});
    result.checked = true;
    result.findings = static_cast<std::int64_t>(findings.size());
    if (!findings.empty()) result.note = findings.front().message;
  }
  if (!result.note.empty()) return;
  result.note = note_on(*scenario.problem, scenario.launch.mode);
  const auto host = host_note(*scenario.problem->machine, result.summary.host_busy_share);
  if (!result.note.empty() && !host.empty()) result.note += "; ";
  result.note += host;
}

ScenarioResult ScenarioRunner::run(std::uint64_t number,
                                   bool check,
                                   const ScenarioAs& as,
                                   bool with_samples) {
  ScenarioResult result;
  try {
    add_numbers(space_.scenario(number, as, stop_), check, with_samples, result);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::runtime_error& error) {  // InputError, InfeasibleError
    result.failed = true;
    result.note = error.what();
  } catch (const ContractViolation& error) {
    result.failed = true;
    result.note = error.what();
  }
  return result;
}

FullRun ScenarioRunner::run_fully(const Scenario& scenario, bool with_samples) {
  const SimulationOptions options{
      .engine = EngineKind::automatic, .record_hosts = true, .record_flows = true, .stop = stop_};
  simulate(scenario, options);
  FullRun run;
  run.scenario = scenario;
  run.converged = converged_;
  const Problem problem = run.problem();
  slow_for_shared_core(run, options);
  const Summary summary = summarizer_.summarize(problem, *plan_, recording_.trace, run.bounds());
  if (scenario.checks_memory) expect_memory(problem, summary.peak_memory);
  if (with_samples) run.samples = draw(run);
  run.plan = *plan_;
  run.trace = std::move(recording_.trace);
  run.findings = schedlab::check(
      problem.graph, problem.platform, run.plan, {.check_memory = scenario.checks_memory});
  return run;
}

}  // namespace schedlab
