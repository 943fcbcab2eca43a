// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/emitted_plan.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"
#include "studies/scenario/run_origin.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/one_scenario.hpp"
#include "studies/spec/spec.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <exception>
#include <filesystem>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// The spec with the plan of a file in place of its policy. A launch mode that captures graphs has
/// made them in that plan.
Spec with_plan(const Spec& spec, const Scenario& scenario, const fs::path& plan) {
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(spec.text);
  document["policy"] = {{"name", "plan_file"}, {"path", fs::absolute(plan).string()}};
  if (captures(scenario.launch.mode)) document.erase("launch");
  return parse_spec(document.dump(2), spec.file, spec.folder);
}

void refuse_plan(const std::string& what) {
  throw InfeasibleError("the plan is not emitted: " + what);
}

/// What one thread of a program can do with one device.
void expect_one_device(const EmittedPlan& emitted) {
  const Plan& plan = emitted.plan;
  if (plan.hosts.size() != 1) {
    refuse_plan(
        fmt::format("it has {} host threads, and a program with one is emitted, for one device; "
                    "take a workload without ranks or stages",
                    plan.hosts.size()));
  }
  if (!plan.partitions.empty()) {
    refuse_plan(
        "it divides the device's units (green contexts), which no emitted program does; leave out "
        "urgent_units");
  }
  for (const StreamId stream : plan.streams.ids()) {
    const DeviceId device = plan.streams[stream].device;
    if (device == DeviceId{0}) continue;
    refuse_plan(fmt::format("{} is on device {}, and a program for one device is emitted",
                            plan.stream_name(stream),
                            device.value()));
  }
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (concerns_message(call.kind())) refuse_plan("it sends or receives messages");
  }
  const TaskGraph& graph = emitted.graph();
  if (graph.has_ranks() && graph.rank_count() > 1) {
    refuse_plan(fmt::format("its tasks are those of {} ranks", graph.rank_count()));
  }
  if (plan.task_count() != graph.task_count()) {
    refuse_plan(fmt::format("it launches {} of {} tasks", plan.task_count(), graph.task_count()));
  }
}

/// Is it the plan of the file? Throws InfeasibleError, and InputError of another graph.
void expect_same(const FullRun& run, const fs::path& file) {
  const TaskGraph& graph = *run.scenario.problem->graph;
  if (plan_from_json(read_file(file), graph, file.string()) == run.plan) return;
  refuse_plan(fmt::format(
      "{} is not the plan that the spec beside it makes; emit a spec of one run on one rank, and "
      "--plan with a plan of that",
      file.string()));
}

/// Cut as the plan's tasks are: as the policy wants it, else in the first way that has its tasks.
/// Throws InputError if none has.
ScenarioAs cut_of_plan(ScenarioSpace& space, const Scenario& scenario, const fs::path& file) {
  ScenarioAs as{.granularity = scenario.granularity};
  if (scenario.split != nullptr) as.slices = scenario.split->chosen;
  const std::string text = read_file(file);
  const auto fits = [&](const TaskGraph& graph) {
    return plan_from_json(text, graph, file.string()).task_count() == graph.task_count();
  };
  std::exception_ptr first;
  try {
    if (fits(*scenario.problem->graph)) return as;
  } catch (const InputError&) {
    first = std::current_exception();
  }
  for (const Granularity granularity : {Granularity::fine,
                                        Granularity::coarse,
                                        Granularity::matmul,
                                        Granularity::data_and_weight,
                                        Granularity::kernel_and_weight}) {
    as.granularity = granularity;
    try {
      if (fits(*space.scenario(0, as).problem->graph)) return as;
    } catch (const InputError&) {
      continue;  // the first says what is wrong
    }
  }
  if (first) std::rethrow_exception(first);
  as.granularity = scenario.granularity;
  return as;
}

}  // namespace

EmittedPlan load_checked_plan(const std::string& input,
                              const std::string& plan_file,
                              const StopFlag* stop) {
  const bool folder = fs::is_directory(input);
  const auto origin = folder ? read_run_origin(input) : std::nullopt;
  if (folder && !origin) {
    throw InputError({.file = input,
                      .pointer = {},
                      .found = "a folder without run.json",
                      .expected = "a spec, or a folder that simulate or execute left",
                      .hint = "of what search found: schedlab emit SPEC --plan FOLDER/plan.json"});
  }
  const Spec given =
      origin ? parse_spec(origin->spec, origin->spec_file, origin->spec_folder) : load_spec(input);
  expect_one_scenario(given, Grid(given));
  fs::path plan{plan_file};
  if (folder && plan.empty()) plan = fs::path(input) / "plan.json";

  const Grid given_grid(given);
  ScenarioSpace given_space(given, given_grid);
  given_space.components().check_all();
  const Scenario scenario = given_space.scenario(0, {}, stop);
  const std::string policy = given_grid.part_label(Part::policy, 0);
  const std::string machine = given_grid.part_label(Part::machine, 0);

  EmittedPlan emitted;
  emitted.machine = machine;
  emitted.title = fmt::format("{}: {} on {}", given.name, policy, machine);
  Granularity granularity = scenario.granularity;
  Simulation made;
  // plan_file reads plans of what a policy plans, one run on one rank; a folder's of more is made
  // again.
  const bool of_more = folder && plan_file.empty() && scenario.problem->planned != nullptr;
  if (plan.empty() || of_more) {
    made = simulate(given_space, scenario, emitted.title, stop);
    if (of_more) expect_same(made.run, plan);
  } else {
    const Spec spec = with_plan(given, scenario, plan);
    const Grid grid(spec);
    ScenarioSpace space(spec, grid);
    const ScenarioAs as = cut_of_plan(given_space, scenario, plan);
    granularity = as.granularity.value_or(granularity);
    made = simulate(space, space.scenario(0, as, stop), emitted.title, stop);
    if (!plan_file.empty()) {
      emitted.title = fmt::format("{}: {} on {}", given.name, made.run.plan.policy, machine);
    }
  }
  if (!made.run.findings.empty()) {
    refuse_plan("it is not right: " + made.run.findings.front().message);
  }
  emitted.recurrent =
      given_space.components().recurrent_spec(scenario.part(Part::workload), granularity);
  emitted.problem = made.run.scenario.problem;
  emitted.plan = std::move(made.run.plan);
  emitted.makespan = made.metrics.makespan;
  return emitted;
}

EmittedPlan load_emitted_plan(const std::string& input,
                              const std::string& plan_file,
                              const StopFlag* stop) {
  EmittedPlan emitted = load_checked_plan(input, plan_file, stop);
  expect_one_device(emitted);
  return emitted;
}

std::vector<TaskId> launch_order(const Plan& plan) {
  std::vector<TaskId> order;
  std::vector<std::uint32_t> rows(plan.graphs.size(), 0);
  for (const HostCall call : plan.hosts[HostId{0}].calls) {
    if (call.kind() == HostCallKind::launch) order.push_back(call.task());
    if (call.kind() != HostCallKind::graph_launch) continue;
    const auto tasks = plan.graphs[call.graph()].tasks(rows[call.graph()]++);
    order.insert(order.end(), tasks.begin(), tasks.end());
  }
  return order;
}

}  // namespace schedlab
