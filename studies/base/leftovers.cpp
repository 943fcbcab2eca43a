// SPDX-License-Identifier: Apache-2.0
#include "studies/base/leftovers.hpp"

#include <system_error>

namespace schedlab {

void Leftovers::add(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  paths_.insert(path);
}

void Leftovers::forget(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex_);
  paths_.erase(path);
}

void Leftovers::remove_for_good() {
  mutex_.lock();  // never unlocked
  std::error_code ignored;
  for (const std::filesystem::path& path : paths_) std::filesystem::remove_all(path, ignored);
}

}  // namespace schedlab
