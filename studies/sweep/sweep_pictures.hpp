// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/spec/spec.hpp"
#include "studies/sweep/adaptive_sweep.hpp"
#include "studies/sweep/results_store.hpp"
#include "studies/sweep/speed_up.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace schedlab {

/// What a sweep's pictures are made of.
struct SweepPictures {
  ScenarioSpace& space;
  const Spec& spec;
  const ResultsStore& store;
  const std::optional<Baseline>& baseline;
  std::filesystem::path folder;
  std::string timelines;                    ///< best, all, none
  const AdaptiveSweep* adaptive = nullptr;  ///< its maps are drawn instead of curves; may be null
  bool sensitivity = true;  ///< tells which numbers of the machine the closest case hangs on
  const StopFlag* stop = nullptr;
};

/// plots/*.svg along the axes, timelines/*.svg and report.html of a finished sweep; adds the names
/// to `files`. Returns the comparison in sentences. Sweeps of more than 20,000 scenarios get a
/// notice instead of plots: they are unreadable.
[[nodiscard]] std::vector<std::string> draw_sweep(const SweepPictures& sweep, RunFiles& files);

/// Of the case that is furthest from it: its shortest makespan over its certified bound, less 1;
/// nullopt: no case has a bound.
[[nodiscard]] std::optional<double> largest_gap(const Grid& grid,
                                                const ResultsStore& store,
                                                const std::optional<Baseline>& baseline);

}  // namespace schedlab
