// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "studies/buckets/bucket_spec.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace schedlab {

/// One pass over the data that ran for real.
struct EpochRun {
  Duration training{0};    ///< the makespans of its steps, summed
  Duration total{0};       ///< from its first batch to its last: with batches that are filled, and
                           ///< weights that change models
  Duration waiting{0};     ///< of `total`: for chunks of data from files
  Duration reading{0};     ///< of all producers, summed
  Bytes read{};            ///< by them; 0: no file was read
  Bytes tensors_peak{};    ///< most that a step held; 0: not counted
  Bytes models{};          ///< that all its models hold between steps
  double first_error = 0;  ///< mean squared error of the first tenth of its batches
  double last_error = 0;   ///< and of the last
  bool finite = true;      ///< every loss, and all weights at the end

  friend bool operator==(const EpochRun&, const EpochRun&) = default;
};

/// What the simulation of a step says.
struct StepCost {
  Duration step{0};
  Duration load{0};  ///< of its device graph or sunk model, before the first step

  friend bool operator==(const StepCost&, const StepCost&) = default;
};

/// progress.json: what a study has worked out so far, so that a stopped one goes on. It belongs to
/// one spec, its machine files and one version of the program.
class StudyProgress {
 public:
  /// Kept in memory alone.
  StudyProgress() = default;
  /// Holds nothing yet. `request` is what else decides the results, such as options.
  StudyProgress(std::filesystem::path file, const BucketSpec& spec, std::string request);
  /// Reads what is there; a missing file is one of nothing. Throws InputError if it is of another
  /// spec, request or version, or none at all.
  void resume();

  /// The step's times if they are known; setups that differ in sorting alone share them. `launch`
  /// as of step_scenario().
  [[nodiscard]] std::optional<StepCost> step(const TrainingSetup& setup,
                                             std::int64_t length,
                                             const std::string& launch = {}) const;
  void add_step(const TrainingSetup& setup,
                std::int64_t length,
                const StepCost& cost,
                const std::string& launch = {});
  /// A run of a row of the study, if it is known.
  [[nodiscard]] std::optional<EpochRun> epoch(std::size_t row, std::uint32_t repetition) const;
  void add_epoch(std::size_t row, std::uint32_t repetition, const EpochRun& run);

  /// Writes the file. Added steps do so by themselves, but not more than once a second, and added
  /// passes at once.
  void save();

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path file_;
  std::string header_;  // JSON text of what it belongs to
  std::map<std::pair<std::string, std::int64_t>, StepCost> steps_;
  std::map<std::pair<std::size_t, std::uint32_t>, EpochRun> epochs_;
  Clock::time_point saved_ = Clock::now();
};

/// Its file in the folder of a study.
inline constexpr const char* study_progress_file = "progress.json";

}  // namespace schedlab
