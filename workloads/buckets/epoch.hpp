// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "workloads/buckets/boundaries.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace schedlab {

/// Sequences that are trained together, padded to one bucket.
struct SequenceBatch {
  std::uint32_t bucket = 0;
  std::uint32_t rows = 0;       ///< fewer than the batch size in the last batch of a chunk
  std::uint32_t sequences = 0;  ///< as many as rows, or packed several into one
  std::int64_t longest = 0;     ///< of its rows
  std::int64_t real_steps = 0;  ///< sum of their lengths
  std::size_t first = 0;        ///< of them in Epoch::members
};

/// Consecutive sequences that are read together.
struct DataChunk {
  std::size_t batches = 0;      ///< how many batches it gave, in the order of Epoch::batches
  std::int64_t real_steps = 0;  ///< sum of the lengths of its sequences, left out ones included
};

/// One pass over a data set in the order of training.
struct Epoch {
  /// Rows of a full batch, by bucket; an incomplete one is computed like it.
  std::vector<std::int64_t> batch_rows;
  BucketBoundaries boundaries;
  std::vector<SequenceBatch> batches;
  std::vector<std::uint32_t> members;  ///< numbers of the sequences that are trained
  std::vector<std::uint32_t> rows;     ///< of each member its row in the batch, rising
  std::vector<DataChunk> chunks;       ///< in the order of reading
  std::int64_t sequences = 0;          ///< that are trained
  std::int64_t left_out = 0;           ///< in incomplete batches that were dropped
  std::int64_t real_steps = 0;         ///< of the sequences that are trained
  std::int64_t padded_steps = 0;       ///< computed: rows times bucket length, over all batches
  [[nodiscard]] double padding_share() const {
    return 1 - static_cast<double>(real_steps) / static_cast<double>(padded_steps);
  }
};

struct EpochOptions {
  std::int64_t batch = 8;                  ///< rows
  std::vector<std::int64_t> batch_rows{};  ///< by bucket, in place of `batch`; empty: all alike
  std::int64_t chunk = 0;                  ///< sequences of a chunk; 0: all
  std::uint64_t seed = 1;
  bool drop_incomplete = false;  ///< leave out batches that a chunk does not fill
  bool sorted = true;            ///< else batches are cut from a chunk as it was read
  bool packed = false;           ///< short sequences share a row, see packed_rows()
};

/// Sequences that follow each other in one row of a batch.
struct SequenceRow {
  std::int64_t length = 0;  ///< of all, with a step between each two
  std::size_t first = 0;    ///< of SequenceRows::members
  std::size_t count = 0;
};
struct SequenceRows {
  std::vector<SequenceRow> rows;
  std::vector<std::uint32_t> members;
};

/// Packs sequences into rows: the longest that is left opens a row of the length of its bucket, and
/// the longest ones that still fit follow, each after one step in which the state becomes zero.
/// Rows come by rising length. (Best fit decreasing: Johnson, MIT, 1973.)
[[nodiscard]] SequenceRows packed_rows(std::span<const std::uint32_t> members,
                                       const std::vector<std::int64_t>& lengths,
                                       const BucketBoundaries& boundaries);

/// Rows that one pass has in each bucket, each in the first that fits it.
[[nodiscard]] std::vector<std::int64_t> rows_per_bucket(const std::vector<std::int64_t>& lengths,
                                                        const BucketBoundaries& boundaries,
                                                        const EpochOptions& options);

/// Chunks of consecutive sequences are read in random order; the sequences of one are sorted by
/// length (EpochOptions::sorted), perhaps packed into rows, and cut into batches, whose order is
/// then random; a batch goes into the first bucket that is not shorter than the longest of the rows
/// that its batch size takes. The same for equal seeds on every machine. ContractViolation for
/// sizes below 1, for another number of batch_rows than buckets, for packing what is not sorted,
/// and for a sequence longer than the last bucket. Source  system S2 (boundaries.hpp), its three
/// steps of sequence bucketing.
[[nodiscard]] Epoch make_epoch(const std::vector<std::int64_t>& lengths,
                               const BucketBoundaries& boundaries,
                               const EpochOptions& options);

/// Batches per bucket.
[[nodiscard]] std::vector<std::int64_t> batches_per_bucket(const Epoch& epoch);

/// How chunks come from storage: producers, each of which takes the next chunk as soon as it is
/// free, ahead of training by up to `chunks_ahead` chunks.
struct ChunkReading {
  Bandwidth bandwidth{0};           ///< of one producer; 0: reading takes no time
  std::int64_t bytes_per_step = 0;  ///< of one sequence
  Duration latency{0};              ///< per chunk
  std::int64_t producers = 1;       ///< threads that read
  std::int64_t chunks_ahead = 1;    ///< besides the one in training; 0: read, train, read, ...
};

/// Time of a training step that is unrolled to this length.
using StepTime = std::function<Duration(std::int64_t)>;

/// How unrolled models (compiled graphs) come about.
struct ModelBuilding {
  Duration build{0};        ///< of one model
  bool stored = true;       ///< one per bucket, built at the start; else built for every batch,
                            ///< unrolled to its longest sequence
  bool overlapped = false;  ///< not stored: the next model is built while the last one trains
  /// Stored: models kept at once. A batch of a bucket without one has it built and takes the place
  /// of the model that was used longest ago. 0: all.
  std::size_t cached = 0;
  StepTime load{};  ///< on top of `build`, by the length of the model; none: nothing
};

/// Where the time of a pass goes. total = building + training + waiting.
struct EpochTime {
  Duration total{0};
  Duration training{0};     ///< devices train
  Duration building{0};     ///< training waits for models
  Duration waiting{0};      ///< training waits for data
  std::int64_t models = 0;  ///< built
};

/// The pass batch by batch; steps follow each other without a gap. Exact in picoseconds: equal to
/// simulating each batch by itself, with one simulation for each length.
/// Throws InfeasibleError if the sum leaves the range of Duration (about 106 days).
[[nodiscard]] EpochTime epoch_time(const Epoch& epoch,
                                   const StepTime& step,
                                   const ModelBuilding& building,
                                   const ChunkReading& reading);

/// Building of a pass like this one that finds the stored models of the pass before.
[[nodiscard]] Duration later_building(const Epoch& epoch, const ModelBuilding& building);

/// Runs (batches) after which stored models have paid for their building: the building of the first
/// pass that later ones are spared, over what a run gains against training `without` models. None
/// where a pass gains nothing. Data is there in time.
[[nodiscard]] std::optional<double> break_even_runs(const EpochTime& first,
                                                    Duration later,
                                                    const EpochTime& without,
                                                    std::int64_t runs);

}  // namespace schedlab
