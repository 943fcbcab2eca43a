// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/buckets/batch_boundaries.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/step_simulation.hpp"
#include "studies/buckets/study_progress.hpp"
#include "workloads/buckets/bucket_batches.hpp"
#include "workloads/buckets/epoch.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace schedlab {

/// Steps of stored models, each of its bucket's length and batch. Refers to the SetupBatches.
struct StoredSteps {
  StepTime step;
  ModelBuilding building;
};

/// The batch of each bucket in one setup, and the simulated steps of every batch.
class SetupBatches {
 public:
  /// As StepSimulation.
  SetupBatches(const BucketSpec& spec,
               const TrainingSetup& setup,
               const StopFlag* stop,
               StudyProgress* kept);

  /// Steps of so many rows.
  [[nodiscard]] StepSimulation& steps(std::int64_t batch);
  [[nodiscard]] std::size_t simulated() const;
  /// Of the steps that were simulated here.
  [[nodiscard]] std::uint64_t tasks() const;
  [[nodiscard]] StoredSteps stored(const BatchedBuckets& buckets);
  [[nodiscard]] Bytes capacity() const { return first_->capacity(); }
  /// Of one rank that trains so many rows.
  [[nodiscard]] Bytes memory(std::int64_t length, std::int64_t batch) const;

  /// The batch of each bucket of the data set: the setup's, or by its `batching` the largest that
  /// is allowed (of optimal() the one that it chose), with no more rows than the bucket fills
  /// (evened_batch()).
  [[nodiscard]] std::vector<std::int64_t> of(std::size_t data, const BatchedBuckets& buckets) const;

  /// Boundaries and batches together, of least time within the limit of `batching`, by
  /// optimal_batched_buckets(): batches 1, 1.5, 2, 3, 4, 6, ... times the setup's, whose steps are
  /// interpolated between nine simulated lengths.
  [[nodiscard]] BatchedBuckets optimal(std::size_t data, std::int64_t count);

 private:
  /// The most rows that `batching` allows at a length.
  [[nodiscard]] std::int64_t largest(std::int64_t length, std::int64_t longest) const;
  [[nodiscard]] std::int64_t chunks(std::size_t data) const;

  const BucketSpec& spec_;
  TrainingSetup setup_;
  const StopFlag* stop_;
  StudyProgress* kept_;
  std::map<std::int64_t, std::unique_ptr<StepSimulation>> steps_;  // by batch
  StepSimulation* first_;                                          // of the setup's batch
};

}  // namespace schedlab
