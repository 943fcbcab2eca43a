// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_work.hpp"
#include "sim/base/error.hpp"
#include "sim/base/interrupt.hpp"
#include "studies/scenario/scenario_runner.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace schedlab {

/// What a device that executes scenarios cannot do or will not do.
struct ExecutionLimits {
  std::string executor;                ///< as messages name it: "CPU"
  bool legacy_default_stream = false;  ///< it has one
  bool refuses_findings = false;       ///< a plan the checker objects to is not run
};

/// Scenarios of a space made ready to be executed, as often as asked, in any order. What tasks
/// compute on (`Work`) is kept in memory per workload, granularity and number of slices that was
/// found.
template <class Work>
class ScenarioWorks {
 public:
  struct Prepared {
    Scenario scenario;
    std::optional<Plan> plan;  ///< none: an online policy decides
    Work* work = nullptr;
    bool computes = false;  ///< what the workload means, not only something of the same shapes

    /// What the last run allocated, where tensors are allocated one by one.
    [[nodiscard]] std::optional<AllocatedMemory> allocated() const {
      const std::optional<AllocatedMemory> memory = work->memory();
      return memory && memory->by_tensor ? memory : std::nullopt;
    }
  };
  struct MadeWork {
    std::unique_ptr<Work> work;
    bool computes = false;
  };

  /// `space` must outlive this.
  ScenarioWorks(ScenarioSpace& space, ExecutionLimits limits, const StopFlag* stop)
      : space_(space), limits_(std::move(limits)), planner_(space, stop) {}

  /// `make(problem, spec)` gives the MadeWork of a workload that is not here yet; `spec` is that of
  /// a recurrent workload, else nullopt. Throws what making the scenario throws, InfeasibleError
  /// for what the limits exclude.
  template <class Make>
  Prepared& prepared(std::uint64_t scenario, const Make& make) {
    const auto found = scenarios_.find(scenario);
    if (found != scenarios_.end()) return found->second;
    Prepared made;
    made.scenario = space_.scenario(scenario);
    expect_one_run(made.scenario);
    if (made.scenario.legacy_default_stream || made.scenario.planned_ahead() ||
        made.scenario.online(made.scenario.problem->problem()) == nullptr) {
      made.plan = checked_plan(made.scenario);
    }
    const Held& held = work_of(made.scenario, make);
    made.work = held.made.work.get();
    made.computes = held.made.computes;
    return scenarios_.emplace(scenario, std::move(made)).first->second;
  }

  /// One run of a scenario that is prepared: of its plan, or of its policy, which then decides in
  /// real time. `out` is filled also when this throws, if the run has begun.
  template <class Executor, class Run>
  void run(std::uint64_t scenario, Executor& executor, Run& out) {
    const Prepared& ready = scenarios_.at(scenario);
    if (ready.plan) {
      executor.run(*ready.scenario.problem->graph, *ready.plan, *ready.work, out);
      return;
    }
    const Problem problem = ready.scenario.problem->problem();
    const auto online = ready.scenario.online(problem);
    executor.run(problem, *online, *ready.work, out);
    out.plan.policy = ready.scenario.made_policy().name();
  }

  /// Host time to prepare each launch. Throws InfeasibleError if a second thread would do so.
  [[nodiscard]] Duration preparation(std::uint64_t scenario) const {
    const Host& host = scenarios_.at(scenario).scenario.problem->machine->platform.host(HostId{0});
    if (host.front_end_thread && host.costs.preparation() > Duration{0}) {
      throw InfeasibleError("the " + limits_.executor +
                            " executor prepares and launches on one thread; \"launch\": "
                            "\"eager\" does so");
    }
    return host.costs.preparation();
  }

  void forget() {
    scenarios_.clear();
    works_.clear();
  }

 private:
  struct Held {
    MadeWork made;
    std::shared_ptr<const PreparedProblem> problem;  // whose graph the work refers to
  };

  void expect_one_run(const Scenario& scenario) const {
    std::string limit;
    if (scenario.legacy_default_stream && !limits_.legacy_default_stream) {
      limit = "has no legacy default stream; leave out default_stream";
    } else if (scenario.launch.runs > 1) {
      limit = "makes one run at a time; leave out runs";
    } else if (scenario.problem->divided != nullptr) {
      limit = "runs one device; leave out ranks";
    }
    if (!limit.empty()) {
      throw InfeasibleError("the " + limits_.executor + " executor " + limit);
    }
  }

  [[nodiscard]] Plan checked_plan(const Scenario& scenario) {
    FullRun planned = planner_.run_fully(scenario);
    if (limits_.refuses_findings && !planned.findings.empty()) {
      throw InfeasibleError("the plan is not run on a device, as it is not right: " +
                            planned.findings.front().message);
    }
    return std::move(planned.plan);
  }

  template <class Make>
  const Held& work_of(const Scenario& scenario, const Make& make) {
    const std::uint64_t workload = scenario.part(Part::workload);
    const auto granularity = static_cast<std::uint64_t>(scenario.granularity);
    const std::int64_t slices = scenario.split == nullptr ? 0 : scenario.split->chosen;
    Held& held = works_[{workload, granularity, static_cast<std::uint64_t>(slices)}];
    // Scenarios on other machines have equal graphs, but objects of their own.
    if (held.made.work == nullptr || held.problem->graph != scenario.problem->graph) {
      held = {};
      held.problem = scenario.problem;
      held.made =
          make(*held.problem, space_.components().recurrent_spec(workload, scenario.granularity));
    }
    return held;
  }

  ScenarioSpace& space_;
  ExecutionLimits limits_;
  ScenarioRunner planner_;
  std::map<std::uint64_t, Prepared> scenarios_;
  std::map<std::array<std::uint64_t, 3>, Held> works_;  // workload, granularity, slices found
};

}  // namespace schedlab
