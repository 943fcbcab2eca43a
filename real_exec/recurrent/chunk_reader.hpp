// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/sequence_corpus.hpp"
#include "sim/base/units.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace schedlab {

/// Throws InfeasibleError for records that are too short for a step's floats, or no floats.
void expect_record_bytes(std::int64_t step_floats, std::int64_t bytes_per_step);

/// The sequences of a corpus on disk, a file for every chunk of consecutive ones: of each step a
/// record of floats (SequenceCorpus::append_records()), in a new folder for temporary files
/// (TMPDIR).
class ChunkFiles {
 public:
  /// `chunk`: sequences of a file; 0: all. `bytes_per_step`: of a record, which is padded to them.
  /// Writes all files. InfeasibleError, with the path, if they cannot be written, and that of
  /// expect_record_bytes().
  ChunkFiles(const SequenceCorpus& corpus, std::int64_t chunk, std::int64_t bytes_per_step);
  ChunkFiles(const ChunkFiles&) = delete;
  ChunkFiles& operator=(const ChunkFiles&) = delete;
  ~ChunkFiles();  ///< removes the folder

  [[nodiscard]] std::size_t file_of(std::uint32_t sequence) const { return sequence / chunk_; }
  [[nodiscard]] const std::filesystem::path& path(std::size_t file) const { return files_[file]; }
  /// Where the sequences of a chunk that was read lie in it.
  [[nodiscard]] SequenceRecords records(std::span<const float> chunk) const;
  /// Asks the system to drop its copies in memory, so that the next pass reads from disk.
  void drop_cached() const;

 private:
  std::size_t chunk_;
  std::int64_t stride_;  // floats of a step
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::size_t> offsets_;  // of each sequence in its file
};

/// Threads that read chunks ahead of training, as ChunkReading says: each takes the next chunk of
/// the pass as soon as it is free and at most `ahead` chunks lie between it and the one in
/// training. (System S2 hides its reading behind several producers.)
class ChunkReader {
 public:
  /// `order`: the files of a pass. `files` must outlive this.
  ChunkReader(const ChunkFiles& files,
              std::vector<std::size_t> order,
              std::uint32_t producers,
              std::size_t ahead);
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;
  ~ChunkReader();  ///< waits for files that are being read

  /// Waits for the next chunk, whose predecessor is given back. Throws what reading it threw:
  /// InfeasibleError with the path.
  [[nodiscard]] std::span<const float> next();

  [[nodiscard]] Duration waited() const { return waited_; }
  /// Time that all producers spent reading, summed, and what they read.
  [[nodiscard]] Duration reading() const;
  [[nodiscard]] Bytes bytes() const;

 private:
  struct Chunk {
    std::vector<float> values;
    std::exception_ptr failure;
    bool ready = false;
  };
  void produce();

  const ChunkFiles& files_;
  std::vector<std::size_t> order_;
  std::size_t ahead_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // With the lock held.
  std::vector<Chunk> chunks_;
  std::size_t taken_ = 0;  // by producers
  std::size_t given_ = 0;  // to training; all but the last are done
  bool stopped_ = false;
  Duration reading_{0};
  Bytes bytes_{};

  Duration waited_{0};  // the consumer's
  std::vector<std::thread> producers_;
};

}  // namespace schedlab
