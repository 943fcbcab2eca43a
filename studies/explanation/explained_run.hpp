// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/kernel_steps.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"
#include "studies/explanation/data_loss.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/spec/spec.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// A run with what is needed to say why it took so long, and to simulate it again.
struct ExplainedRun {
  std::string title;
  std::string origin;  ///< of the trace: "simulated", "measured cpu"
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  std::shared_ptr<const KernelSteps> steps;  ///< as PreparedProblem::steps
  Plan plan;
  Trace trace;
  bool measured = false;         ///< costs are the trace's own: durations, host calls, latencies
  bool sleeps_are_work = false;  ///< what the host does between its calls is in the plan's sleeps
  bool front_end_known = true;   ///< the framework's part of a launch is told from the driver's
  /// A profile's plan with everything launched at once, as launch_at_once() makes it, and
  /// what that assumes.
  std::optional<Plan> at_once{};
  std::string at_once_note{};
  /// Why it cannot be simulated again; empty: it can.
  std::string no_replay;
  std::vector<std::string> notes;  ///< what is not known, for the reader
  DataLoss loss{};                 ///< of a profile
  std::optional<Spec> spec{};      ///< of a simulated run: what it was made of

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
};

/// A run that has just been simulated.
[[nodiscard]] ExplainedRun run_of_simulation(const Simulation& simulation);

/// A trace on its own: what it tells is its graph (tasks without dependencies), its plan (the
/// recorded host calls) and its machine (its durations and the costs of its calls).
/// Throws ContractViolation for a trace that contradicts its own lists.
[[nodiscard]] ExplainedRun run_of_trace(const TraceDocument& document);

/// The folder of simulate, execute or validate, or a trace.json. Of a folder with run.json the
/// scenario is made again, so that graph, plan and machine are those of the run; a measured run
/// keeps its graph and plan, and its costs are what was measured.
/// Throws InputError; what making the scenario throws.
[[nodiscard]] ExplainedRun load_explained_run(const std::filesystem::path& path);

/// The machine as a measured trace shows it: mean cost of each kind of host call up to the next one
/// (of a launch: per kernel); medians of launch latency, stream gap and event latency, each over
/// the tasks that waited for nothing else last, while the device was idle. `units`: of the device,
/// 0 = not known, no limit.
[[nodiscard]] Platform measured_platform(const TaskGraph& graph,
                                         const Trace& trace,
                                         std::size_t devices,
                                         std::uint32_t units);

}  // namespace schedlab
