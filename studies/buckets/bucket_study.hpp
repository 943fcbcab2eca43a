// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/sweep/table.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/study_progress.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// One pass over one data set in one setup.
struct BucketRow {
  std::size_t data = 0;  ///< index into BucketSpec::data
  TrainingSetup setup;
  std::string rule;          ///< of boundaries, "per_batch": a model for every batch, or
                             ///< "dynamic": no model, every batch at its own length
  std::int64_t buckets = 0;  ///< asked for; 0 without boundaries
  BucketBoundaries boundaries;
  std::vector<std::int64_t> batches;     ///< per bucket
  std::vector<std::int64_t> batch_rows;  ///< of a batch of each bucket, of one rank
  std::int64_t iterations = 0;
  std::int64_t sequences = 0;  ///< trained
  double padding_share = 0;
  EpochTime time;
  Duration later_building{0};  ///< of a further pass that finds the models of this one
  Bytes memory{};              ///< of one rank: network at the longest length, and stored models
  bool fits = true;
  std::optional<double> speed_up;  ///< over one bucket of the same data and setup, if it was asked
  /// Over TrainingSetup::plain() with the same rule and buckets, if that was asked.
  std::optional<double> batching_gain;
  /// Batches after which the models have paid, against "dynamic"; none where they do not, or
  /// nothing says how steps without models are launched.
  std::optional<double> break_even_runs;
  bool chosen = false;  ///< the fastest of its data and setup that fits
  bool best = false;    ///< the fastest of its data that fits, over all setups
};

struct BucketStudy {
  const BucketSpec* spec = nullptr;
  std::vector<BucketRow> rows;
  std::map<TrainingSetup, std::int64_t> largest_batch;  ///< at the longest length, without models
  Bytes capacity{};                                     ///< of a device; 0: unlimited
  std::size_t simulated = 0;                            ///< steps of different length and setup
  bool complete = true;                                 ///< false: stopped, with some of the rows
};

/// Called with finished rows and how many there will be.
using BucketObserver = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// The batches of one pass over one data set of the spec. `batch_rows`: of each bucket, of one
/// rank; empty: the setup's batch.
[[nodiscard]] Epoch epoch_of(const BucketSpec& spec,
                             std::size_t data,
                             const TrainingSetup& setup,
                             const BucketBoundaries& boundaries,
                             std::vector<std::int64_t> batch_rows = {});
/// The row of the same data, rule and number of buckets whose setup is plain(); nullptr for such a
/// row itself, and where there is none.
[[nodiscard]] const BucketRow* plain_row(const BucketStudy& study, const BucketRow& row);

/// Number of rows of a study.
[[nodiscard]] std::uint64_t row_count(const BucketSpec& spec);

/// Setups whose batch is 0 get the largest that fits into a device at the longest length of all
/// data, a multiple of batch_multiple, beside as many stored models as there are buckets at most.
/// Throws InputError where the machine's memory is not limited, InfeasibleError where nothing fits,
/// and what StepSimulation throws.
void resolve_batches(BucketSpec& spec);

/// Boundaries, passes, times and memory of every combination, of setups with batches. Steps are
/// simulated at the lengths of the buckets; `optimal` boundaries and models per batch use times
/// that are interpolated between nine simulated lengths. Refers to `spec`. What `kept` has is not
/// simulated again; nullptr: nothing is kept. Throws InputError and InfeasibleError like
/// StepSimulation; when asked to stop it returns the rows that are done.
[[nodiscard]] BucketStudy run_bucket_study(const BucketSpec& spec,
                                           const StopFlag* stop,
                                           const BucketObserver& observer,
                                           StudyProgress* kept = nullptr);

/// Axes lengths, batch, recompute, ranks, sorting, batching, packing, rule, buckets; then the
/// numbers.
[[nodiscard]] const std::vector<Column>& bucket_columns();
/// The values that occur, one list per column; empty for those that are no axis.
[[nodiscard]] std::vector<std::vector<Cell>> bucket_axis_values(const BucketSpec& spec);
/// One line per row.
[[nodiscard]] Table bucket_table(const BucketStudy& study);

}  // namespace schedlab
