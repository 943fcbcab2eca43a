// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <mutex>
#include <set>

namespace schedlab {

/// What must not stay behind when the process is ended early: folders and files that are not
/// finished, and locks. Used by the thread that works and by the one that ends the process.
class Leftovers {
 public:
  void add(const std::filesystem::path& path);
  void forget(const std::filesystem::path& path);
  /// Removes all of them, and lets nothing be added or forgotten any more: whoever tries waits for
  /// the end of the process.
  void remove_for_good();

 private:
  std::mutex mutex_;
  std::set<std::filesystem::path> paths_;
};

}  // namespace schedlab
