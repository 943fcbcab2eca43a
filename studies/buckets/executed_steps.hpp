// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/chunk_reader.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent/sequence_corpus.hpp"
#include "sim/base/interrupt.hpp"
#include "sim/base/units.hpp"
#include "studies/buckets/bucket_spec.hpp"
#include "studies/buckets/study_progress.hpp"
#include "studies/execution/scenario_executor.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// How the passes of a study are executed.
struct EpochExecution {
  std::string device = "cpu";  ///< as --device names it; what follows but `allocation`: of the CPU
  std::uint32_t workers = 0;   ///< 0: as the machine was calibrated with, else one per core
  std::string host{};          ///< placement; empty: preloaded
  bool pin = true;
  TensorAllocation allocation = TensorAllocation::by_tensor;
  std::uint32_t repetitions = 3;  ///< passes over the data for each row
};

/// A training step as it is predicted for the workers that run it.
struct PredictedStep {
  Duration makespan{0};
  Bytes peak{};  ///< of tensors, by their life times in the simulated run
};

/// The training steps of one setup at several lengths and batches: predicted, and run for real.
class ExecutedSteps {
 public:
  /// `spec` must outlive this; both lists rise. Throws InfeasibleError for what cannot be trained
  /// on sequences, or has several ranks; InputError for a bad scenario; DeviceError if the device
  /// is not there, and what its executor throws.
  ExecutedSteps(const BucketSpec& spec,
                const TrainingSetup& setup,
                const std::vector<std::int64_t>& lengths,
                const std::vector<std::int64_t>& batches,
                const EpochExecution& request,
                const StopFlag* stop);

  [[nodiscard]] std::string device() const { return executor_->traits().name; }
  [[nodiscard]] const PredictedStep& predicted(std::int64_t length, std::int64_t batch);
  /// One pass: a model for each bucket, made before; the first step of each is run once more
  /// before and not counted; weights go on from batch to batch, and start equal in all passes.
  /// Throws what an execution throws.
  /// `files`: what the pass reads its sequences from, as the spec's reading says; nullptr: nothing.
  [[nodiscard]] EpochRun run(const Epoch& epoch,
                             const SequenceCorpus& corpus,
                             const ChunkFiles* files = nullptr);
  /// Elements of a step of the input and of the output.
  [[nodiscard]] std::int64_t input() const;
  [[nodiscard]] std::int64_t output() const { return output_width(network_); }

 private:
  using Models = std::vector<std::optional<std::uint64_t>>;  // by bucket; none: it has no batch

  [[nodiscard]] std::uint64_t scenario_of(std::int64_t length, std::int64_t batch) const;
  [[nodiscard]] std::uint64_t scenario_of(const Epoch& epoch, std::size_t bucket) const {
    return scenario_of(epoch.boundaries[bucket], epoch.batch_rows[bucket]);
  }
  void expect_trainable(const std::string& device) const;
  [[nodiscard]] TrainedNetwork& network(std::uint64_t scenario);
  [[nodiscard]] Duration execute(std::uint64_t scenario);
  [[nodiscard]] Models made_models(const Epoch& epoch, const SequenceCorpus& corpus);
  [[nodiscard]] EpochRun train(const Epoch& epoch,
                               const SequenceCorpus& corpus,
                               const Models& models,
                               const ChunkFiles* files);
  void fill(const Epoch& epoch,
            const SequenceBatch& batch,
            const SequenceCorpus& corpus,
            std::uint64_t scenario,
            const SequenceRecords* read = nullptr);

  const BucketSpec& spec_;
  TrainingSetup setup_;
  Spec parsed_;
  Grid grid_;
  ScenarioSpace space_;
  RecurrentSpec network_;
  ScenarioRunner runner_;
  std::optional<ScenarioExecutor> executor_;
  Execution run_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> scenarios_;  // by length and batch
  std::map<std::uint64_t, PredictedStep> predicted_;
  PaddedBatch padded_;
};

}  // namespace schedlab
