// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/buckets/bucket_spec.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace schedlab {

/// Times of the training step of one setup, unrolled to any length, by simulating it once per
/// length.
class StepSimulation {
 public:
  /// `spec` must outlive this. Throws InputError if the scenario is no valid spec, has more than
  /// one scenario, or has a workload without the options `steps` and `batch`; also for
  /// recomputation of a workload without the option `recompute`.
  StepSimulation(const BucketSpec& spec, const TrainingSetup& setup, const StopFlag* stop);

  /// The makespan of the scenario with that many steps; what is recomputed are tasks of its graph.
  /// Of lstm and gru with `classes` in the spec's network the output layer comes on top, one
  /// simulation of the workload output_layer: it needs all outputs, and the backward pass all of
  /// its gradients.
  /// Throws InfeasibleError with what the simulation says.
  [[nodiscard]] Duration operator()(std::int64_t length);
  /// How many lengths were simulated.
  [[nodiscard]] std::size_t simulated() const { return known_.size(); }

  /// Does its workload have the option `recompute`?
  [[nodiscard]] bool recomputes() const { return recomputes_; }
  /// Of one device of the scenario's machine; 0: unlimited.
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  /// For memory: the workload's sizes, and what the spec adds.
  [[nodiscard]] const RecurrentNetwork& network() const { return network_; }

 private:
  [[nodiscard]] Duration makespan(const std::string& scenario) const;
  [[nodiscard]] std::string scenario_text(std::int64_t length) const;
  [[nodiscard]] std::string output_scenario_text(std::int64_t length) const;
  void read_facts();

  const BucketSpec& spec_;
  TrainingSetup setup_;
  const StopFlag* stop_;
  bool recomputes_ = false;
  Bytes capacity_{};
  RecurrentNetwork network_;
  std::map<std::int64_t, Duration> known_;
};

}  // namespace schedlab
