// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/buckets/bucket_study.hpp"
#include "studies/buckets/executed_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// A row of a study that ran for real, and what was predicted of it.
struct ExecutedEpoch {
  std::size_t row = 0;                       ///< of BucketStudy::rows
  Duration predicted{0};                     ///< its steps, summed
  EpochTime predicted_pass{};                ///< of these steps, with the reading of the spec
  Bytes predicted_peak{};                    ///< most that a step holds
  std::vector<EpochRun> runs;                ///< by repetition; empty: none is done
  std::optional<double> predicted_speed_up;  ///< over one bucket of the same data and setup
  std::optional<double> measured_speed_up;
  std::optional<double> predicted_batching_gain;  ///< as BucketRow::batching_gain, of the steps
  std::optional<double> measured_batching_gain;

  /// In the middle of all runs, by the time of training.
  [[nodiscard]] const EpochRun& median() const;
  /// Predicted over measured time of training, less 1.
  [[nodiscard]] double error() const;
  /// Predicted over measured peak memory, less 1; nothing if it was not counted.
  [[nodiscard]] std::optional<double> memory_error() const;
};

struct ExecutedStudy {
  std::vector<ExecutedEpoch> epochs;
  std::string device;  ///< "MODEL, 2 workers, host preloaded"
  std::string date;
  bool complete = true;  ///< false: stopped
};

/// Rows that can be executed: those with buckets.
[[nodiscard]] std::size_t executed_count(const BucketStudy& study);

/// Throws what ExecutedSteps throws for any setup of the spec, before anything takes long.
void expect_executable(const BucketSpec& spec, const EpochExecution& request);

/// Runs one pass of every row with buckets, round by round, each round in another seeded order, so
/// that what drifts on this computer meets all rows alike. Passes that are in `kept` are not run
/// again. When asked to stop it returns what is done, without the pass that was running.
[[nodiscard]] ExecutedStudy execute_epochs(const BucketStudy& study,
                                           const EpochExecution& request,
                                           StudyProgress& kept,
                                           const StopFlag* stop,
                                           const BucketObserver& observer);

}  // namespace schedlab
