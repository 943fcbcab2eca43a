// SPDX-License-Identifier: Apache-2.0
#include "studies/base/folder_lock.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

std::string holder_in(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size() - 1, 0);
  return got > 0 ? fmt::format(" (process {})", text.data()) : std::string{};
}

/// Is it still the file that others would open, or has its last holder removed it?
bool is_at(int descriptor, const fs::path& file) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(file.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

fs::path resolved(const fs::path& path) {
  fs::path result = fs::weakly_canonical(fs::absolute(path));
  if (!result.has_filename()) result = result.parent_path();
  return result;
}

fs::path beside_folder(const fs::path& folder, const char* word) {
  return folder.parent_path() / fmt::format(".{}.{}", folder.filename().string(), word);
}

bool FolderLock::open_file() {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  return descriptor_ >= 0;
}

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path place = resolved(folder);
  file_ = beside_folder(place, "lock");
  std::error_code error;
  fs::create_directories(file_.parent_path(), error);
  while (true) {
    if (!open_file()) {
      file_ = place / inner_lock_file;
      if (!open_file()) {
        throw InputError({.file = folder.string(),
                          .pointer = {},
                          .found = fmt::format("a folder that cannot be made ({})",
                                               std::generic_category().message(errno)),
                          .expected = "a folder that can be written",
                          .hint = {}});
      }
    }
    take(folder);
    if (is_at(descriptor_, file_)) break;
    ::close(descriptor_);
  }
  const std::string process = std::to_string(::getpid());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, process.data(), process.size(), 0) < 0) {
    return;  // the number is for a message; a full disk is found where it matters
  }
}

void FolderLock::take(const fs::path& folder) {
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return;  // no locks here
    const std::string holder = holder_in(descriptor_);
    ::close(descriptor_);
    throw InputError({.file = folder.string(),
                      .pointer = {},
                      .found = "a folder that another schedlab is writing" + holder,
                      .expected = "a folder that no process writes",
                      .hint = "wait for it to end, or use another --out"});
  }
}

FolderLock::~FolderLock() {
  ::unlink(file_.c_str());  // while it is locked: who waits for this file sees that it is gone
  ::close(descriptor_);
}

}  // namespace schedlab
