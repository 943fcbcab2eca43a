// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace schedlab {

/// Bytes that come piece by piece: what is too large to be read whole.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Puts the next bytes at `to`, at most `capacity` of them (> 0); how many, 0 only at the end.
  [[nodiscard]] virtual std::size_t read(char* to, std::size_t capacity) = 0;
};

/// Bytes in memory, which must outlive the source.
class TextSource final : public ByteSource {
 public:
  explicit TextSource(std::string_view text) : text_(text) {}
  [[nodiscard]] std::size_t read(char* to, std::size_t capacity) override;

 private:
  std::string_view text_;
};

/// The bytes of a file as they are. Throws InputError if it does not exist, is a folder or cannot
/// be read, also from read().
[[nodiscard]] std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);

/// The bytes of `source`, decompressed if they are those of a gzip file (of several members: all of
/// them). read() throws InputError naming `file` where it is damaged or ends early, and where it
/// grows like nothing but a file made to fill a memory: beyond 64 MiB to more than 400 times its
/// size (profiles grow 10 to 40 times).
/// Memory: half a megabyte.
[[nodiscard]] std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                                       std::string file);

/// decompressed(open_file(path)).
[[nodiscard]] std::unique_ptr<ByteSource> open_file_or_gzip(const std::filesystem::path& path);

}  // namespace schedlab
