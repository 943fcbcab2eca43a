// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The list that each folder of results has of what is in it.
inline constexpr const char* manifest_file = ".schedlab.json";
/// Where a folder that fills in place keeps what is not complete.
inline constexpr const char* inner_staging = ".partial";

/// "BYTES-HASH" of a file or of bytes: tells an edited file from that which was written (64 bits,
/// no protection against intent). Throws InputError for a file that cannot be read.
[[nodiscard]] std::string file_digest(const std::filesystem::path& file);
[[nodiscard]] std::string text_digest(std::string_view bytes);

/// What a verb has put into a folder, and whether it got to the end.
struct FolderManifest {
  std::string verb;
  bool finished = false;
  /// Name relative to the folder, with '/' -> digests that the file may have; none: it changes
  /// while the verb runs. A name that ends in '/' is a folder: with nothing in it, or with a
  /// manifest of its own.
  std::map<std::string, std::vector<std::string>> files;

  /// That of a folder; nullopt if it has none. Throws InputError for one that cannot be read.
  [[nodiscard]] static std::optional<FolderManifest> of(const std::filesystem::path& folder);
  /// Throws as write_file_atomically().
  void write(const std::filesystem::path& folder) const;
  /// Lists every file below `folder`, apart from the manifest itself.
  void list_all(const std::filesystem::path& folder);
  /// Is the file there as it was written? False for one that is not listed.
  [[nodiscard]] bool is_untouched(const std::filesystem::path& folder,
                                  const std::string& name) const;
};

/// The files in a folder that no verb has written or that were changed since, in words
/// ("notes.txt", "notebook.ipynb (changed since it was written)"). What a killed process leaves is
/// not among them.
[[nodiscard]] std::vector<std::string> strangers(const std::filesystem::path& folder);

enum class FolderState : std::uint8_t {
  absent,
  empty,       ///< or holding nothing but what a process left that was killed as it began
  foreign,     ///< without a manifest
  unfinished,  ///< ours, of a run that was interrupted or killed
  finished     ///< ours, complete
};
/// Throws InputError for a path that is no folder.
[[nodiscard]] FolderState folder_state(const std::filesystem::path& folder);

}  // namespace schedlab
