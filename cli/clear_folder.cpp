// SPDX-License-Identifier: Apache-2.0
#include "cli/clear_folder.hpp"

#include "cli/output_folder.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

namespace schedlab {

void clear_folder(const std::filesystem::path& folder,
                  std::initializer_list<const char*> files,
                  const std::string& maker) {
  namespace fs = std::filesystem;
  if (!fs::exists(folder)) return;
  if (!fs::is_directory(folder)) expect_free(folder, true);
  const bool known = std::any_of(
      files.begin(), files.end(), [&](const char* file) { return fs::exists(folder / file); });
  if (!fs::is_empty(folder) && !known) {
    throw InputError(
        {.file = folder.string(),
         .pointer = {},
         .found = fmt::format("a folder without {}", fmt::join(files, " or ")),
         .expected = fmt::format("the folder of {}, or a name that is free", maker),
         .hint = fmt::format("--overwrite does not remove what {} has not made", maker)});
  }
  std::error_code error;
  fs::remove_all(folder, error);
}

}  // namespace schedlab
