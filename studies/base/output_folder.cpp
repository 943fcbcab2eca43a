// SPDX-License-Identifier: Apache-2.0
#include "studies/base/output_folder.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): renameat2

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t named_strangers = 3;

[[noreturn]] void refuse(const fs::path& path,
                         std::string found,
                         std::string expected,
                         std::string hint = {}) {
  throw InputError({.file = path.string(),
                    .pointer = {},
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

void expect_done(const std::error_code& error, const fs::path& path, std::string_view what) {
  if (!error) return;
  if (error == std::errc::no_space_on_device) {
    throw InfeasibleError(fmt::format("{}: {} ({})", path.string(), what, error.message()));
  }
  refuse(path, fmt::format("{} ({})", what, error.message()), "a folder that can be written");
}

void expect_no_strangers(const fs::path& target, const fs::path& place) {
  std::vector<std::string> found = strangers(place);
  if (found.empty()) return;
  const std::size_t count = found.size();
  if (count > named_strangers) found.resize(named_strangers);
  refuse(target,
         fmt::format("{}{}",
                     fmt::join(found, ", "),
                     count > found.size() ? fmt::format(" and {} more", count - found.size()) : ""),
         "nothing but what schedlab has written there",
         "move it elsewhere, or use another --out");
}

[[noreturn]] void refuse_use(const fs::path& target, bool resumable) {
  refuse(
      target,
      "a folder that is in use",
      "a name that is free",
      resumable ? "--resume goes on with it, --overwrite starts again" : "--overwrite replaces it");
}

[[noreturn]] void refuse_foreign(const fs::path& target) {
  refuse(target,
         "a folder that schedlab has not made",
         "a folder of results, or a name that is free",
         fmt::format("it has no {} of this version; use another --out", manifest_file));
}

/// Both names at once, so that at no time one of them is missing. False: this file system cannot.
bool exchange(const fs::path& a, const fs::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

/// Files below a folder, relative to it.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator{folder}) {
    if (entry.is_directory()) continue;
    names.push_back(entry.path().lexically_relative(folder).generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  expect_done(error, path, "a folder that cannot be made");
}

void expect_free(const fs::path& path, bool resumable) {
  switch (folder_state(path)) {
    case FolderState::absent:
    case FolderState::empty:
      return;
    case FolderState::foreign:
      refuse_foreign(path);
    default:
      refuse_use(path, resumable);
  }
}

OutputFolder::OutputFolder(FolderRequest request, Leftovers* leftovers, FolderObserver observer)
    : request_(std::move(request)),
      place_(resolved(request_.target)),
      lock_(request_.target),
      leftovers_(leftovers),
      observer_(std::move(observer)),
      staging_(request_.in_place ? place_ / inner_staging : beside_folder(place_, "partial")) {
  if (leftovers_ != nullptr) leftovers_->add(lock_.file());
  tell("locked");
  remove_leftovers();
  expect_usable();
  if (!request_.in_place) make_staging();
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!published_ && !(request_.in_place && manifest_.verb.empty())) {
    fs::remove_all(staging_, ignored);
  }
  if (leftovers_ == nullptr) return;
  leftovers_->forget(staging_);
  leftovers_->forget(lock_.file());
}

void OutputFolder::tell(std::string_view step) const {
  if (observer_) observer_(step);
}

/// What a killed process of the same folder has left: the lock says that it is gone.
void OutputFolder::remove_leftovers() const {
  const fs::path old = beside_folder(place_, "old");
  std::error_code ignored;
  const auto ours = [](const fs::path& folder) {
    return folder_state(folder) != FolderState::absent &&
           folder_state(folder) != FolderState::foreign;
  };
  if (ours(old)) {
    if (!fs::exists(place_)) {
      fs::rename(old, place_, ignored);
    } else {
      fs::remove_all(old, ignored);
    }
  }
  const fs::path partial = beside_folder(place_, "partial");
  if (ours(partial)) fs::remove_all(partial, ignored);
  tell("cleaned");
}

void OutputFolder::expect_usable() {
  const FolderState state = folder_state(place_);
  if (state == FolderState::absent || state == FolderState::empty) return;
  if (state == FolderState::foreign) refuse_foreign(request_.target);
  if (request_.use == FolderUse::fresh) refuse_use(request_.target, request_.in_place);
  const FolderManifest manifest = FolderManifest::of(place_).value_or(FolderManifest{});
  if (manifest.verb != request_.verb) {
    refuse(request_.target,
           fmt::format("a folder that schedlab {} has made", manifest.verb),
           fmt::format("one of schedlab {}, or a name that is free", request_.verb),
           "use another --out");
  }
  resumes_ = request_.use == FolderUse::resume;
  if (!resumes_) expect_no_strangers(request_.target, place_);
}

void OutputFolder::make_staging() {
  if (leftovers_ != nullptr) leftovers_->add(staging_);
  make_folder(staging_);
  if (request_.in_place) return;
  // From the start, so that what a kill leaves can be told from somebody's folder.
  FolderManifest{.verb = request_.verb, .finished = false, .files = {}}.write(staging_);
  tell("staged");
}

void OutputFolder::begin() {
  SCHEDLAB_EXPECTS(request_.in_place, request_.target.string());
  FolderManifest manifest = FolderManifest::of(place_).value_or(FolderManifest{});
  manifest.verb = request_.verb;
  manifest.finished = false;
  for (const std::string& name : request_.growing) manifest.files[name] = {};
  make_folder(place_);
  manifest.write(place_);
  tell("marked");
  if (!resumes_) {
    // In the order of names: of a database before its write-ahead log, which without it is nothing.
    std::vector<fs::path> all;
    for (const fs::directory_entry& entry : fs::directory_iterator{place_}) {
      const std::string name = entry.path().filename().string();
      if (name != manifest_file && entry.path() != lock_.file()) all.push_back(entry.path());
    }
    std::sort(all.begin(), all.end());
    for (const fs::path& path : all) {
      std::error_code error;
      fs::remove_all(path, error);
      expect_done(error, path, "what cannot be removed");
      tell("removed");
    }
    manifest.files.clear();
    for (const std::string& name : request_.growing) manifest.files[name] = {};
    manifest.write(place_);
    tell("emptied");
  }
  manifest_ = std::move(manifest);
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  make_staging();
  tell("begun");
}

void OutputFolder::publish(bool complete) {
  if (request_.in_place) {
    move_in(complete);
    return;
  }
  FolderManifest manifest{.verb = request_.verb, .finished = complete, .files = {}};
  manifest.list_all(staging_);
  manifest.write(staging_);
  tell("listed");
  // Again: hours may have passed.
  const FolderState state = folder_state(place_);
  expect_usable();
  if (leftovers_ != nullptr) leftovers_->forget(staging_);
  published_ = true;
  swap_in(state != FolderState::absent);
}

void OutputFolder::swap_in(bool replaces) {
  std::error_code error;
  if (replaces && exchange(staging_, place_)) {
    tell("exchanged");
    fs::remove_all(staging_, error);
    return;
  }
  const fs::path old = beside_folder(place_, "old");
  if (replaces) fs::rename(place_, old, error);
  expect_done(error, request_.target, "a folder that cannot be replaced");
  tell("moved away");
  fs::rename(staging_, place_, error);
  expect_done(error, request_.target, "a name that cannot be given");
  tell("renamed");
  if (replaces) fs::remove_all(old, error);
}

bool OutputFolder::publish_remains() {
  const FolderState state = folder_state(place_);
  if (state != FolderState::absent && state != FolderState::empty) return false;
  publish(false);
  return true;
}

void OutputFolder::expect_no_collision(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (!fs::exists(fs::symlink_status(place_ / name))) continue;
    if (manifest_.is_untouched(place_, name)) continue;
    refuse(place_ / name,
           manifest_.files.contains(name) ? "a file that was changed since it was written"
                                          : "a file that schedlab has not written",
           "a name that is free",
           "move it elsewhere and go on with --resume");
  }
}

void OutputFolder::move_in(bool complete) {
  const std::vector<std::string> names = files_below(staging_);
  expect_no_collision(names);
  FolderManifest now = manifest_;
  for (const std::string& name : names) {
    const std::string digest = file_digest(staging_ / name);
    manifest_.files[name].push_back(digest);  // as it is, or as it will be
    now.files[name] = {digest};
  }
  manifest_.write(place_);
  tell("announced");
  for (const std::string& name : names) {
    make_folder((place_ / name).parent_path());
    std::error_code error;
    fs::rename(staging_ / name, place_ / name, error);
    expect_done(error, place_ / name, "a file that cannot be replaced");
    tell("moved");
  }
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
  if (leftovers_ != nullptr) leftovers_->forget(staging_);
  for (const std::string& name : request_.growing) {
    if (complete && fs::is_regular_file(place_ / name))
      now.files[name] = {file_digest(place_ / name)};
  }
  now.finished = complete;
  now.write(place_);
  tell("finished");
  manifest_ = std::move(now);
  published_ = true;
}

void write_named_file(const fs::path& file,
                      const std::function<void(const fs::path&)>& write,
                      bool overwrite) {
  const fs::path folder = resolved(file).parent_path();
  if (!fs::exists(folder / manifest_file)) {
    write(file);
    return;
  }
  const FolderLock lock(folder);
  FolderManifest manifest = FolderManifest::of(folder).value_or(FolderManifest{});
  const std::string name = resolved(file).filename().string();
  const bool listed = manifest.files.contains(name);
  if (!overwrite && listed && fs::exists(file) && !manifest.is_untouched(folder, name)) {
    refuse(file,
           "a file that was changed since schedlab wrote it",
           "a name that is free",
           "move it elsewhere, or use another --out");
  }
  if (listed && manifest.files[name].empty()) {
    refuse(file, "a file that a run has to go on with", "a name that is free");
  }
  // As in OutputFolder: announced before it gets its place, so that a kill makes it no stranger.
  const fs::path staged = folder / inner_staging / name;
  make_folder(staged.parent_path());
  write(staged);
  const std::string digest = file_digest(staged);
  manifest.files[name].push_back(digest);
  manifest.write(folder);
  std::error_code error;
  fs::rename(staged, folder / name, error);
  expect_done(error, file, "a file that cannot be replaced");
  manifest.files[name] = {digest};
  manifest.write(folder);
  fs::remove_all(staged.parent_path(), error);
}

}  // namespace schedlab
