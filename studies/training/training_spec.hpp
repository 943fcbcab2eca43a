// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/pipeline_training.hpp"
#include "sim/base/options.hpp"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// What `schedlab execute --device mpi` reads: a net, its data, how it is trained, and the pipeline
/// that trains it.
struct TrainingSpec {
  std::string file;  ///< for messages
  std::string name;
  std::string text;  ///< of the file
  /// All but the stages, whose number and layers may be open; `data` is what is trained on.
  PipelineTraining training;
  LabelledSamples test;  ///< every fifth sample, or IDX files of their own; not trained on
  std::int64_t iterations = 1;
  std::int64_t verified_iterations = 1;
  /// Layers of each stage; empty: `stage_count` stages, cut where their times or memory balance.
  std::vector<std::int64_t> layers_per_stage;
  std::optional<std::uint32_t> stage_count;  ///< nullopt: as many as there are ranks for
  bool balance_memory = false;               ///< else time
  Bytes memory_limit{};                      ///< of a stage; 0: none
  std::string policy;
  std::map<std::string, OptionValue> policy_options;

  /// Ranks that it needs; nullopt: any multiple of the replicas will do.
  [[nodiscard]] std::optional<std::uint32_t> ranks() const;
};

/// Throws InputError with file, pointer, found and expected: what the schema forbids, a net that
/// cannot be, data that does not fit it, a policy that is no schedule of a pipeline.
[[nodiscard]] TrainingSpec parse_training_spec(const std::string& text,
                                               const std::string& file,
                                               const std::string& folder = ".");
[[nodiscard]] TrainingSpec load_training_spec(const std::string& path,
                                              std::ostream* notes = nullptr);

/// Decides how many stages a run on `ranks` ranks (0: as many as the spec says) has.
/// Throws InputError if the spec needs another number of ranks, or says none; or if there are more
/// stages than layers.
[[nodiscard]] std::uint32_t stages_for_ranks(const TrainingSpec& spec, std::uint32_t ranks);

/// JSON Schema (draft 7) of the file.
[[nodiscard]] std::string training_spec_schema();

}  // namespace schedlab
