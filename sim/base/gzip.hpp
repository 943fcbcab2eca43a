// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace schedlab {

/// Compressed as a gzip file (RFC 1952) without name and time: equal bytes give equal files.
[[nodiscard]] std::string gzip(std::string_view bytes);

/// Does it start as a gzip file does?
[[nodiscard]] bool is_gzip(std::string_view bytes);

/// All members of a gzip file, one after the other; at least 64 bytes of capacity behind them, as
/// read_file(). Throws InputError naming `file` for one that is damaged or ends early.
[[nodiscard]] std::string gunzip(std::string_view bytes, const std::string& file);

/// A file's bytes, decompressed if it is a gzip file, whatever its name. Throws what read_file()
/// and gunzip() throw.
[[nodiscard]] std::string read_file_or_gzip(const std::filesystem::path& path);

}  // namespace schedlab
