// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/results_store.hpp"
#include "studies/sweep/shard.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace schedlab {

/// The file with the rows of a sweep, in its folder.
inline constexpr const char* results_database = "results.sqlite";
inline constexpr const char* results_csv = "results.csv";

struct SweepRequest {
  std::filesystem::path out;
  unsigned jobs = 0;  ///< threads; 0: one per core
  bool resume = false;
  bool overwrite = false;
  bool check = true;  ///< run the plan checker (on graphs of up to largest_checked_graph tasks)
  Shard shard{};      ///< the part of the scenarios that is run
};

/// What happened to the scenarios of a sweep.
struct SweepCounts {
  std::uint64_t scenarios = 0;  ///< of the shard
  std::uint64_t kept = 0;       ///< found in the folder
  std::uint64_t ran = 0;
  bool interrupted = false;
  double seconds = 0;
};

/// Called with the number of scenarios that are done, after each batch of rows.
using SweepObserver = std::function<void(std::uint64_t done)>;

/// Names of columns that no axis of a sweep may take.
[[nodiscard]] std::vector<std::string> reserved_columns(const Spec& spec);

/// The folder that a request speaks of.
[[nodiscard]] FolderRequest sweep_folder(const SweepRequest& request);

/// What the results of a sweep are about.
[[nodiscard]] ResultsHeader results_header(const Spec& spec,
                                           const Grid& grid,
                                           const Shard& shard = {});

/// Opens the results of a sweep in its folder, and begins to write there.
/// Throws InputError, with nothing changed, if the folder goes on with another spec or shard.
[[nodiscard]] ResultsStore open_results(const Spec& spec,
                                        const Grid& grid,
                                        OutputFolder& folder,
                                        const Shard& shard = {});

/// The results in a file: new ones, or with `resume` those that are there. Throws InputError.
[[nodiscard]] ResultsStore open_results(const Spec& spec,
                                        const Grid& grid,
                                        const std::filesystem::path& file,
                                        bool resume,
                                        const Shard& shard = {});

/// Which scenarios a run need not do: those of other shards, and what `store` has. Counts the rest
/// into `counts`.
[[nodiscard]] std::vector<bool> not_to_run(const ResultsStore& store,
                                           const Shard& shard,
                                           SweepCounts& counts);

/// Runs all scenarios that are not in the store yet. Rows are equal for any number of threads, and
/// are committed as they come: see ResultsStore. `runners` threads share `space`.
SweepCounts run_scenarios(ScenarioSpace& space,
                          ResultsStore& store,
                          const SweepRequest& request,
                          const StopFlag* stop,
                          const SweepObserver& observer);

}  // namespace schedlab
