// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace schedlab {

/// One process at a time writes a folder: holds a lock (flock) on the file .NAME.lock beside it, or
/// on .lock within it where nothing can be put beside it. The lock ends with the process, so the
/// file of a killed one is no obstacle. File systems without locks are written without one.
class FolderLock {
 public:
  /// `folder` need not exist. Throws InputError naming the process that holds the lock, or if
  /// nothing can be written there.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  /// The file that is locked.
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  [[nodiscard]] bool open_file();
  void take(const std::filesystem::path& folder);

  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// Its name where nothing can be put beside the folder.
inline constexpr const char* inner_lock_file = ".lock";

/// `path` with no symbolic link, "." or ".." in it and no slash at its end, absolute: one spelling
/// for a folder.
[[nodiscard]] std::filesystem::path resolved(const std::filesystem::path& path);

/// .NAME.WORD beside a resolved folder.
[[nodiscard]] std::filesystem::path beside_folder(const std::filesystem::path& folder,
                                                  const char* word);

}  // namespace schedlab
