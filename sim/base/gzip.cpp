// SPDX-License-Identifier: Apache-2.0
#include "sim/base/gzip.hpp"

#include "sim/base/byte_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>

namespace schedlab {
namespace {

constexpr int gzip_window = 15 + 16;  // zlib: the largest window, in a gzip wrapper
constexpr int memory_level = 8;       // zlib's default
constexpr std::size_t padding_behind = 64;
constexpr std::size_t piece_size = std::size_t{1} << 18U;

/// zlib counts input in 32 bits.
uInt next_input(std::string_view bytes, std::size_t at) {
  return static_cast<uInt>(
      std::min<std::size_t>(bytes.size() - at, std::numeric_limits<uInt>::max()));
}

Bytef* input(std::string_view bytes, std::size_t at) {
  // zlib's interface is older than const; it does not write there.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast)
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data() + at));
}

Bytef* output(std::array<char, piece_size>& piece) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<Bytef*>(piece.data());
}

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  SCHEDLAB_EXPECTS(deflateInit2(&stream,
                                Z_DEFAULT_COMPRESSION,
                                Z_DEFLATED,
                                gzip_window,
                                memory_level,
                                Z_DEFAULT_STRATEGY) == Z_OK,
                   "zlib could not start to compress");
  std::string compressed;
  auto piece = std::make_unique<std::array<char, piece_size>>();
  std::size_t at = 0;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    const uInt given = next_input(bytes, at);
    stream.next_in = input(bytes, at);
    stream.avail_in = given;
    stream.next_out = output(*piece);
    stream.avail_out = piece_size;
    state = deflate(&stream, at + given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    at += given - stream.avail_in;
    compressed.append(piece->data(), piece_size - stream.avail_out);
  }
  deflateEnd(&stream);
  return compressed;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

std::string gunzip(std::string_view bytes, const std::string& file) {
  const auto source = decompressed(std::make_unique<TextSource>(bytes), file);
  std::string text;
  std::size_t filled = 0;
  do {
    text.resize(std::max(piece_size, text.size() * 2));
    while (filled < text.size()) {
      const std::size_t got = source->read(text.data() + filled, text.size() - filled);
      filled += got;
      if (got == 0) break;
    }
  } while (filled == text.size());
  text.resize(filled);
  text.reserve(filled + padding_behind);
  return text;
}

std::string read_file_or_gzip(const std::filesystem::path& path) {
  std::string bytes = read_file(path);
  return is_gzip(bytes) ? gunzip(bytes, path.string()) : bytes;
}

}  // namespace schedlab
