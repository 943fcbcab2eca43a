// SPDX-License-Identifier: Apache-2.0
#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/gzip.hpp"
#include "sim/base/input_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr int window_in_gzip_wrapper = 15 + 16;  // zlib: the largest window
constexpr std::size_t input_size = std::size_t{1} << 18U;
// A profile of 26 MB shrinks to a 20th; deflate can at best shrink to a 1032nd (zlib's manual).
constexpr std::uint64_t harmless_size = std::uint64_t{64} << 20U;  // assumed
constexpr std::uint64_t max_growth = 400;                          // assumed

/// zlib's own types do not go with a class that is moved; it is not.
class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> source, std::string file)
      : source_(std::move(source)), file_(std::move(file)), input_(input_size) {
    fill();
    if (available_ == 1) fill();  // a pipe may give one byte
    compressed_ = is_gzip({input_.data(), available_});
    if (compressed_) begin_member();
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override {
    if (compressed_) inflateEnd(&stream_);
  }

  [[nodiscard]] std::size_t read(char* to, std::size_t capacity) override {
    if (!compressed_) return read_plain(to, capacity);
    std::size_t given = 0;
    while (given == 0 && !ended_) given = inflate_some(to, capacity);
    given_ += given;
    if (given_ > limit_.bytes) refuse_growth(fmt::format("more than {} bytes", limit_.bytes));
    if (!limit_.chosen && given_ > harmless_size && given_ / max_growth > taken_) {
      refuse_growth(fmt::format("more than {} times its size", max_growth));
    }
    return given;
  }

 private:
  [[noreturn]] void fail(const char* found, const char* expected) const {
    throw InputError(
        {.file = file_, .pointer = {}, .found = found, .expected = expected, .hint = {}});
  }

  [[noreturn]] void refuse_growth(const std::string& size) const {
    throw InputError({.file = file_,
                      .pointer = {},
                      .found = "a gzip file that grows to " + size,
                      .expected = "a compressed profile or graph",
                      .hint = input_limit_hint()});
  }

  [[nodiscard]] std::size_t read_plain(char* to, std::size_t capacity) {
    if (available_ == 0) return source_->read(to, capacity);
    const std::size_t given = std::min(capacity, available_);
    std::memcpy(to, input_.data() + at_, given);
    at_ += given;
    available_ -= given;
    return given;
  }

  /// More input behind what is left of it, which is at most a byte.
  void fill() {
    if (available_ > 0) input_[0] = input_[at_];
    at_ = 0;
    available_ += source_->read(input_.data() + available_, input_.size() - available_);
  }

  void begin_member() {
    stream_ = {};
    SCHEDLAB_EXPECTS(inflateInit2(&stream_, window_in_gzip_wrapper) == Z_OK,
                     "zlib could not start");
  }

  [[nodiscard]] std::size_t inflate_some(char* to, std::size_t capacity) {
    if (available_ == 0) fill();
    const auto limit = std::size_t{std::numeric_limits<uInt>::max()};
    const auto asked = static_cast<uInt>(std::min(capacity, limit));
    // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): zlib's interface
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + at_);
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
    stream_.avail_in = static_cast<uInt>(available_);
    stream_.avail_out = asked;
    const bool at_end = available_ == 0;
    const int state = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t taken = available_ - stream_.avail_in;
    const std::size_t given = asked - stream_.avail_out;
    at_ += taken;
    available_ -= taken;
    taken_ += taken;
    if (state == Z_STREAM_END) {
      end_member();
    } else if (state == Z_BUF_ERROR || (state == Z_OK && at_end && stream_.avail_out > 0)) {
      fail("a gzip file that ends early", "a whole gzip file; copy or download it again");
    } else if (state != Z_OK) {
      fail("a damaged gzip file", "a whole gzip file; copy or download it again");
    }
    return given;
  }

  void end_member() {
    if (available_ == 0) fill();
    ended_ = available_ == 0;
    if (!ended_) {
      inflateEnd(&stream_);
      begin_member();
    }
  }

  std::unique_ptr<ByteSource> source_;
  std::string file_;
  std::vector<char> input_;
  std::size_t at_ = 0;         // of the next byte of input
  std::size_t available_ = 0;  // bytes of input from there on
  std::uint64_t taken_ = 0;    // compressed bytes so far
  std::uint64_t given_ = 0;    // decompressed bytes so far
  InputLimit limit_ = input_limit();
  z_stream stream_{};
  bool compressed_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source, std::string file) {
  return std::make_unique<GzipSource>(std::move(source), std::move(file));
}

}  // namespace schedlab
