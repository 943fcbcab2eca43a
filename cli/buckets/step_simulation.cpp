// SPDX-License-Identifier: Apache-2.0
#include "cli/buckets/step_simulation.hpp"

#include "cli/grid.hpp"
#include "cli/one_scenario.hpp"
#include "cli/scenario.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

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
        space(parsed, grid) {
    expect_one_scenario(parsed, grid);
    space.components().check_all();
  }
  Spec parsed;
  Grid grid;
  ScenarioSpace space;
};

}  // namespace

StepSimulation::StepSimulation(const BucketSpec& spec,
                               const TrainingSetup& setup,
                               const StopFlag* stop)
    : spec_(spec), setup_(setup), stop_(stop) {
  const Json scenario = Json::parse(spec.scenario);
  const Json workload = scenario.value("workload", Json::object());
  if (!workload.is_object() || (setup.kept == KeptValues::data_drop && !is_stack(workload))) {
    throw InputError({.file = spec.file,
                      .pointer = "/scenario/workload",
                      .found = workload.is_object() ? "a workload without a forward pass of its own"
                                                    : "no object",
                      .expected = setup.kept == KeptValues::data_drop
                                      ? "lstm or gru, whose cells data drop computes once more"
                                      : "a workload with the options steps and batch",
                      .hint = {}});
  }
  read_facts();
}

void StepSimulation::read_facts() {
  StepScenario one{spec_, scenario_text(1, false)};
  const Components& components = one.space.components();
  const MachineSpec machine = components.machine(0);
  if (!machine.platform.devices.empty()) {
    capacity_ = machine.platform.devices[DeviceId{0}].memory_capacity;
  }
  if (const auto recurrent = components.recurrent_spec(0, Granularity::fine)) {
    network_.layers = recurrent->layers;
    network_.hidden = recurrent->hidden;
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
}

std::string StepSimulation::scenario_text(std::int64_t length, bool forward_only) const {
  Json scenario = Json::parse(spec_.scenario);
  Json& workload = scenario["workload"];
  workload["steps"] = length;
  workload["batch"] = setup_.batch;
  if (is_stack(workload)) {
    if (forward_only || !workload.contains("pass")) {
      workload["pass"] = forward_only ? "forward" : "training";
    }
  }
  if (forward_only) scenario.erase("ranks");  // no gradients to be summed
  if (!forward_only && setup_.ranks > 1) {
    const Json given = scenario.value("ranks", Json::object());
    Json ranks = given.is_object() ? given : Json::object();
    ranks["count"] = setup_.ranks;
    scenario["ranks"] = ranks;
  }
  scenario["memory"] = "ignore";  // counted by training_memory(), which knows data drop
  return scenario.dump();
}

Duration StepSimulation::makespan(const std::string& scenario) const {
  StepScenario one{spec_, scenario};
  ScenarioRunner runner{one.space, stop_};
  const ScenarioResult result = runner.run(0, false);
  if (result.failed) {
    throw InfeasibleError(fmt::format("{}: /scenario: {}", spec_.file, result.note));
  }
  return result.summary.makespan;
}

Duration StepSimulation::operator()(std::int64_t length) {
  const auto found = known_.find(length);
  if (found != known_.end()) return found->second;
  Duration time = makespan(scenario_text(length, false));
  if (setup_.kept == KeptValues::data_drop) time += makespan(scenario_text(length, true));
  known_[length] = time;
  return time;
}

}  // namespace schedlab
