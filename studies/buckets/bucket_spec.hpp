// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "studies/scenario/shared_parts.hpp"
#include "workloads/buckets/boundaries.hpp"
#include "workloads/buckets/bucket_batches.hpp"
#include "workloads/buckets/epoch.hpp"
#include "workloads/buckets/lengths.hpp"
#include "workloads/buckets/recurrent_memory.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace schedlab {

/// One data set: its sequences, and what they were drawn from.
struct SequenceData {
  std::string label;  ///< "power_law 0.5", "file lengths.csv"
  LengthDistribution distribution;
  std::vector<std::int64_t> lengths;  ///< of all sequences, in the order of the data set
};

/// One way to train: how many sequences at once, and what is kept for the backward pass.
struct TrainingSetup {
  /// Rows of a batch of the longest bucket, of each rank; 0: the largest that fits, see
  /// resolve_batches().
  std::int64_t batch = 8;
  RecomputeChoice recompute{};
  std::int64_t ranks = 1;                   ///< data parallel; each trains a batch of its own
  bool sorted = true;                       ///< EpochOptions::sorted
  Batching batching = Batching::sequences;  ///< what batches of shorter buckets hold
  bool packed = false;                      ///< EpochOptions::packed

  /// The same where every bucket has the batch of the longest and a row holds a sequence: what
  /// batching and packing are held against.
  [[nodiscard]] TrainingSetup plain() const {
    TrainingSetup setup = *this;
    setup.batching = Batching::sequences;
    setup.packed = false;
    return setup;
  }
  /// What decides the step of a length and batch alone.
  [[nodiscard]] TrainingSetup of_steps() const {
    TrainingSetup setup = plain();
    setup.sorted = true;
    return setup;
  }

  // NOLINTNEXTLINE(readability-implicit-bool-conversion): version 14 sees one in the default
  friend auto operator<=>(const TrainingSetup&, const TrainingSetup&) = default;
};

/// "by_length", "none": whether a chunk is sorted before it is cut into batches.
[[nodiscard]] std::vector<std::string> sorting_names();
[[nodiscard]] std::string sorting_name(bool sorted);
/// "none", "packed": whether short sequences share rows.
[[nodiscard]] std::vector<std::string> packing_names();
[[nodiscard]] std::string packing_name(bool packed);

/// What `schedlab buckets` reads. Lists of data sets, setups, rules and counts are all combined.
struct BucketSpec {
  std::string file;              ///< for messages
  std::string text;              ///< as it was read
  std::filesystem::path folder;  ///< paths inside are relative to it
  std::string name;
  std::string description;
  std::vector<SequenceData> data;
  std::vector<TrainingSetup> training;
  std::vector<BoundaryRule> rules;
  std::vector<std::int64_t> counts;
  std::int64_t batch_multiple = 1;  ///< of which the largest batch is one
  std::string scenario;  ///< JSON text: workload, machine, policy, ... of one training step
  /// In the place of the scenario's, which was checked before; nullptr: that one.
  std::shared_ptr<const MachineSpec> machine{};
  /// By all steps of the scenario, which must not be changed once one was simulated.
  std::shared_ptr<SharedParts> shared = std::make_shared<SharedParts>();
  std::int64_t chunk_sequences = 0;
  std::uint64_t seed = 1;
  bool drop_incomplete = false;
  ChunkReading reading;
  ModelBuilding models;          ///< of stored models
  std::int64_t model_bytes = 0;  ///< of one stored model
  bool per_batch = false;        ///< compare with models that are built for every batch
  bool overlapped = false;       ///< of those: beside the step before
  std::string dynamic_launch;    ///< JSON text: launch mode of steps without models; empty: none
  std::map<std::string, std::int64_t> network;  ///< sizes that the workload does not say
};

/// Throws InputError with file, pointer, found and expected: what the schema forbids, lengths that
/// cannot be, a file of lengths with a wrong line.
[[nodiscard]] BucketSpec parse_bucket_spec(const std::string& text,
                                           const std::string& file,
                                           const std::filesystem::path& folder = ".");
[[nodiscard]] BucketSpec load_bucket_spec(const std::string& path);

/// JSON Schema (draft 7) of the file.
[[nodiscard]] std::string bucket_spec_schema();

}  // namespace schedlab
