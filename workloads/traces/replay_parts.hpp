// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_graphs.hpp"
#include "workloads/traces/replay.hpp"
#include "workloads/traces/replay_pauses.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::replaying {

/// What the run does with an item.
enum class Use : std::uint8_t {
  left_out,  ///< over before the run begins
  backlog,   ///< launched before the run begins, and not over then
  earlier,   ///< launched before the recording began, in front of all that was launched within
  given,     ///< its launch is not in the trace
  launched,
};

/// One rank while its model is made.
struct RankParts {
  RankParts(const ReplayRank& rank, ReplayMode mode, Time until);

  const ImportedTrace& trace;
  const ReconstructedTrace& order;
  LaunchDelays launches;
  ReplayDelays delays;
  HostModel host;
  std::vector<ImportedGraph> graphs;
  ReplayPauses pauses;
  Time from{};        ///< the run's begin on the trace's clock
  Duration shift{0};  ///< what is added to the trace's times to get those of the run
  IdVector<StreamItemId, Use> use;
  std::vector<TaskId> task_of;                  ///< by device row; none(): left out
  IdVector<StreamItemId, TaskId> pause_before;  ///< none(): there is none
  /// By launch and node.
  std::map<std::pair<StreamItemId, std::uint32_t>, TaskId> pause_before_node;
  std::map<std::size_t, std::pair<StreamId, TaskId>> pause_after;  ///< by step, with its stream
  StreamId first_stream;  ///< stream 0 of the trace in the plan

  [[nodiscard]] Time run_time(Time t) const { return t + shift; }
  [[nodiscard]] StreamId plan_stream(StreamId stream) const {
    return StreamId{first_stream.value() + stream.value()};
  }
  /// A graph launch of which the run has all nodes, and not only what is left of them.
  [[nodiscard]] bool whole_graph(StreamItemId item) const;
};

[[nodiscard]] bool is_collective(const ImportedTrace& trace, const DeviceRow& row);

/// Durations of kernels as the first part of a trace has them.
class KnownDurations {
 public:
  KnownDurations(const ImportedTrace& trace, Time until);
  /// Mean over the rows of this name and size (grid and block, or bytes); where there are none, of
  /// this name; nullopt where there are none either.
  [[nodiscard]] std::optional<Duration> of(const DeviceRow& row) const;

 private:
  struct Sum {
    Duration total{0};
    std::int64_t rows = 0;
  };
  using Size =
      std::tuple<TextId, std::int64_t, std::array<std::uint32_t, 3>, std::array<std::uint32_t, 3>>;
  std::map<Size, Sum> by_size_;
  std::map<TextId, Sum> by_name_;
};

/// Fills in graph, costs, origins and what was measured.
void make_graph(std::vector<RankParts>& ranks, ReplayMode mode, ReplayModel& model);
/// Fills in the plan and what is given. The graph must be there.
void make_plan(std::vector<RankParts>& ranks, ReplayMode mode, ReplayModel& model);

}  // namespace schedlab::replaying
