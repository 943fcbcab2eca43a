// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace schedlab {

/// The environment variable that raises the limit of an input, in bytes.
inline constexpr const char* input_limit_variable = "SCHEDLAB_MAX_INPUT_BYTES";

/// How large an input may be, as it lies there and decompressed.
struct InputLimit {
  std::uint64_t bytes = std::uint64_t{2} << 30U;  // assumed: profiles have up to some hundred MB
  bool chosen = false;  ///< by the user: then it also stands for what a gzip file may grow to
};

/// Throws InputError for a value that is no number of bytes.
[[nodiscard]] InputLimit input_limit();

/// What to do about an input above it.
[[nodiscard]] std::string input_limit_hint();

/// What every reader of a user's file opens. A pipe can be read once, and files are read more than
/// once (to see what they are, and then to read them): the bytes of a pipe are kept in a file
/// without a name until the process ends, and every opening of its path starts at the first byte.
///
/// Errors  InputError, from read() too: a missing file, a folder, a device or terminal, a pipe that
///         has no writer for five seconds, more bytes than input_limit().
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);

  /// The next bytes, at most `capacity`; how many, 0 at the end.
  [[nodiscard]] std::size_t read(char* to, std::size_t capacity);
  /// As the system says it, 0 where it does not know (files in /proc).
  [[nodiscard]] std::uint64_t expected_size() const { return expected_size_; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> descriptor_;
  std::uint64_t expected_size_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t limit_;
};

}  // namespace schedlab
