// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/pipeline_run.hpp"
#include "sim/trace/trace.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/training/resolved_training.hpp"
#include "studies/training/training_spec.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace schedlab {

/// A training on ranks, and what was predicted of it.
struct TrainingResults {
  const TrainingSpec& spec;
  const ResolvedTraining& resolved;
  const PipelineRunResult& run;
  Trace predicted{};        ///< the plan simulated with the measured stages and network
  std::string library{};    ///< that linked the ranks
  std::uint32_t cores = 1;  ///< of this computer, for its ranks
  double test_accuracy = 0;

  /// Largest relative differences that count as the same: gradients of the first iteration of any
  /// layer, losses of the verified rounds. fp32 rounds sums of unlike order apart by some 1e-7.
  static constexpr double gradient_tolerance = 1e-5;
  static constexpr double loss_tolerance = 1e-3;
  [[nodiscard]] bool same_as_unsplit() const {
    return run.gradient_difference <= gradient_tolerance && run.loss_difference <= loss_tolerance;
  }
  /// "mpi" or "threads".
  [[nodiscard]] std::string link_word() const { return library == "threads" ? library : "mpi"; }
  /// What travels loses precision: the comparison is to be read, not to be passed.
  [[nodiscard]] bool lossy() const {
    return resolved.training.compression != Compression::none && resolved.training.ranks() > 1;
  }
  /// Median of the later half of the rounds.
  [[nodiscard]] Duration makespan() const;
  /// All work of an iteration, shared by the cores: no schedule is faster than that.
  [[nodiscard]] Duration work_per_core() const;
  /// The simulated makespan, or the work per core where ranks share cores and that is longer.
  [[nodiscard]] Duration prediction() const;
};

/// training.json (the results), losses.csv, parameters.npz, trace.json, predicted_trace.json,
/// metrics.json, plan.json, utilization.csv, timeline.svg and its conversions.
[[nodiscard]] RunFiles write_training_files(const std::filesystem::path& folder,
                                            const TrainingResults& results);

[[nodiscard]] std::string training_results_json(const TrainingResults& results);
/// JSON Schema (draft 7) of training.json.
[[nodiscard]] std::string training_results_schema();
/// What is printed at the end.
[[nodiscard]] std::string training_results_text(const TrainingResults& results,
                                                const std::string& out,
                                                const RunFiles& files);

}  // namespace schedlab
