// SPDX-License-Identifier: Apache-2.0
#include "sim/base/byte_source.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::filesystem::path path)
      : path_(std::move(path)),
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
        descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail(errno);
    struct stat about {};
    if (::fstat(descriptor_, &about) != 0 || S_ISDIR(about.st_mode)) {
      ::close(descriptor_);
      fail(EISDIR);
    }
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { ::close(descriptor_); }

  [[nodiscard]] std::size_t read(char* to, std::size_t room) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, to, room);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail(errno);
    }
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw InputError(
        {.file = path_.string(),
         .pointer = {},
         .found = error == ENOENT ? "no such file" : std::generic_category().message(error),
         .expected = "a file that can be read",
         .hint = {}});
  }

  std::filesystem::path path_;
  int descriptor_;
};

}  // namespace

std::size_t TextSource::read(char* to, std::size_t room) {
  const std::size_t given = std::min(room, text_.size());
  std::memcpy(to, text_.data(), given);
  text_.remove_prefix(given);
  return given;
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<ByteSource> open_file_or_gzip(const std::filesystem::path& path) {
  return decompressed(open_file(path), path.string());
}

}  // namespace schedlab
