// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace schedlab {

/// A folder that appears under its final name only when everything in it is written.
class OutputFolder {
 public:
  /// Files are collected in a temporary folder beside `target`.
  /// Throws InputError if `target` exists (and is not an empty folder) and `overwrite` is false, or
  /// no verb of this program has made it; if it is a file, or if nothing can be written there.
  OutputFolder(std::filesystem::path target, bool overwrite);
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();  // removes what was not published

  /// Where to write.
  [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }
  [[nodiscard]] const std::filesystem::path& target() const { return target_; }
  /// Gives the folder its name; an older one is replaced as a whole.
  void publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool published_ = false;
};

/// Throws InputError naming --overwrite (and --resume where `resumable`) if `path` is in use.
void expect_free(const std::filesystem::path& path, bool resumable);

/// Creates a folder and those above it. Throws InputError.
void make_folder(const std::filesystem::path& path);

}  // namespace schedlab
