// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/sweep/table.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/study_progress.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// A training step at the longest length in one setup.
struct MemoryTimePoint {
  TrainingSetup setup;
  Bytes memory{};  ///< of training_memory(), without stored models
  Duration step{0};
  double sequences_per_s = 0;
  bool fits = true;
  bool efficient = false;  ///< fits, and no other that fits is as fast with less memory or faster
                           ///< with as much
};

/// What memory buys: every choice of recomputation, and with each truncate_steps of the training
/// keep_backward and data_drop, at batches from batch_multiple on, doubled as
/// long as any choice fits, and at the largest that fits. Batches beyond the device's memory are
/// left out; of unlimited memory 8 doublings. Empty for workloads without the option `recompute`.
/// Throws like StepSimulation, and Interrupted.
[[nodiscard]] std::vector<MemoryTimePoint> memory_time_points(const BucketSpec& spec,
                                                              const StopFlag* stop,
                                                              StudyProgress* kept = nullptr);

/// One line per point.
[[nodiscard]] Table memory_time_table(const std::vector<MemoryTimePoint>& points);
/// Memory over sequences in a second, a line per choice of recomputation and one of efficient
/// points; dashed: `capacity`.
[[nodiscard]] std::string memory_time_picture(const BucketSpec& spec,
                                              const std::vector<MemoryTimePoint>& points,
                                              Bytes capacity);

}  // namespace schedlab
