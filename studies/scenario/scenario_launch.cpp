// SPDX-License-Identifier: Apache-2.0
// ScenarioSpace, continued: what the launch mode adds to a problem.
#include "studies/scenario/problem_costs.hpp"
#include "studies/scenario/scenario.hpp"
#include "workloads/transforms/copied_inputs.hpp"
#include "workloads/transforms/repeat_runs.hpp"

#include <utility>

namespace schedlab {

LaunchChoice ScenarioSpace::launch_alternative(std::uint64_t index) const {
  LaunchChoice choice = index < launches_.size() ? launches_[index] : components_.launch(index);
  if (workers_ != 0) {
    choice.sink.copied_inputs = 0;
    choice.sink.copied = Bytes{0};
  }
  return choice;
}

LaunchChoice ScenarioSpace::launch_choice(std::uint64_t scenario) const {
  return launch_alternative(grid_.part_index(scenario, Part::launch));
}

PreparedProblem ScenarioSpace::make_copied(PreparedProblem model,
                                           const SinkRun& run,
                                           std::uint64_t cost_model_index) {
  PreparedProblem made;
  made.graph =
      std::make_shared<TaskGraph>(with_sunk_copies(*model.graph, run, model.machine->platform));
  made.machine = model.machine;
  set_costs(*cost_model(cost_model_index, *made.machine), made);
  made.model = std::make_shared<PreparedProblem>(std::move(model));
  return made;
}

PreparedProblem ScenarioSpace::make_repeated(PreparedProblem once,
                                             std::uint32_t runs,
                                             std::uint64_t cost_model_index) {
  PreparedProblem made;
  made.graph = std::make_shared<TaskGraph>(RepeatRuns{runs}.apply(*once.graph));
  made.machine = once.machine;
  set_costs(*cost_model(cost_model_index, *made.machine), made);
  made.once = std::make_shared<PreparedProblem>(std::move(once));
  return made;
}

std::shared_ptr<const PreparedProblem> ScenarioSpace::prepared(const ProblemKey& key) {
  return problems_.get(
      key,
      [&] {
        PreparedProblem once = make_once(key);
        const LaunchChoice launch = key[4] == 0 ? LaunchChoice{} : launch_alternative(key[4] - 1);
        if (launch.mode == LaunchMode::sink && sunk_copies(launch.sink) > 0) {
          once = make_copied(std::move(once), launch.sink, key[3]);
        }
        return launch.runs == 1 ? once : make_repeated(std::move(once), launch.runs, key[3]);
      },
      [](const PreparedProblem& problem) {
        return problem.costs.memory_bytes() + problem.graph->memory_bytes() +
               (problem.steps != nullptr ? problem.steps->memory_bytes() : 0);
      });
}

}  // namespace schedlab
