// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace schedlab {

/// A key of a kind of file that has a new name. Files with the old one are read for one version.
struct FormerKey {
  std::string_view kind;  ///< of the file: "spec", "training", "partition", "recording", "baseline"
  std::string_view at;    ///< JSON pointer with the old name; "*" is any place in a list
  std::string_view now;   ///< the new name
};

/// All that are still read.
[[nodiscard]] std::span<const FormerKey> former_keys();

/// The text of a file of this kind with new names for old ones and all else as it is. `notes`, if
/// any, gets a line for each, with file, pointer and new name. Broken JSON is for the file's reader
/// to refuse: it comes back with whatever names were found. Cost O(text).
[[nodiscard]] std::string with_new_keys(std::string text,
                                        std::string_view kind,
                                        const std::string& file,
                                        std::ostream* notes,
                                        std::span<const FormerKey> keys = former_keys());

}  // namespace schedlab
