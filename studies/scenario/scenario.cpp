// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario.hpp"

#include "policies/data_parallel.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/plan/default_stream.hpp"
#include "sim/trace/memory_use.hpp"
#include "studies/base/findings_text.hpp"
#include "studies/scenario/host_range.hpp"
#include "studies/scenario/problem_costs.hpp"
#include "workloads/transforms/cut_kernels.hpp"
#include "workloads/transforms/data_parallel.hpp"
#include "workloads/transforms/tensor_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t graph_cache_bytes = std::size_t{128} << 20U;
constexpr std::size_t problem_cache_bytes = std::size_t{128} << 20U;
constexpr std::size_t recent_bytes = std::size_t{32} << 20U;  // per thread
constexpr std::size_t object_cache_entries = 1U << 16U;
constexpr std::uint64_t known_launches = 1U << 12U;
constexpr std::size_t recent_problems = 16;  // more than granularities times machines of most specs
constexpr std::size_t recent_policies = 4096;

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

}  // namespace

ScenarioSpace::ScenarioSpace(const Spec& spec, const Grid& grid)
    : grid_(grid),
      components_(spec, grid),
      check_memory_(spec.check_memory),
      finds_splits_(leaves_split_open(spec)),
      graphs_(graph_cache_bytes),
      machines_(object_cache_entries),
      cost_models_(object_cache_entries),
      problems_(problem_cache_bytes),
      policies_(object_cache_entries),
      splits_(object_cache_entries) {
  const std::uint64_t count = std::min(grid.part_count(Part::launch), known_launches);
  for (std::uint64_t i = 0; i < count; ++i) launches_.push_back(components_.launch(i));
}

void ScenarioSpace::prepare_for_execution(std::uint32_t workers, HostPlacement host) {
  workers_ = workers;
  host_ = host;
}

bool ScenarioSpace::legacy_default_stream(std::uint64_t scenario) const {
  return components_.legacy_default_stream(grid_.part_index(scenario, Part::default_stream));
}

std::shared_ptr<const CostModel> ScenarioSpace::cost_model(std::uint64_t index,
                                                           const MachineSpec& machine) {
  const bool profiled = calibrated_profile(machine.platform.devices[DeviceId{0}]) != nullptr;
  auto holder = cost_models_.get(
      {index, profiled ? 1U : 0U},
      [&] { return components_.cost_model(index, machine); },
      [](const std::unique_ptr<CostModel>&) { return std::size_t{1}; });
  const CostModel* model = holder->get();
  return {std::move(holder), model};
}

PreparedProblem ScenarioSpace::make_single(const ProblemKey& key) {
  PreparedProblem made;
  const LaunchChoice launch = key[4] == 0 ? LaunchChoice{} : launch_alternative(key[4] - 1);
  made.graph = graphs_.get(
      {key[0], key[1], key[6]},
      [&] {
        return components_.graph(
            key[0], static_cast<Granularity>(key[1]), static_cast<std::int64_t>(key[6]));
      },
      [](const TaskGraph& graph) { return graph.memory_bytes(); });
  const bool preloaded = workers_ != 0 && host_ == HostPlacement::preloaded;
  made.machine = machines_.get(
      {key[2], key[4]},
      [&] {
        MachineSpec machine = components_.machine(key[2]);
        apply_launch_mode(launch, machine.platform);
        if (preloaded) {
          for (Host& host : machine.platform.hosts) host = {};
          for (Device& device : machine.platform.devices) device.launch_latency = Duration{0};
        }
        return machine;
      },
      [](const MachineSpec&) { return std::size_t{1}; });
  if (launch.mode == LaunchMode::sink && !preloaded) {
    auto sunk = std::make_shared<MachineSpec>(*made.machine);
    apply_sink(launch.sink, *made.graph, sunk->platform);
    made.machine = std::move(sunk);
  }
  if (made.graph->has_ranks() && made.machine->platform.ranks == 0) {
    auto several = std::make_shared<MachineSpec>(*made.machine);
    several->platform.ranks = made.graph->rank_count();
    made.machine = std::move(several);
  }
  const Device& device = made.machine->platform.devices[DeviceId{0}];
  auto cut = CutKernels::for_device(device);
  if (!cut && workers_ != 0) cut.emplace(CutRule{}, CutKernels::units_for(workers_, device));
  if (cut) made.graph = std::make_shared<TaskGraph>(cut->apply(*made.graph));
  set_costs_and_gaps(*cost_model(key[3], *made.machine), made);
  return made;
}

PreparedProblem ScenarioSpace::make_ranks(const ProblemKey& key,
                                          const Transform& transform,
                                          std::uint32_t ranks) {
  PreparedProblem made;
  auto single = std::make_shared<PreparedProblem>(make_single(key));
  made.graph = std::make_shared<TaskGraph>(transform.apply(*single->graph));
  auto machine = std::make_shared<MachineSpec>(*single->machine);
  machine->platform.ranks = ranks;
  made.machine = std::move(machine);
  set_costs(*cost_model(key[3], *made.machine), made);
  made.single = std::move(single);
  return made;
}

PreparedProblem ScenarioSpace::make_once(const ProblemKey& key) {
  const RanksChoice ranks = components_.ranks(key[5]);
  const auto parts = components_.tensor_parallel(key[0]);
  if (parts && ranks.count != 1) {
    throw InfeasibleError(
        "a workload with tensor_parallel has its own ranks\n  leave out \"ranks\"");
  }
  if (parts) return make_ranks(key, TensorParallel{*parts}, parts->ranks);
  if (ranks.count == 1) return make_single(key);
  PreparedProblem made = make_ranks(
      key,
      DataParallel{{.ranks = ranks.count, .bucket = ranks.bucket, .algorithm = ranks.algorithm}},
      ranks.count);
  made.overlap = ranks.overlap;
  return made;
}

std::shared_ptr<const Policy> ScenarioSpace::policy(std::uint64_t index) {
  auto holder = policies_.get(
      index,
      [&] { return components_.policy(index); },
      [](const std::unique_ptr<Policy>&) { return std::size_t{1}; });
  const Policy* policy = holder->get();
  return {std::move(holder), policy};
}

const ScenarioRunner::RecentPolicy& ScenarioRunner::policy_of(std::uint64_t scenario) {
  const std::uint64_t index = space_.grid().part_index(scenario, Part::policy);
  if (policies_.empty()) policies_.resize(recent_policies);
  RecentPolicy& slot = policies_[index % recent_policies];
  if (slot.value == nullptr || slot.index != index) {
    const PolicyInfo& info = find_policy(space_.components().policy_name(index));
    slot = {index, space_.policy(index), info.plans_by_durations};
  }
  return slot;
}

std::shared_ptr<const PreparedProblem> ScenarioRunner::prepared(std::uint64_t scenario,
                                                                Granularity granularity) {
  const ScenarioSpace::ProblemKey key = space_.problem_key(scenario, granularity, stop_, slices_);
  for (const RecentProblem& recent : problems_) {
    if (recent.key == key) return recent.value;
  }
  auto value = space_.prepared(key);
  const std::size_t bytes = value->graph->memory_bytes() + value->costs.memory_bytes();
  if (problems_.size() == recent_problems || recent_bytes_ + bytes > recent_bytes) {
    problems_.clear();
    recent_bytes_ = 0;
  }
  problems_.push_back({key, value});
  recent_bytes_ += bytes;
  return value;
}

std::unique_ptr<OnlinePolicy> ScenarioRunner::online(std::uint64_t scenario,
                                                     const Policy& policy,
                                                     const Problem& problem) const {
  auto online = policy.online(problem);
  if (online == nullptr || !space_.legacy_default_stream(scenario)) return online;
  return with_legacy_default_stream(std::move(online));
}

void ScenarioRunner::expect_all_ranks(std::uint64_t scenario, const TaskGraph& graph) const {
  const std::string name =
      space_.components().policy_name(space_.grid().part_index(scenario, Part::policy));
  const PolicyInfo& info = find_policy(name);
  if (info.for_ranks || info.ready_made) return;
  throw InfeasibleError(
      fmt::format("{} schedules one device, but the workload is divided among {} ranks\n  use one "
                  "of pipeline_naive, pipeline_flush, pipeline_1f1b, pipeline_interleaved_1f1b, "
                  "pipeline_zb_h1",
                  name,
                  graph.rank_count()));
}

/// What an online policy decides is what it decides when launching eagerly: a graph cannot be
/// decided upon while it runs.
void ScenarioRunner::simulate(std::uint64_t scenario,
                              const PreparedProblem& prepared,
                              const Policy& policy,
                              const SimulationOptions& options) {
  const PreparedProblem& run = prepared.once != nullptr ? *prepared.once : prepared;
  const PreparedProblem& once = run.model != nullptr ? *run.model : run;
  const bool several = once.single != nullptr;
  const bool ahead = space_.planned_ahead(scenario);
  if (!several && once.graph->has_ranks()) expect_all_ranks(scenario, *once.graph);
  const PreparedProblem& decided = several ? *once.single : once;
  const Problem planned = decided.problem();
  settled_ = nullptr;
  plan_ = &recording_.plan;
  if (const auto online = this->online(scenario, policy, planned)) {
    const SimulatedProblem what = decided.simulated();
    record_by_kernel(simulator_, what.steps, what.problem, *online, options, recording_);
    recording_.plan.policy = policy.name();
    if (!several && !ahead) {
      settle_costs(scenario, prepared, policy, options, true);
      return;
    }
  } else {
    const RecentPolicy& recent = policy_of(scenario);
    if (recent.plans_by_durations) {
      plan_ = &plans_.plan(recent.index, policy, decided.graph, planned);
    } else {
      recording_.plan = policy.plan(planned);
    }
  }
  const bool stays = !several && !ahead && !space_.legacy_default_stream(scenario);
  if (!stays && plan_ != &recording_.plan) {
    recording_.plan = *plan_;
    plan_ = &recording_.plan;
  }
  if (several) {
    recording_.plan = data_parallel_plan(recording_.plan, *once.graph, once.overlap);
  }
  if (space_.legacy_default_stream(scenario)) use_legacy_default_stream(recording_.plan);
  if (ahead) {
    recording_.plan = launched_plan(
        std::move(recording_.plan), space_.launch_choice(scenario), once.graph->task_count());
  }
  run_explained(prepared, simulator_, *plan_, options, recording_.trace);
  settle_costs(scenario, prepared, policy, options, false);
}

/// The host's busy time is taken evenly from what all workers could do: the system moves it about,
/// and blocks go to whoever is free.
void ScenarioRunner::slow_for_shared_core(const FullRun& run, const SimulationOptions& options) {
  if (space_.workers() == 0 || space_.host_placement() != HostPlacement::shares_core) return;
  constexpr double most_taken = 0.5;  // a host that polls without end still leaves the worker half
  Duration busy{0};
  for (const HostSpan& span : recording_.trace.hosts)
    busy += span.ended - span.started - span.blocked;
  const double capacity = space_.workers() * to_seconds(recording_.trace.makespan());
  if (capacity <= 0) return;
  const double taken = std::min(to_seconds(busy) / capacity, most_taken / space_.workers());
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
  if (!space_.checks_memory()) return;
  const auto& devices = problem.platform.devices;
  const bool may_exceed = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return device.memory_capacity.count() > 0 && peak > device.memory_capacity;
  });
  if (may_exceed) expect_memory_suffices(memory_use(problem, recording_.trace));
}

ScenarioResult ScenarioRunner::run(std::uint64_t scenario, bool check, const RunAs& as) {
  ScenarioResult result;
  try {
    const Policy& policy = *policy_of(scenario).value;
    result.granularity = as.granularity.value_or(policy.granularity());
    const auto prepared = this->prepared(scenario, result.granularity);
    const SimulationOptions options{.engine = EngineKind::automatic,
                                    .record_hosts = false,
                                    .record_flows = false,
                                    .stop = stop_};
    simulate(scenario, *prepared, policy, options);
    const FullRun run = settled_run(prepared);
    const Problem problem = run.problem();
    result.summary = summarizer_.summarize(problem, *plan_, recording_.trace, run.bounds());
    expect_memory(problem, result.summary.peak_memory);
    if (as.with_samples) result.samples = draw(scenario, run, policy);
    if (slices_ == 0) {
      const auto split = space_.found_split(scenario, stop_);
      if (split != nullptr) result.found_split = split->chosen;
    }
    if (check && problem.graph.task_count() <= largest_checked_graph) {
      const auto findings = checks_.check(policy_of(scenario).index,
                                          prepared->graph,
                                          problem.platform,
                                          *plan_,
                                          {.check_memory = space_.checks_memory()});
      result.checked = true;
      result.findings = static_cast<std::int64_t>(findings.size());
      if (!findings.empty()) result.note = findings.front().message;
    }
    if (result.note.empty()) {
      result.note = note_on(*prepared, space_.launch(scenario));
      const auto host = host_note(*prepared->machine, result.summary.host_busy_share);
      if (!result.note.empty() && !host.empty()) result.note += "; ";
      result.note += host;
    }
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

FullRun ScenarioRunner::run_fully(std::uint64_t scenario, bool with_samples) {
  const Policy& policy = *policy_of(scenario).value;
  const auto prepared = this->prepared(scenario, policy.granularity());
  const SimulationOptions options{
      .engine = EngineKind::automatic, .record_hosts = true, .record_flows = true, .stop = stop_};
  simulate(scenario, *prepared, policy, options);
  FullRun run = settled_run(prepared);
  const Problem problem = run.problem();
  slow_for_shared_core(run, options);
  const Summary summary = summarizer_.summarize(problem, *plan_, recording_.trace, run.bounds());
  expect_memory(problem, summary.peak_memory);
  if (with_samples) run.samples = draw(scenario, run, policy);
  run.plan = *plan_;
  run.trace = std::move(recording_.trace);
  run.findings = schedlab::check(
      problem.graph, problem.platform, run.plan, {.check_memory = space_.checks_memory()});
  return run;
}

}  // namespace schedlab
