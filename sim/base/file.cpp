// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.hpp"

#include "sim/base/error.hpp"
#include "sim/base/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t padding =
    64;  // SIMDJSON_PADDING; a constant here so that base needs no simdjson

/// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  /// 0 or errno.
  [[nodiscard]] int close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

 private:
  int fd_;
};

/// A full disk is no mistake in the input: it can be met once there is space.
[[noreturn]] void refuse(const std::filesystem::path& path, int error, const char* expected) {
  const std::string found = std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == EMFILE ||
      error == ENFILE) {
    throw InfeasibleError(fmt::format("{}: cannot be written: {}", path.string(), found));
  }
  throw InputError(
      {.file = path.string(), .pointer = {}, .found = found, .expected = expected, .hint = {}});
}

void write_all(const Descriptor& file, const std::filesystem::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(path, errno, "a place with capacity for the file");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Removes the temporary file unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }
  void keep() { path_.clear(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  InputFile file(path);
  std::string bytes;
  bytes.reserve(file.expected_size() + padding + 1);
  bytes.resize(file.expected_size() + 1);  // one more, so that the end is seen without growing
  std::size_t filled = 0;
  while (const std::size_t got = file.read(bytes.data() + filled, bytes.size() - filled)) {
    filled += got;
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
  }
  bytes.resize(filled);
  bytes.reserve(filled + padding);
  return bytes;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  for (unsigned attempt = 0;; ++attempt) {
    std::filesystem::path temporary = path;
    temporary += fmt::format(".{}-{}.tmp", ::getpid(), attempt);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
    Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
    if (file.get() < 0 && errno == EEXIST) continue;  // another thread, or left by a killed process
    if (file.get() < 0) refuse(path, errno, "a folder that exists and can be written");
    Temporary guard{temporary};
    write_all(file, path, bytes);
    if (const int error = file.close(); error != 0) {
      refuse(path, error, "a place with capacity for the file");
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) refuse(path, errno, "a file name");
    guard.keep();
    return;
  }
}

}  // namespace schedlab
