// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/explanation/explained_run.hpp"
#include "workloads/traces/operator_path.hpp"
#include "workloads/traces/replay.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace schedlab {

/// The traces of one run's ranks, with who waits for whom.
struct ImportedRun {
  std::vector<ImportedTrace> traces;
  std::vector<ReconstructedTrace> orders;

  [[nodiscard]] std::vector<ReplayRank> ranks() const;
};
/// `assume_like_siblings`: with what graph launches lack filled in (fill_graph_launches).
/// Throws InputError.
[[nodiscard]] ImportedRun load_imported_run(const std::vector<std::filesystem::path>& paths,
                                            bool assume_like_siblings = false);

/// One rank's trace to be explained: the times are the profile's, the plan is the host's program
/// with its work as sleeps, and the machine is what the trace shows.
[[nodiscard]] ExplainedRun explained_run(const ImportedRun& run);

/// What launch_at_once() assumes of such a model, for readers.
[[nodiscard]] std::string said_of_launching_at_once(const ReplayModel& model);

/// A stretch of a trace's time.
struct TraceWindow {
  Time from = Time::min();
  Time to = Time::max();
};
/// The instance-th annotation, or operator, of this name: {begin, end}. An empty name: everything.
/// `option` is what the user wrote it behind. Throws InputError with the annotations that there
/// are.
[[nodiscard]] TraceWindow find_window(const ImportedTrace& trace,
                                      const std::string& name,
                                      std::uint32_t instance,
                                      const std::string& option = "--within");

/// The path as text for a terminal.
[[nodiscard]] std::string operator_path_text(const OperatorPath& path);
/// operator_path.json: counts, weights and every step with its name.
[[nodiscard]] std::string operator_path_json(const ImportedTrace& trace, const OperatorPath& path);
/// JSON Schema (draft 7) of it.
[[nodiscard]] std::string operator_path_schema();
/// Chrome JSON that Perfetto shows: the path's operators, calls and activities, on the clock of the
/// profile, so that both can be opened together.
[[nodiscard]] std::string operator_path_overlay(const ImportedTrace& trace,
                                                const OperatorPath& path);

}  // namespace schedlab
