// SPDX-License-Identifier: Apache-2.0
#include "sim/base/input_file.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Descriptor = std::shared_ptr<const int>;

constexpr auto patience = std::chrono::seconds{5};
constexpr auto nap = std::chrono::milliseconds{10};
constexpr std::size_t piece_size = std::size_t{1} << 16U;

Descriptor owned(int descriptor) {
  return {new int{descriptor}, [](const int* owner) {
            ::close(*owner);
            delete owner;  // NOLINT(cppcoreguidelines-owning-memory): the deleter of what is new
          }};
}

[[noreturn]] void refuse(const std::filesystem::path& path,
                         std::string found,
                         const char* expected = "a file that can be read",
                         std::string hint = {}) {
  throw InputError({.file = path.string(),
                    .pointer = {},
                    .found = std::move(found),
                    .expected = expected,
                    .hint = std::move(hint)});
}

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  if (error == ENOENT) refuse(path, "no such file");
  if (error == EISDIR) refuse(path, "a folder", "a file");
  refuse(path, std::generic_category().message(error));
}

[[noreturn]] void refuse_size(const std::filesystem::path& path, std::uint64_t limit) {
  throw InputError({.file = path.string(),
                    .pointer = {},
                    .found = fmt::format("more than {} bytes", limit),
                    .expected = "an input of at most that many",
                    .hint = input_limit_hint()});
}

/// All that a pipe gives, in a file without a name.
class PipeContent {
 public:
  PipeContent(const std::filesystem::path& path, int pipe)
      : path_(path), pipe_(pipe), content_(owned(::memfd_create("schedlab-input", MFD_CLOEXEC))) {
    if (*content_ < 0) refuse(path_, errno);
    const std::uint64_t limit = input_limit().bytes;
    std::vector<char> piece(piece_size);
    while (const std::size_t got = next(piece)) {
      size_ += got;
      if (size_ > limit) refuse_size(path_, limit);
      keep({piece.data(), got});
    }
  }
  [[nodiscard]] const Descriptor& content() const { return content_; }

 private:
  /// 0 at the end. Before the first byte the end may only mean that the writer is not there yet.
  [[nodiscard]] std::size_t next(std::vector<char>& piece) {
    const auto begun = std::chrono::steady_clock::now();
    while (true) {
      const ssize_t got = ::read(pipe_, piece.data(), piece.size());
      if (got > 0) return static_cast<std::size_t>(got);
      if (got < 0 && errno != EAGAIN && errno != EINTR) refuse(path_, errno);
      if (got < 0) {
        writer_seen_ = true;
        pollfd waiting{.fd = pipe_, .events = POLLIN, .revents = 0};
        ::poll(&waiting, 1, -1);
      } else if (writer_seen_ || size_ > 0) {
        return 0;
      } else if (std::chrono::steady_clock::now() - begun > patience) {
        refuse(path_, "a pipe without a writer", "a pipe with an input");
      } else {
        std::this_thread::sleep_for(nap);
      }
    }
  }

  void keep(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(*content_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse(path_, errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  const std::filesystem::path& path_;
  int pipe_;
  Descriptor content_;
  std::uint64_t size_ = 0;
  bool writer_seen_ = false;
};

/// The content of a pipe, read when it is opened for the first time.
Descriptor content_of_pipe(const std::filesystem::path& path, int pipe, const struct stat& about) {
  using Key = std::tuple<std::string, dev_t, ino_t>;
  // A pipe gives its bytes once to the whole process, so what it gave belongs to the process.
  static std::mutex mutex;
  static std::map<Key, Descriptor>
      contents;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
  const std::lock_guard lock(mutex);
  const Key key{path.string(), about.st_dev, about.st_ino};
  const auto found = contents.find(key);
  if (found != contents.end()) return found->second;
  return contents.emplace(key, PipeContent(path, pipe).content()).first->second;
}

}  // namespace

InputLimit input_limit() {
  InputLimit limit;
  const char* text = std::getenv(input_limit_variable);  // NOLINT(concurrency-mt-unsafe): not set
  if (text == nullptr) return limit;
  const std::string_view word{text};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), limit.bytes);
  if (error != std::errc{} || end != word.data() + word.size() || limit.bytes == 0) {
    throw InputError({.file = input_limit_variable,
                      .pointer = {},
                      .found = fmt::format("\"{}\"", word),
                      .expected = "a number of bytes",
                      .hint = {}});
  }
  limit.chosen = true;
  return limit;
}

std::string input_limit_hint() {
  return fmt::format("if it is meant, set the environment variable {} to more",
                     input_limit_variable);
}

InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)), limit_(input_limit().bytes) {
  // Without O_NONBLOCK a pipe without a writer would hold up open() itself.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(path_, errno);
  descriptor_ = owned(descriptor);
  struct stat about {};
  if (::fstat(descriptor, &about) != 0) refuse(path_, errno);
  if (S_ISDIR(about.st_mode)) refuse(path_, EISDIR);
  if (S_ISFIFO(about.st_mode)) {
    descriptor_ = content_of_pipe(path_, descriptor, about);
    if (::fstat(*descriptor_, &about) != 0) refuse(path_, errno);
  } else if (!S_ISREG(about.st_mode)) {
    refuse(path_, ::isatty(descriptor) == 1 ? "a terminal" : "a device", "a file or a pipe");
  }
  expected_size_ = static_cast<std::uint64_t>(about.st_size);
  if (expected_size_ > limit_) refuse_size(path_, limit_);
}

std::size_t InputFile::read(char* to, std::size_t capacity) {
  while (true) {
    const ssize_t got = ::pread(*descriptor_, to, capacity, static_cast<off_t>(at_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path_, errno);
    at_ += static_cast<std::uint64_t>(got);
    if (at_ > limit_) refuse_size(path_, limit_);
    return static_cast<std::size_t>(got);
  }
}

}  // namespace schedlab
