// SPDX-License-Identifier: Apache-2.0
#include "sim/base/byte_source.hpp"

#include "sim/base/input_file.hpp"

#include <algorithm>
#include <cstring>

namespace schedlab {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : file_(path) {}
  [[nodiscard]] std::size_t read(char* to, std::size_t capacity) override {
    return file_.read(to, capacity);
  }

 private:
  InputFile file_;
};

}  // namespace

std::size_t TextSource::read(char* to, std::size_t capacity) {
  const std::size_t given = std::min(capacity, text_.size());
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
