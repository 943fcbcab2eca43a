// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "sim/sweep/table.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/reproduction/outcome.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/sensitivity/sensitivity.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

struct ReproductionRequest {
  std::filesystem::path out;
  unsigned jobs = 0;   ///< threads; 0: one per core
  bool quick = false;  ///< the smaller grids
  bool resume = false;
  bool overwrite = false;
  bool check = true;  ///< verify plans with the plan checker
};

/// What became of one grid.
struct GridResult {
  std::string name;
  std::uint64_t scenarios = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t with_findings = 0;
  std::string first_note;  ///< of a scenario that failed or has findings
  Table table;             ///< the rows that are there
};

/// What the numbers of the machine mean for the runs of one published number.
struct OutcomeSensitivity {
  std::size_t outcome = 0;  ///< of Reproduction::outcomes
  double value = 0;         ///< the sample that was looked at
  Sensitivity of_runs;
};

/// A publication held against its simulations. Refers to the system.
struct Reproduction {
  const PublishedSystem* system = nullptr;
  bool quick = false;
  bool interrupted = false;
  std::vector<GridResult> grids;
  std::vector<Outcome> outcomes;  ///< one per published point, in the order of the system
  std::optional<OutcomeSensitivity> sensitivity{};  ///< of the number that is furthest off

  [[nodiscard]] std::size_t count(ClaimStatus status) const;
  /// Published numbers of one class of evidence; rows that repeat another's number do not count.
  [[nodiscard]] std::size_t count(Evidence evidence, ClaimStatus status) const;
};

/// Called with the number of finished scenarios of all grids together and how many there are.
using ReproductionObserver = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads every grid and every claim without running anything. Throws InputError for mistakes in
/// either.
void check_system(const PublishedSystem& system);

/// The folder that a request speaks of; each grid is a sweep in OUT/grids/NAME.
[[nodiscard]] FolderRequest reproduction_folder(const PublishedSystem& system,
                                                const ReproductionRequest& request);

/// Begins the folder, runs all grids, and compares; the caller adds its files and publishes it.
/// When asked to stop it compares what is there. Equal results for any number of threads.
/// Throws InputError like check_system(), and for results of another spec in the folder.
[[nodiscard]] Reproduction reproduce(const PublishedSystem& system,
                                     const ReproductionRequest& request,
                                     OutputFolder& folder,
                                     const StopFlag* stop,
                                     const ReproductionObserver& observer);

}  // namespace schedlab
