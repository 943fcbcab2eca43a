// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/chunk_reader.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t float_bytes = sizeof(float);

[[noreturn]] void fail_chunk(const char* what, const std::filesystem::path& path) {
  throw InfeasibleError(fmt::format("{} {}: {}\n  TMPDIR names the folder for temporary files",
                                    what,
                                    path.string(),
                                    std::generic_category().message(errno)));
}

/// A file that is open until the end of the scope.
class OpenChunk {
 public:
  OpenChunk(const std::filesystem::path& path, int flags)
      : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (file_ < 0) fail_chunk("cannot open", path_);
  }
  OpenChunk(const OpenChunk&) = delete;
  OpenChunk& operator=(const OpenChunk&) = delete;
  ~OpenChunk() { ::close(file_); }

  void write(const std::vector<float>& values) const {
    const char* at = reinterpret_cast<const char*>(values.data());  // NOLINT: bytes of floats
    for (std::size_t left = values.size() * sizeof(float); left > 0;) {
      const ssize_t done = ::write(file_, at, left);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail_chunk("cannot write", path_);
      at += done;
      left -= static_cast<std::size_t>(done);
    }
    if (::fsync(file_) != 0) fail_chunk("cannot write", path_);
  }
  [[nodiscard]] std::vector<float> read() const {
    const off_t bytes = ::lseek(file_, 0, SEEK_END);
    if (bytes < 0 || ::lseek(file_, 0, SEEK_SET) != 0) fail_chunk("cannot read", path_);
    std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float));
    char* at = reinterpret_cast<char*>(values.data());  // NOLINT: bytes of floats
    for (std::size_t left = values.size() * sizeof(float); left > 0;) {
      const ssize_t done = ::read(file_, at, left);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail_chunk("cannot read", path_);
      at += done;
      left -= static_cast<std::size_t>(done);
    }
    return values;
  }
  void drop_cached() const { ::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED); }

 private:
  const std::filesystem::path& path_;
  int file_;
};

std::filesystem::path made_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "schedlab_chunks_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail_chunk("cannot make", name);
  return name;
}

}  // namespace

void expect_record_bytes(std::int64_t step_floats, std::int64_t bytes_per_step) {
  const std::int64_t least = step_floats * float_bytes;
  if (bytes_per_step >= least && bytes_per_step % float_bytes == 0) return;
  throw InfeasibleError(
      fmt::format("a step's input and target are {} bytes, and its record in a file has {}; set "
                  "\"bytes_per_step\" in /reading to a multiple of 4 from {} on",
                  least,
                  bytes_per_step,
                  least),
      "bytes_per_step",
      fmt::format("{}", bytes_per_step),
      fmt::format("a multiple of 4 from {} on", least));
}

ChunkFiles::ChunkFiles(const SequenceCorpus& corpus,
                       std::int64_t chunk,
                       std::int64_t bytes_per_step)
    : chunk_(chunk == 0 ? std::max<std::size_t>(corpus.size(), 1)
                        : static_cast<std::size_t>(chunk)),
      stride_(bytes_per_step / float_bytes),
      folder_(made_folder()) {
  try {
    expect_record_bytes(corpus.step_floats(), bytes_per_step);
    for (std::size_t first = 0; first < corpus.size(); first += chunk_) {
      std::vector<float> values;
      for (std::size_t i = first; i < std::min(first + chunk_, corpus.size()); ++i) {
        offsets_.push_back(values.size());
        corpus.append_records(static_cast<std::uint32_t>(i), stride_, values);
      }
      files_.push_back(folder_ / fmt::format("chunk_{}", files_.size()));
      OpenChunk{files_.back(), O_WRONLY | O_CREAT | O_TRUNC}.write(values);
    }
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

ChunkFiles::~ChunkFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

SequenceRecords ChunkFiles::records(std::span<const float> chunk) const {
  return {.values = chunk, .offsets = offsets_, .stride = stride_};
}

void ChunkFiles::drop_cached() const {
  for (const auto& path : files_) OpenChunk{path, O_RDONLY}.drop_cached();
}

ChunkReader::ChunkReader(const ChunkFiles& files,
                         std::vector<std::size_t> order,
                         std::uint32_t producers,
                         std::size_t ahead)
    : files_(files), order_(std::move(order)), ahead_(ahead), chunks_(order_.size()) {
  SCHEDLAB_EXPECTS(producers >= 1, "no thread reads chunks");
  for (std::uint32_t i = 0; i < producers; ++i) producers_.emplace_back([this] { produce(); });
}

ChunkReader::~ChunkReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& producer : producers_) producer.join();
}

void ChunkReader::produce() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      const std::size_t done = given_ > 0 ? given_ - 1 : 0;
      return stopped_ || taken_ == order_.size() || taken_ <= done + ahead_;
    });
    if (stopped_ || taken_ == order_.size()) return;
    const std::size_t mine = taken_++;
    lock.unlock();
    Chunk chunk;
    chunk.ready = true;
    const auto started = std::chrono::steady_clock::now();
    try {
      chunk.values = OpenChunk{files_.path(order_[mine]), O_RDONLY}.read();
    } catch (...) {
      chunk.failure = std::current_exception();
    }
    const Duration took = std::chrono::steady_clock::now() - started;
    lock.lock();
    reading_ += took;
    bytes_ += Bytes{static_cast<std::int64_t>(chunk.values.size()) * float_bytes};
    chunks_[mine] = std::move(chunk);
    changed_.notify_all();
  }
}

std::span<const float> ChunkReader::next() {
  const auto started = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  SCHEDLAB_EXPECTS(given_ < chunks_.size(), "more chunks than the pass has");
  if (given_ > 0) chunks_[given_ - 1] = {};
  Chunk& chunk = chunks_[given_++];
  changed_.notify_all();
  changed_.wait(lock, [&] { return chunk.ready; });
  waited_ += std::chrono::steady_clock::now() - started;
  if (chunk.failure) std::rethrow_exception(chunk.failure);
  return chunk.values;
}

Duration ChunkReader::reading() const {
  const std::lock_guard lock(mutex_);
  return reading_;
}

Bytes ChunkReader::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace schedlab
