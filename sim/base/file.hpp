// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace schedlab {

/// The bytes of a file, with at least 64 bytes of capacity behind them (simdjson reads past the
/// end). Throws InputError if it does not exist, is a folder or cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes under a temporary name in the same folder, then renames: a reader sees the old file or
/// the whole new one, also when the process is killed or another thread writes the same path. Not
/// forced to the disk: after a power failure either may be there. Throws InputError if it cannot be
/// written.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace schedlab
