// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/step_simulation.hpp"

#include "sim/base/error.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/one_scenario.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

bool is_stack(const Json& workload) {
  const std::string kind = workload.value("kind", "");
  return kind == "lstm" || kind == "gru";
}

/// Everything that a scenario refers to, in the order in which it does.
struct StepScenario {
  StepScenario(const BucketSpec& spec, const std::string& text)
      : parsed(parse_spec(text, fmt::format("{}: /scenario", spec.file), spec.folder)),
        grid(parsed),
        space(parsed, grid, spec.shared) {
    expect_one_scenario(parsed, grid);
    if (spec.machine != nullptr) {
      space.use_machine(*spec.machine);  // of a study that ran: there is nothing left to check
    } else {
      space.components().check_all();
    }
  }
  Spec parsed;
  Grid grid;
  ScenarioSpace space;
};

}  // namespace

StepSimulation::StepSimulation(const BucketSpec& spec,
                               const TrainingSetup& setup,
                               const StopFlag* stop,
                               StudyProgress* kept,
                               std::string launch)
    : spec_(spec), setup_(setup), stop_(stop), kept_(kept), launch_(std::move(launch)) {
  const Json scenario = Json::parse(spec.scenario);
  const Json workload = scenario.value("workload", Json::object());
  const bool recomputes = setup.recompute != RecomputeChoice{};
  if (!workload.is_object() || (recomputes && !is_stack(workload))) {
    throw InputError(
        {.file = spec.file,
         .pointer = "/scenario/workload",
         .found = workload.is_object() ? "a workload without the option recompute" : "no object",
         .expected = recomputes ? "lstm or gru, which have it"
                                : "a workload with the options steps and batch",
         .hint = {}});
  }
  recomputes_ = is_stack(workload) && workload.value("pass", "training") == "training";
  if (workload.contains("recompute") || workload.contains("checkpoints") ||
      workload.contains("truncate_steps")) {
    throw InputError({.file = spec.file,
                      .pointer = "/scenario/workload",
                      .found = "recompute, checkpoints or truncate_steps",
                      .expected = "them in /training, where memory counts them, too",
                      .hint = {}});
  }
  read_facts();
}

void StepSimulation::read_facts() {
  StepScenario one{spec_, step_scenario(spec_, setup_, {1}, launch_)};
  const Components& components = one.space.components();
  const MachineSpec machine = spec_.machine != nullptr ? *spec_.machine : components.machine(0);
  if (!machine.platform.devices.empty()) {
    capacity_ = machine.platform.devices[DeviceId{0}].memory_capacity;
  }
  if (const auto recurrent = components.recurrent_spec(0, Granularity::fine)) {
    network_.layers = recurrent->layers;
    network_.hidden = recurrent->hidden;
    network_.projection = recurrent->projection;
    network_.input = recurrent->input > 0 ? recurrent->input : recurrent->hidden;
    network_.type = recurrent->type;
  }
  const auto set = [&](std::string_view key, std::int64_t& value) {
    const auto found = spec_.network.find(std::string{key});
    if (found != spec_.network.end()) value = found->second;
  };
  set("layers", network_.layers);
  set("hidden", network_.hidden);
  set("projection", network_.projection);
  set("input", network_.input);
  set("classes", network_.classes);
  set("output_copies", network_.output_copies);
  set("weight_copies", network_.weight_copies);
  set("reserved_bytes", network_.reserved_bytes);
  std::int64_t hidden_kept = 0;
  set("hidden_kept", hidden_kept);
  network_.hidden_kept = hidden_kept != 0;
}

std::string step_scenario(const BucketSpec& spec,
                          const TrainingSetup& setup,
                          const std::vector<std::int64_t>& lengths,
                          const std::string& launch,
                          const std::vector<std::int64_t>& batches) {
  Json scenario = Json::parse(spec.scenario);
  Json& workload = scenario["workload"];
  workload["steps"] = lengths;
  if (lengths.size() == 1) workload["steps"] = lengths.front();
  workload["batch"] = std::max<std::int64_t>(setup.batch, 1);
  if (batches.size() > 1) workload["batch"] = batches;
  if (batches.size() == 1) workload["batch"] = batches.front();
  if (is_stack(workload)) {
    if (!workload.contains("pass")) workload["pass"] = "training";
    if (setup.recompute.kind != Recompute::keep_backward) {
      workload["recompute"] = std::string{to_string(setup.recompute.kind)};
      workload["checkpoints"] = setup.recompute.checkpoints;
    }
    if (setup.recompute.truncate_steps > 0) {
      workload["truncate_steps"] = setup.recompute.truncate_steps;
    }
  }
  if (setup.ranks > 1) {
    const Json given = scenario.value("ranks", Json::object());
    Json ranks = given.is_object() ? given : Json::object();
    ranks["count"] = setup.ranks;
    scenario["ranks"] = ranks;
  }
  if (!launch.empty()) scenario["launch"] = Json::parse(launch);
  scenario["memory"] = "ignore";  // counted by training_memory(), for the network as it is given
  return scenario.dump();
}

std::string StepSimulation::output_scenario_text(std::int64_t length) const {
  Json scenario = Json::parse(step_scenario(spec_, setup_, {length}, launch_));
  const Json workload = scenario.at("workload");
  Json output{{"kind", "output_layer"},
              {"steps", length},
              {"batch", std::max<std::int64_t>(setup_.batch, 1)},
              {"width", network_.projection > 0 ? network_.projection : network_.hidden},
              {"classes", network_.classes}};
  for (const char* key : {"data_type", "optimizer", "include_tensors"}) {
    if (workload.contains(key)) output[key] = workload.at(key);
  }
  scenario["workload"] = output;
  return scenario.dump();
}

StepCost StepSimulation::simulated_cost(const std::string& scenario) {
  StepScenario one{spec_, scenario};
  ScenarioRunner runner{one.space, stop_};
  const ScenarioResult result = runner.run(0, false);
  if (result.failed) {
    throw InfeasibleError(fmt::format("{}: /scenario: {}", spec_.file, result.note));
  }
  tasks_ += result.summary.tasks;
  const Duration load = result.summary.load / setup_.ranks;  // each host loads at the start
  return {.step = result.summary.makespan - load, .load = load};
}

MachineSpec StepSimulation::machine() const {
  const std::string text = step_scenario(spec_, setup_, {1}, launch_);
  const Spec parsed = parse_spec(text, fmt::format("{}: /scenario", spec_.file), spec_.folder);
  const Grid grid(parsed);
  Components components(parsed, grid);
  components.keep_sources();
  return components.machine(0);
}

StepCost StepSimulation::cost(std::int64_t length) {
  const auto found = known_.find(length);
  if (found != known_.end()) return found->second;
  if (kept_ != nullptr) {
    if (const auto kept = kept_->step(setup_, length, launch_)) return known_[length] = *kept;
  }
  StepCost cost = simulated_cost(step_scenario(spec_, setup_, {length}, launch_));
  if (recomputes_ && network_.classes > 0) {
    const StepCost output = simulated_cost(output_scenario_text(length));
    cost.step += output.step;
    cost.load += output.load;
  }
  known_[length] = cost;
  if (kept_ != nullptr) kept_->add_step(setup_, length, cost, launch_);
  return cost;
}

}  // namespace schedlab
