// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/folder_lock.hpp"
#include "studies/base/folder_manifest.hpp"
#include "studies/base/leftovers.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {

/// What a verb may do with a folder that has something in it.
enum class FolderUse : std::uint8_t {
  fresh,      ///< nothing
  overwrite,  ///< replace it, if the same verb has made it and nothing else is in it
  resume      ///< go on with it, if the same verb has made it
};

struct FolderRequest {
  std::filesystem::path target;
  std::string verb;  ///< kept in the manifest
  FolderUse use = FolderUse::fresh;
  /// The folder fills while the verb runs, and --resume goes on with it; else it appears when it is
  /// complete.
  bool in_place = false;
  std::vector<std::string> growing{};  ///< in place: the files that the verb writes as it goes on
};

/// A folder that appears when it is complete.
[[nodiscard]] inline FolderRequest whole_folder(std::filesystem::path target,
                                                std::string verb,
                                                bool overwrite) {
  return {.target = std::move(target),
          .verb = std::move(verb),
          .use = overwrite ? FolderUse::overwrite : FolderUse::fresh};
}

/// Told of each step that changes something on the disk: a test ends the process there.
using FolderObserver = std::function<void(std::string_view step)>;

/// The folder that a verb writes: locked, with a manifest of what is in it (FolderManifest).
///
/// Files are written into path(). Until publish() they are no part of the folder: a run that fails
/// or is killed leaves the folder as it was, apart from `growing` files, and the next run of the
/// same folder removes what was left. Nothing that is not in the manifest, or was changed since it
/// was written, is ever removed or replaced.
class OutputFolder {
 public:
  /// Locks the folder, looks what is in it, and of a folder that is not filled in place makes
  /// path(). Throws InputError for a folder that is in use and may not be replaced or gone on
  /// with, that another process writes, or that cannot be written; it names what is in the way.
  explicit OutputFolder(FolderRequest request,
                        Leftovers* leftovers = nullptr,
                        FolderObserver observer = {});
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();  // removes what was not published

  /// In place: empties the folder if it is to be overwritten, marks it as unfinished, makes path().
  void begin();
  /// Where to write.
  [[nodiscard]] const std::filesystem::path& path() const { return staging_; }
  [[nodiscard]] const std::filesystem::path& target() const { return request_.target; }
  /// Goes the verb on with what an earlier run has left?
  [[nodiscard]] bool resumes() const { return resumes_; }
  /// Gives the files their place. `complete`: false if there is more to do for --resume.
  /// Throws InputError, and changes nothing, if somebody else's file has come in between.
  void publish(bool complete = true);
  /// After a run that failed: publishes path() where that replaces nothing. False: it would have.
  [[nodiscard]] bool publish_remains();

 private:
  void tell(std::string_view step) const;
  void expect_usable();
  void remove_leftovers() const;
  void make_staging();
  void swap_in(bool replaces);
  void move_in(bool complete);
  void expect_no_collision(const std::vector<std::string>& names) const;

  FolderRequest request_;
  std::filesystem::path place_;  // the resolved target
  FolderLock lock_;
  Leftovers* leftovers_;
  FolderObserver observer_;
  std::filesystem::path staging_;
  FolderManifest manifest_;  // in place: of the folder
  bool resumes_ = false;
  bool published_ = false;
};

/// Throws InputError naming --overwrite (and --resume where `resumable`) if `path` is in use.
void expect_free(const std::filesystem::path& path, bool resumable);

/// Writes a single file that a user named, and lists it where its folder has a manifest. Throws
/// InputError if that folder says that the file was changed since it was written, unless
/// `overwrite`, or if another process writes the folder.
void write_named_file(const std::filesystem::path& file,
                      const std::function<void(const std::filesystem::path&)>& write,
                      bool overwrite = false);

/// Creates a folder and those above it. Throws InputError.
void make_folder(const std::filesystem::path& path);

}  // namespace schedlab
