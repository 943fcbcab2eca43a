// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"
#include "sim/trace/trace.hpp"
#include "workloads/traces/host_model.hpp"
#include "workloads/traces/reconstruct.hpp"
#include "workloads/traces/replay_delays.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

/// How much of a replay is taken from the trace, and how much is predicted.
enum class ReplayMode : std::uint8_t {
  /// All launches at their recorded times, all durations: what is predicted is how the streams
  /// share them out.
  copied_launches,
  /// The host's own time between its calls, and durations; how long the host waits is predicted.
  copied_host_work,
  /// Durations only: the host's time is that of the same calls in the first part of the trace.
  generated_host,
  /// Nothing: durations, too, are those of the same kernels in the first part.
  calibrated,
};
template <>
struct EnumNames<ReplayMode> {
  static constexpr auto names =
      name_list("copied_launches", "copied_host_work", "generated_host", "calibrated");
};
/// Does it learn from one part of the trace and predict the other?
[[nodiscard]] constexpr bool splits(ReplayMode mode) {
  return mode == ReplayMode::generated_host || mode == ReplayMode::calibrated;
}

/// One rank's trace and what was reconstructed from it; both must outlive the replay's making.
struct ReplayRank {
  const ImportedTrace& trace;
  const ReconstructedTrace& order;
};

/// A trace as something that can be simulated: the work, who waits for what, the device and the
/// host's program. The run's Time{0} is `from` on the clock of the first rank's trace.
struct ReplayModel {
  TaskGraph graph;
  Platform platform;  ///< one device and one host per rank; units without limit
  CostTable costs;    ///< durations as the mode says
  Plan plan;
  /// What the trace says of the same tasks and of the plan's host calls, on the run's clock.
  Trace measured;
  struct Origin {
    std::uint32_t rank = 0;  ///< position in `ranks`
    std::uint32_t row = 0;   ///< in ImportedTrace::device_rows; no_row of some pauses
    /// 0: the task is the row; -1: it is a pause in front of it, +1: one of the host behind it. A
    /// pause is a task of kind `host` (`pause_name`) that is as long as a wait of the trace that
    /// nothing in it explains (ReplayPauses).
    std::int8_t pause = 0;

    static constexpr std::uint32_t no_row = 0xFFFFFFFFU;
    friend auto operator<=>(const Origin&, const Origin&) = default;
  };
  IdVector<TaskId, Origin> origins;
  /// Starts that are not predictions: the launch is not in the trace, or, where launches are
  /// copied, what ran in the stream before is not.
  IdVector<TaskId, bool> given;
  std::vector<ReplayDelays> delays;     ///< by rank
  Duration from{0};                     ///< since the first rank's Time{0}
  ReplaySplit split;                    ///< of the first rank, if the mode splits
  std::uint32_t unknown_durations = 0;  ///< calibrated: kernels that the first part does not have

  [[nodiscard]] Problem problem() const { return {graph, platform, costs}; }
  [[nodiscard]] bool is_pause(TaskId task) const {
    return graph.operation(task).kind == TaskKind::host;
  }
};

/// The name of tasks that stand for waits which nothing in a trace explains.
inline constexpr std::string_view pause_name = "wait for something outside the profile";

/// Makes the model. Several ranks must be of one job: the k-th collective of each is joined (they
/// end together; a joined collective lasts as long as it did on the rank that came last).
///
/// Errors  InputError without work, for ranks whose collectives differ (names the first), if the
///         order has a cycle (names its tasks), or if a splitting mode is asked of several
///         ranks.
/// Cost    O(rows log rows).
[[nodiscard]] ReplayModel make_replay(std::span<const ReplayRank> ranks, ReplayMode mode);

/// Percentiles of absolute errors over the tasks whose start is predicted.
struct ReplayErrors {
  std::uint32_t tasks = 0;   ///< predicted
  std::uint32_t given = 0;   ///< not predicted
  std::uint32_t pauses = 0;  ///< waits that nothing explains, as long as recorded
  Duration paused{0};        ///< all of them
  Duration start_p50{0};
  Duration start_p90{0};
  Duration start_max{0};
  double duration_p50 = 0;  ///< relative
  double duration_p90 = 0;
  Duration measured_span{0};  ///< from the run's begin to the end of the last task
  Duration replayed_span{0};

  [[nodiscard]] double span_error() const;
};
/// `replayed`: a simulation of the model's plan.
[[nodiscard]] ReplayErrors replay_errors(const ReplayModel& model, const Trace& replayed);

/// By how much the parts of each joined collective end apart, at most: in the replay, and as
/// measured.
struct CollectiveSpread {
  std::uint32_t collectives = 0;
  Duration replayed{0};
  Duration measured{0};
  Duration end_error_max{0};  ///< of the replayed end against the measured one, over all parts
};
[[nodiscard]] CollectiveSpread collective_spread(const ReplayModel& model, const Trace& replayed);

}  // namespace schedlab
