// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/study_progress.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// The scenario of one training step of these lengths, as a spec of `simulate`; more than one
/// length is an axis. `launch`: JSON text of a launch mode in the place of the scenario's; empty:
/// that one. `batches`: an axis, too; empty: the setup's.
[[nodiscard]] std::string step_scenario(const BucketSpec& spec,
                                        const TrainingSetup& setup,
                                        const std::vector<std::int64_t>& lengths,
                                        const std::string& launch = {},
                                        const std::vector<std::int64_t>& batches = {});

/// Times of the training step of one setup, unrolled to any length, by simulating it once per
/// length.
class StepSimulation {
 public:
  /// `spec` must outlive this, and so must `kept`, where steps are looked up before they are
  /// simulated, and left for later; may be nullptr. Throws InputError if the scenario is no valid
  /// spec, has more than one scenario, or has a workload without the options `steps` and `batch`;
  /// also for recomputation of a workload without the option `recompute`.
  StepSimulation(const BucketSpec& spec,
                 const TrainingSetup& setup,
                 const StopFlag* stop,
                 StudyProgress* kept = nullptr,
                 std::string launch = {});

  /// The makespan of the scenario with that many steps, without the loading of its device graph;
  /// what is recomputed are tasks of its graph.
  /// For lstm and gru with `classes` in the spec's network the output layer comes on top, one
  /// simulation of the workload output_layer: it needs all outputs, and the backward pass all of
  /// its gradients.
  /// Throws InfeasibleError with what the simulation says.
  [[nodiscard]] Duration operator()(std::int64_t length) { return cost(length).step; }
  /// Host time of loading that step's device graph or sunk model, where the launch says `load`.
  [[nodiscard]] Duration load(std::int64_t length) { return cost(length).load; }
  /// How many lengths were simulated.
  [[nodiscard]] std::size_t simulated() const { return known_.size(); }
  /// Of the steps that were simulated here, not looked up.
  [[nodiscard]] std::uint64_t tasks() const { return tasks_; }
  /// The scenario's machine, with the source of each number.
  [[nodiscard]] MachineSpec machine() const;

  /// Does its workload have the option `recompute`?
  [[nodiscard]] bool recomputes() const { return recomputes_; }
  /// Memory of one device of the scenario's machine; 0: unlimited.
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  /// For memory: the workload's sizes, and what the spec adds.
  [[nodiscard]] const RecurrentNetwork& network() const { return network_; }

 private:
  [[nodiscard]] StepCost cost(std::int64_t length);
  [[nodiscard]] StepCost simulated_cost(const std::string& scenario);
  [[nodiscard]] std::string output_scenario_text(std::int64_t length) const;
  void read_facts();

  const BucketSpec& spec_;
  TrainingSetup setup_;
  const StopFlag* stop_;
  StudyProgress* kept_;
  std::string launch_;
  bool recomputes_ = false;
  Bytes capacity_{};
  RecurrentNetwork network_;
  std::map<std::int64_t, StepCost> known_;
  std::uint64_t tasks_ = 0;
};

}  // namespace schedlab
