// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/scenario_space.hpp"

#include "policies/registry.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/plan/dispatching_policy.hpp"
#include "studies/scenario/find_split.hpp"
#include "studies/scenario/problem_assembly.hpp"
#include "studies/scenario/scenario_runner.hpp"

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t graph_cache_bytes = std::size_t{128} << 20U;
constexpr std::size_t problem_cache_bytes = std::size_t{128} << 20U;
constexpr std::size_t object_cache_entries = 1U << 16U;
constexpr std::uint64_t known_launches = 1U << 12U;
/// In place of a launch mode, in the key of a problem: workers take tasks themselves, eagerly.
constexpr std::uint64_t no_host = ~std::uint64_t{0};

/// Do its workers take tasks themselves, so that what a host's calls cost does not matter?
bool has_no_host(const Policy& policy) {
  const TaskGraph nothing;
  const Platform platform = ideal_platform();
  const CostTable costs{nothing, platform};
  const auto online = policy.online({nothing, platform, costs});
  return dynamic_cast<const DispatchingPolicy*>(online.get()) != nullptr;
}

}  // namespace

ScenarioSpace::ScenarioSpace(const Spec& spec,
                             const Grid& grid,
                             std::shared_ptr<SharedParts> shared)
    : grid_(grid),
      shared_(std::move(shared)),
      components_(spec, grid, shared_),
      check_memory_(spec.check_memory),
      finds_splits_(leaves_split_open(spec)),
      graphs_(graph_cache_bytes),
      machines_(object_cache_entries),
      problems_(problem_cache_bytes),
      policies_(object_cache_entries),
      splits_(object_cache_entries),
      tensor_parallel_(object_cache_entries) {
  const std::uint64_t count = std::min(grid.part_count(Part::launch), known_launches);
  for (std::uint64_t i = 0; i < count; ++i) launches_.push_back(components_.launch(i));
}

void ScenarioSpace::prepare_for_execution(std::uint32_t workers, HostPlacement host) {
  workers_ = workers;
  host_ = host;
}

LaunchChoice ScenarioSpace::launch(std::uint64_t number) const {
  const std::uint64_t index = grid_.part_index(number, Part::launch);
  LaunchChoice choice = index < launches_.size() ? launches_[index] : components_.launch(index);
  if (workers_ != 0) {
    choice.sink.copied_inputs = 0;
    choice.sink.copied = Bytes{0};
  }
  return choice;
}

Scenario ScenarioSpace::scenario(std::uint64_t number, const ScenarioAs& as, const StopFlag* stop) {
  Scenario made;
  made.number = number;
  for (std::size_t i = 0; i < part_count; ++i) {
    made.parts.at(i) = grid_.part_index(number, static_cast<Part>(i));
  }
  made.policy = policy(made.part(Part::policy));
  made.granularity = as.granularity.value_or(made.made_policy().granularity());
  made.launch = launch(number);
  made.legacy_default_stream = components_.legacy_default_stream(made.part(Part::default_stream));
  made.checks_memory = check_memory_;
  made.sampling = components_.sampling(made.part(Part::variability));
  if (host_ == HostPlacement::shares_core) made.sharing_workers = workers_;
  std::int64_t slices = as.slices;
  if (slices == 0) {
    made.split = found_split(number, stop);
    if (made.split != nullptr) slices = made.split->chosen;
  }
  made.problem = problem(made, slices);
  return made;
}

std::shared_ptr<const AutoSplit> ScenarioSpace::found_split(std::uint64_t number,
                                                            const StopFlag* stop) {
  if (!finds_splits_ || !components_.finds_split(grid_.part_index(number, Part::workload))) {
    return nullptr;
  }
  const auto simulated = [&](std::int64_t slices) {
    return ScenarioRunner(*this, stop).run(number, false, {.slices = slices});
  };
  return splits_.get(
      number,
      [&] { return find_split(simulated, stop); },
      [](const AutoSplit&) { return std::size_t{1}; });
}

std::shared_ptr<const ScenarioPolicy> ScenarioSpace::policy(std::uint64_t index) {
  return policies_.get(
      index,
      [&] {
        return ScenarioPolicy{components_.policy(index),
                              &find_policy(components_.policy_name(index))};
      },
      [](const ScenarioPolicy&) { return std::size_t{1}; });
}

std::shared_ptr<const CostModel> ScenarioSpace::cost_model(std::uint64_t index,
                                                           const MachineSpec& machine) {
  const bool profiled = calibrated_profile(machine.platform.devices[DeviceId{0}]) != nullptr;
  auto holder = shared_->cost_models.get(
      {index, profiled ? 1U : 0U},
      [&] { return components_.cost_model(index, machine); },
      [](const std::unique_ptr<CostModel>&) { return std::size_t{1}; });
  const CostModel* model = holder->get();
  return {std::move(holder), model};
}

std::shared_ptr<const PreparedProblem> ScenarioSpace::problem(const Scenario& scenario,
                                                              std::int64_t slices) {
  const LaunchChoice& launch = scenario.launch;
  // A mode that changes nothing about the machine still has bounds of its own.
  const bool plain = launch.mode == LaunchMode::eager && !launch.changes_plan();
  const bool preloaded = workers_ != 0 && host_ == HostPlacement::preloaded;
  const bool without_host = plain && !preloaded && has_no_host(scenario.made_policy());
  // The granularity is part of the key even where the workload fixes it: then equal graphs are held
  // twice at most, which is cheaper than resolving the workload's options for every scenario.
  const ProblemKey key{scenario.part(Part::workload),
                       static_cast<std::uint64_t>(scenario.granularity),
                       scenario.part(Part::machine),
                       scenario.part(Part::cost_model),
                       without_host ? no_host
                       : plain      ? 0
                                    : 1 + scenario.part(Part::launch),
                       scenario.part(Part::ranks),
                       static_cast<std::uint64_t>(slices)};
  return problems_.get(
      key,
      [&] { return make_problem(key, launch); },
      [](const PreparedProblem& problem) { return problem.memory_bytes(); });
}

PreparedProblem ScenarioSpace::make_problem(const ProblemKey& key, const LaunchChoice& launch) {
  ProblemParts parts;
  parts.workers = workers_;
  parts.preloaded = workers_ != 0 && host_ == HostPlacement::preloaded;
  parts.launch = launch;
  parts.ranks = components_.ranks(key[5]);
  parts.tensor_parallel = *tensor_parallel_.get(
      key[0],
      [&] { return components_.tensor_parallel(key[0]); },
      [](const auto&) { return std::size_t{1}; });
  parts.graph = given_graph_;
  if (parts.graph == nullptr) {
    parts.graph = graphs_.get(
        {key[0], key[1], key[6]},
        [&] {
          return components_.graph(
              key[0], static_cast<Granularity>(key[1]), static_cast<std::int64_t>(key[6]));
        },
        [](const TaskGraph& graph) { return graph.memory_bytes(); });
  }
  parts.machine = machines_.get(
      {key[2], key[4]},
      [&] {
        MachineSpec machine =
            given_machine_ != nullptr ? *given_machine_ : components_.machine(key[2]);
        apply_launch_mode(launch, machine.platform);
        if (parts.preloaded || key[4] == no_host) {
          for (Host& host : machine.platform.hosts) host = {};
          for (Device& device : machine.platform.devices) device.launch_latency = Duration{0};
        }
        return machine;
      },
      [](const MachineSpec&) { return std::size_t{1}; });
  parts.costs = cost_model(key[3], *parts.machine);
  return assemble_problem(parts);
}

}  // namespace schedlab
