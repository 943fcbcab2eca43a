// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

using StreamItemId = StrongId<struct StreamItemTag>;

/// A stream that a trace has activities of.
struct ImportedStream {
  std::int32_t device = 0;  ///< both as the profiler numbers them
  std::int64_t stream = 0;
};

/// What a host put into a stream with one call: an activity, or all nodes of one launch of a device
/// graph.
struct StreamItem {
  StreamId stream;              ///< of a graph: of its first node
  std::uint32_t first_row = 0;  ///< in ReconstructedTrace::rows
  std::uint32_t row_count = 0;
  std::uint32_t call = no_call;  ///< in ImportedTrace::calls
  bool graph = false;
  bool holds_host = false;  ///< a copy whose call returned only when it was done, or nearly
  bool early = false;       ///< a graph that began before the call that launched it returned
  Time started{};
  Time ended{};  ///< the last of its rows

  static constexpr std::uint32_t no_call = 0xFFFFFFFFU;
  [[nodiscard]] bool launched() const { return call != no_call; }
};

/// How a dependency between two streams is known.
enum class DependencyEvidence : std::uint8_t {
  recorded,      ///< the profiler named both streams
  launch_order,  ///< a wait call, and the other stream got work since this one did last
  running_work,  ///< a wait call, and the other stream still worked when it was made
};
template <>
struct EnumNames<DependencyEvidence> {
  static constexpr auto names = name_list("recorded", "launch_order", "running_work");
};

/// `to` may start only after `from` has ended: an event, recorded behind `from` in its stream, that
/// the stream of `to` waits for.
struct StreamDependency {
  StreamItemId from;
  StreamItemId to;
  DependencyEvidence evidence = DependencyEvidence::recorded;
  std::uint32_t call = 0;  ///< the wait, in ImportedTrace::calls
};

enum class HostStepKind : std::uint8_t {
  launch,
  synchronize_item,    ///< the host waits for one item and all before it in its stream
  synchronize_device,  ///< the host waits for everything
  wait_outside,        ///< the host waits for something that the trace does not show
};

/// A wait that is longer than this, and that nothing in the trace can have caused, is not a delay
/// of the driver but something that the trace does not show.
inline constexpr Duration unexplained_wait = std::chrono::microseconds{100};  // assumed

/// One call that matters to devices, in the order in which the threads of the process made them.
struct HostStep {
  HostStepKind kind = HostStepKind::launch;
  std::uint32_t call = 0;
  StreamItemId item;  ///< launched or waited for; else none()
};

/// What became of the calls by which a host or a stream waits.
struct WaitCounts {
  std::uint32_t recorded = 0;
  std::uint32_t by_launch_order = 0;
  std::uint32_t by_running_work = 0;
  std::uint32_t without_effect = 0;  ///< nothing to wait for, or nothing that would wait
  std::uint32_t unresolved = 0;      ///< nothing in the trace tells who waits for whom
  std::uint32_t contradicted = 0;    ///< recorded, but all that can be meant ended too late

  friend bool operator==(const WaitCounts&, const WaitCounts&) = default;
};

/// Who waits for whom in one rank's trace.
struct ReconstructedTrace {
  IdVector<StreamId, ImportedStream> streams;
  IdVector<StreamItemId, StreamItem> items;  ///< by start, dependencies by row
  std::vector<std::uint32_t> rows;           ///< rows of the items, by start within an item
  IdVector<StreamId, std::vector<StreamItemId>> queues;  ///< items of each stream, by start
  std::vector<StreamDependency> dependencies;            ///< by `to`, then by `from`
  std::vector<HostStep> host;                            ///< by the start of the call
  WaitCounts waits;                                      ///< of streams for events
  WaitCounts host_waits;                                 ///< of the host for streams and events
  std::uint32_t overlaps = 0;  ///< items that started before the one before them had ended

  [[nodiscard]] std::span<const std::uint32_t> rows_of(StreamItemId item) const {
    return {rows.data() + items[item].first_row, items[item].row_count};
  }
  /// Ties of which `item` is the one that waits.
  [[nodiscard]] std::span<const StreamDependency> dependencies_to(StreamItemId item) const;
};

/// Rebuilds the order that the program asked for from what was recorded.
///
/// Streams   items of one stream run one after another; nodes of a graph launch are one item.
/// Launches  a call belongs to the rows with its correlation.
/// Events    where the profiler recorded who waits for what (`cuda_sync`), that. Elsewhere each
///           wait call makes the stream of the thread's next launch wait for the last item of
///           another stream: one that got work since the waiting stream did last, else one that was
///           still at work; never an item that ended after the waiting one started. Where the
///           waiting item started much later (`unexplained_wait`) than all this ended, the event
///           was recorded before the last launch into its stream: behind what ended last before.
/// Host      calls in the order of their start, whatever thread made them. A synchronisation waits
///           for the stream or event that was recorded with it; else for the thread's last launch,
///           if that ended before the call did. A longer call (`unexplained_wait`) that nothing
///           can have held is a wait for something outside the trace.
/// Measured times only ever exclude or, of several candidates, choose; there is at most one
/// dependency per wait call.
/// Cost      O(rows log rows + wait calls * streams).
[[nodiscard]] ReconstructedTrace reconstruct(const ImportedTrace& trace);

}  // namespace schedlab
