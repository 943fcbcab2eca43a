// SPDX-License-Identifier: Apache-2.0
#include "cli/output_folder.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot(const fs::path& path,
                         const std::string& what,
                         const std::error_code& error) {
  throw InputError({.file = path.string(),
                    .pointer = {},
                    .found = fmt::format("{} ({})", what, error.message()),
                    .expected = "a folder that can be written",
                    .hint = {}});
}

/// "runs/a" and "runs/a/" are the same folder.
fs::path without_slash(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return path;
}

fs::path beside(const fs::path& target, std::string_view word) {
  return target.parent_path() /
         fmt::format(".{}.{}-{}", target.filename().string(), word, ::getpid());
}

/// A file that every folder of one verb or the other has.
constexpr std::array<std::string_view, 11> folder_marks{"metrics.json",
                                                        "results.sqlite",
                                                        "validation.json",
                                                        "predictions.csv",
                                                        "recording.json",
                                                        "explain.json",
                                                        "replay.json",
                                                        "import.json",
                                                        "buckets.json",
                                                        "partition.json",
                                                        "baseline.json"};

/// What is overwritten is removed whole: nothing that somebody else has put there may be lost.
void expect_replaceable(const fs::path& target) {
  std::error_code error;
  if (!fs::exists(target, error)) return;
  if (!fs::is_directory(target, error)) expect_free(target, false);
  if (fs::is_empty(target, error)) return;
  if (std::any_of(folder_marks.begin(), folder_marks.end(), [&](std::string_view mark) {
        return fs::exists(target / mark, error);
      })) {
    return;
  }
  throw InputError({.file = target.string(),
                    .pointer = {},
                    .found = "a folder that schedlab has not made",
                    .expected = "a folder of results, or a name that is free",
                    .hint = "--overwrite removes nothing else"});
}

}  // namespace

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) cannot(path, "a folder that cannot be made", error);
}

void expect_free(const fs::path& path, bool resumable) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!fs::is_directory(path, error)) {
    throw InputError({.file = path.string(),
                      .pointer = {},
                      .found = "a file",
                      .expected = "a folder, or a name that is free",
                      .hint = {}});
  }
  if (fs::is_empty(path, error)) return;
  throw InputError({.file = path.string(),
                    .pointer = {},
                    .found = "a folder that is in use",
                    .expected = "a name that is free",
                    .hint = resumable ? "--resume goes on with it, --overwrite starts again"
                                      : "--overwrite replaces it"});
}

OutputFolder::OutputFolder(fs::path target, bool overwrite)
    : target_(without_slash(std::move(target))), temporary_(beside(target_, "partial")) {
  if (!overwrite) expect_free(target_, false);
  expect_replaceable(target_);
  std::error_code error;
  fs::create_directories(temporary_, error);
  if (error) cannot(target_, "a folder that cannot be made", error);
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!published_) fs::remove_all(temporary_, ignored);
}

void OutputFolder::publish() {
  std::error_code error;
  const fs::path old = beside(target_, "old");
  const bool replaces = fs::exists(target_, error);
  if (replaces) fs::rename(target_, old, error);
  if (error) cannot(target_, "a folder that cannot be replaced", error);
  fs::rename(temporary_, target_, error);
  if (error) cannot(target_, "a name that cannot be given", error);
  published_ = true;
  if (replaces) fs::remove_all(old, error);
}

}  // namespace schedlab
