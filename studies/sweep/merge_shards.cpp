// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/merge_shards.hpp"

#include "notebooks_export/axis.hpp"
#include "sim/base/error.hpp"
#include "studies/sweep/sweep_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// The folder itself, or those of shards in it, in the order of their numbers.
std::vector<fs::path> folders_with_results(const fs::path& folder) {
  if (fs::exists(folder / results_database)) return {folder};
  std::vector<fs::path> found;
  if (fs::is_directory(folder)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const bool named = entry.path().filename().string().starts_with("shard_");
      if (named && fs::exists(entry.path() / results_database)) found.push_back(entry.path());
    }
  }
  if (found.empty()) {
    throw InputError(
        {.file = folder.string(),
         .pointer = {},
         .found = "no results of a sweep",
         .expected = "a folder that sweep --shard has written, or one with such folders",
         .hint = {}});
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Which scenarios the shards have, and what is wrong with that.
class Coverage {
 public:
  explicit Coverage(std::uint64_t scenarios) : of_(scenarios, none) {}

  /// Throws InputError if an earlier shard has one of them.
  void add(const ResultsStore& store, const fs::path& place) {
    const std::vector<bool> done = store.done();
    if (done.size() != of_.size()) {
      throw InputError({.file = place.string(),
                        .pointer = {},
                        .found = counted(done.size(), "scenario"),
                        .expected = fmt::format("{}, as the spec has", of_.size()),
                        .hint = {}});
    }
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (!done[i]) continue;
      if (of_[i] != none) {
        throw InputError(
            {.file = place.string(),
             .pointer = {},
             .found = fmt::format("scenario {}, which {} has too", i, places_[of_[i]].string()),
             .expected = "each scenario in one shard",
             .hint = "name each shard once, of one division of the sweep"});
      }
      of_[i] = static_cast<std::uint32_t>(places_.size());
    }
    places_.push_back(place);
    shards_.push_back(store.header().shard);
  }

  /// Throws InputError if a scenario is nowhere.
  void expect_complete() const {
    const auto missing = static_cast<std::uint64_t>(std::count(of_.begin(), of_.end(), none));
    if (missing == 0) return;
    throw InputError({.file = "merge",
                      .pointer = {},
                      .found = fmt::format("{} of {} scenarios in no shard", missing, of_.size()),
                      .expected = "all",
                      .hint = missing_shards()});
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// "shard 3/8 is not there; shard 5/8 has 10 of 20 scenarios: go on with --resume"
  [[nodiscard]] std::string missing_shards() const {
    std::uint32_t count = 0;
    std::map<std::uint32_t, std::size_t> there;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      if (shards_[i].empty()) return "one of the folders is of a whole sweep";
      const Shard shard = shard_of(shards_[i]);
      if (count != 0 && shard.count != count) return "the folders are of different divisions";
      count = shard.count;
      there[shard.number] = i;
    }
    constexpr std::size_t max_named = 10;
    std::vector<std::string> wrong;
    for (std::uint32_t number = 1; number <= count; ++number) {
      const Shard shard{number, count};
      const auto found = there.find(number);
      if (found == there.end()) {
        wrong.push_back(fmt::format("shard {} is not there", shard.name()));
        continue;
      }
      const auto has = std::count(of_.begin(), of_.end(), found->second);
      const std::uint64_t wanted = shard.size(of_.size());
      if (static_cast<std::uint64_t>(has) == wanted) continue;
      wrong.push_back(fmt::format("shard {} has {} of {} scenarios: run it again with --resume",
                                  shard.name(),
                                  has,
                                  wanted));
    }
    const std::size_t all = wrong.size();
    if (all > max_named) {
      wrong.resize(max_named);
      wrong.push_back(fmt::format("and {} more", all - max_named));
    }
    return fmt::format("{}", fmt::join(wrong, "; "));
  }

  std::vector<std::uint32_t> of_;  // by scenario, the place that has it
  std::vector<fs::path> places_;
  std::vector<std::string> shards_;
};

}  // namespace

std::string shard_folder(const Shard& shard) {
  return fmt::format("shard_{}_of_{}", shard.number, shard.count);
}

std::vector<ResultsStore> open_shards(const std::vector<std::string>& folders,
                                      const ResultsHeader& header) {
  std::vector<ResultsStore> stores;
  Coverage coverage(header.scenarios);
  for (const std::string& folder : folders) {
    for (const fs::path& place : folders_with_results(folder)) {
      stores.push_back(ResultsStore::open(place / results_database));
      stores.back().expect_same(header, "merge shards of this spec, made by one version");
      coverage.add(stores.back(), place);
    }
  }
  coverage.expect_complete();
  return stores;
}

void copy_rows(const ResultsStore& from, ResultsStore& to) {
  const auto axes = static_cast<std::ptrdiff_t>(
      std::count_if(from.columns().begin(), from.columns().end(), [](const auto& column) {
        return !column.path.empty();
      }));
  from.for_each([&](std::uint64_t scenario, const std::vector<Cell>& cells) {
    to.add(scenario,
           {cells.begin(), cells.begin() + axes},
           {cells.begin() + axes, cells.end()},
           from.samples(scenario));
    to.commit_if_due();
  });
  to.flush();
}

std::string quoted_for_shell(const std::string& word) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return text + "'";
}

}  // namespace schedlab
