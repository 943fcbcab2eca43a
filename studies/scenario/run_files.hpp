// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/trace/metrics.hpp"
#include "sim/trace/trace.hpp"
#include "studies/scenario/run_origin.hpp"
#include "studies/scenario/scenario_runner.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What was written about one run.
struct RunFiles {
  std::vector<std::string> files;    ///< names in the folder, in the order of writing
  std::vector<std::string> notices;  ///< what could not be made, and why
};

/// A run as its files tell it: simulated or executed.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): a problem is references, always given
struct WrittenRun {
  Problem problem;
  const Plan& plan;
  const Samples* samples = nullptr;  ///< of a machine that scatters
  RunOrigin origin{};                ///< how it came about
  bool with_trace = true;            ///< trace.json and timeline.html, by far the largest files
};

/// trace.json, timeline.html, metrics.json, plan.json, run.json, timeline.svg (and .png, .pdf where
/// a converter is found), utilization.csv and operations.csv of one run, memory.csv if its graph
/// has tensors, memory_plan.json if its plan is one device graph, written into `folder`, which will
/// become `target`.
[[nodiscard]] RunFiles write_run_files(const std::filesystem::path& folder,
                                       const std::filesystem::path& target,
                                       const WrittenRun& run,
                                       const TraceDocument& document,
                                       const Metrics& metrics);

/// The Gantt chart of a run, its critical path outlined.
[[nodiscard]] std::string run_timeline(const TraceDocument& document, const Metrics& metrics);

/// The page timeline.html of a run: its chart to explore.
[[nodiscard]] std::string run_viewer(const Problem& problem,
                                     const Plan& plan,
                                     const TraceDocument& document,
                                     const Metrics& metrics);

/// STEM.svg, and .png and .pdf where a converter is found.
void write_picture(const std::filesystem::path& folder,
                   const std::string& stem,
                   std::string_view svg,
                   RunFiles& files);

}  // namespace schedlab
