// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/step_simulation.hpp"
#include "workloads/buckets/boundaries.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace schedlab {

/// Step times of every length: exact where a length was simulated, in proportion between two such;
/// they never fall with the length.
class InterpolatedSteps {
 public:
  /// Simulates nine lengths from 1 to `longest`. `steps` must outlive this.
  InterpolatedSteps(std::int64_t longest, StepSimulation& steps);

  /// In picoseconds. ContractViolation for a length beyond the longest.
  [[nodiscard]] double operator()(std::int64_t length) const;
  /// Simulates these lengths; true if one was not simulated before.
  bool refine(const BucketBoundaries& lengths);

 private:
  StepSimulation* steps_;
  std::map<std::int64_t, double> exact_;   // as simulated
  std::map<std::int64_t, double> rising_;  // the same, none below one before
};

/// How long the longest sequences of the batches of a pass are, which alone decide what the pass
/// costs: batches do not depend on the boundaries. The longest length of the data is one of them
/// even if no batch has it, so that the last bucket is always the same.
[[nodiscard]] LengthDistribution batch_lengths(const BucketSpec& spec,
                                               std::size_t data,
                                               const TrainingSetup& setup);

/// Boundaries of the least time for these batches. Lengths where one of the rules or the optimum
/// itself places boundaries are simulated, all others interpolated; so no other rule is faster, but
/// where a simulated step gets faster as it gets longer.
[[nodiscard]] BucketBoundaries optimal_boundaries(const LengthDistribution& data,
                                                  const LengthDistribution& batches,
                                                  std::int64_t count,
                                                  InterpolatedSteps steps);

}  // namespace schedlab
