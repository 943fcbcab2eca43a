// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/diagnostics.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// What a profiler wrote about one rank, as plain rows: the same for every file format. Rows say
// what was recorded, not what follows from it; dependencies are reconstructed by others.

namespace schedlab {

using TextId = StrongId<struct TextIdTag>;              ///< in ImportedTrace::texts
using HostThreadId = StrongId<struct HostThreadIdTag>;  ///< in ImportedTrace::threads
using RecordedCollectiveId =
    StrongId<struct RecordedCollectiveIdTag>;  ///< in ImportedTrace::collectives

/// Every distinct text once.
class TextTable {
 public:
  TextTable() = default;
  TextTable(const TextTable& other);
  TextTable& operator=(const TextTable& other);
  TextTable(TextTable&&) noexcept = default;
  TextTable& operator=(TextTable&&) noexcept = default;
  ~TextTable() = default;

  /// The id of `text`, which is added if it is new.
  TextId add(std::string_view text);
  /// none() if the table does not have it.
  [[nodiscard]] TextId find(std::string_view text) const;
  /// Empty for none().
  [[nodiscard]] std::string_view operator[](TextId id) const;
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // never moved: the keys below point into them
  std::unordered_map<std::string_view, TextId> ids_;
};

enum class DeviceActivityKind : std::uint8_t { kernel, copy, memset };

/// One activity of a device: a kernel, a copy or a memset, also as a node of a device graph.
struct DeviceRow {
  TextId name;
  DeviceActivityKind kind = DeviceActivityKind::kernel;
  Time started{};
  Time ended{};
  std::int32_t device = 0;  ///< as the profiler numbers them
  std::int64_t stream = 0;  ///< as the profiler numbers them, per device
  /// Equal to that of the call that launched it; for nodes of a graph, of the graph's launch. 0 =
  /// not known.
  std::uint64_t correlation = 0;
  std::int64_t external_id = -1;  ///< of the operator it was launched for; -1 = not known
  std::uint64_t graph = 0;        ///< the device graph as the driver numbers them; 0 = not known
  std::uint64_t graph_node = 0;   ///< 0 = not known
  Bytes bytes{-1};                ///< of a copy or memset; -1 = not known
  std::array<std::uint32_t, 3> grid{};   ///< blocks; zeros = not known
  std::array<std::uint32_t, 3> block{};  ///< threads; zeros = not known
  std::uint32_t registers_per_thread = 0;
  Bytes shared_memory{};            ///< per block, static and dynamic
  std::int32_t priority = 0;        ///< of the stream, if recorded
  RecordedCollectiveId collective;  ///< none(): not known to be one
  bool assumed = false;             ///< not recorded: fill_graph_launches() added it

  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

enum class CallKind : std::uint8_t {
  launch_kernel,
  launch_graph,
  copy,  ///< cudaMemcpyAsync and the like; those without Async hold the host
  memset,
  record_event,
  wait_event,  ///< a stream is made to wait for an event
  query,       ///< of an event or a stream; does not hold the host
  synchronize_event,
  synchronize_stream,
  synchronize_device,
  allocate,  ///< device memory; may synchronise
  free,      ///< device memory; cudaFree synchronises
  capture,   ///< begin or end of the capture of a device graph, its instantiation
  other,
};

/// What a call of the CUDA or HIP runtime or driver does, by its name; versions and suffixes such
/// as "_v7000" and "_ptsz" are ignored. The same words for cudaX, cuX and hipX.
[[nodiscard]] CallKind call_kind(std::string_view name);
/// Does a call of this kind put something on a device?
[[nodiscard]] constexpr bool launches(CallKind kind) {
  return kind == CallKind::launch_kernel || kind == CallKind::launch_graph ||
         kind == CallKind::copy || kind == CallKind::memset;
}
[[nodiscard]] std::string_view call_kind_name(CallKind kind);

/// One call of a runtime or driver.
struct CallRow {
  TextId name;
  CallKind kind = CallKind::other;
  HostThreadId thread;
  Time started{};
  Time ended{};
  std::uint64_t correlation = 0;  ///< 0 = not known
  std::int64_t external_id = -1;  ///< of the operator that called; -1 = not known
  std::int64_t stream =
      -1;                   ///< argument of the call, if recorded (a handle on HIP); -1 = not known
  std::uint64_t event = 0;  ///< argument of the call, if recorded; 0 = not known

  friend bool operator==(const CallRow&, const CallRow&) = default;
};

enum class OperatorKind : std::uint8_t {
  cpu_operator,
  annotation,  ///< written by the user or by a framework
  iteration,   ///< an annotation ProfilerStep#N
  python_function,
};

/// One span of host code. Spans of one thread nest.
struct OperatorRow {
  TextId name;
  OperatorKind kind = OperatorKind::cpu_operator;
  HostThreadId thread;
  Time started{};
  Time ended{};
  std::int64_t external_id = -1;      ///< -1 = not known
  std::int64_t record_function = -1;  ///< what execution traces call rf_id; -1 = not known
  std::int64_t sequence_number = -1;  ///< the same for a forward operator and its backward one
  std::int64_t forward_thread = 0;    ///< of a backward operator: thread of the forward one
  TextId shapes;                      ///< of the inputs, as JSON text, e.g. [[64,128],[128,256]]
  TextId types;                       ///< of the inputs, as JSON text
  RecordedCollectiveId collective;

  friend bool operator==(const OperatorRow&, const OperatorRow&) = default;
};

/// An annotation that the profiler projected onto a device: from the first to the last activity
/// launched within.
struct DeviceAnnotationRow {
  TextId name;
  Time started{};
  Time ended{};
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t external_id = -1;

  friend bool operator==(const DeviceAnnotationRow&, const DeviceAnnotationRow&) = default;
};

enum class SyncRowKind : std::uint8_t { event, stream_wait_event, stream, context, unknown };

/// A synchronisation as the driver recorded it (`cuda_sync`): of the host, or of a stream with an
/// event.
struct SyncRow {
  SyncRowKind kind = SyncRowKind::unknown;
  Time started{};
  Time ended{};
  std::int32_t device = 0;
  std::int64_t stream = -1;          ///< which waits (or is waited for by the host); -1 = none
  std::uint64_t correlation = 0;     ///< of the call that made it
  std::int64_t event = -1;           ///< -1 = not known
  std::int64_t wait_on_stream = -1;  ///< in which the event was recorded; -1 = not known
  /// Correlation of the call that recorded the event; 0 = not known.
  std::uint64_t record_correlation = 0;

  friend bool operator==(const SyncRow&, const SyncRow&) = default;
};

/// An arrow between two host threads that the profiler drew, e.g. from forward to backward
/// (`fwdbwd`). Arrows from a call to its activity are not here: `correlation` says the same.
struct FlowRow {
  TextId category;
  std::uint64_t id = 0;
  HostThreadId from_thread;
  Time from{};
  HostThreadId to_thread;
  Time to{};

  friend bool operator==(const FlowRow&, const FlowRow&) = default;
};

/// Host thread `thread` of process `process`, as the operating system numbers them.
struct HostThread {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::string name;

  friend bool operator==(const HostThread&, const HostThread&) = default;
};

/// What is known of the collective that a kernel or operator belongs to.
struct CollectiveInfo {
  std::string name;   ///< "allreduce"
  std::string group;  ///< name of the process group
  std::string ranks;  ///< "[0, 1]", as written
  std::int64_t group_size = 0;
  std::int64_t elements_in = -1;
  std::int64_t elements_out = -1;
  std::string data_type;
  std::int64_t sequence = -1;  ///< number within the group, if recorded

  friend bool operator==(const CollectiveInfo&, const CollectiveInfo&) = default;
  friend auto operator<=>(const CollectiveInfo&, const CollectiveInfo&) = default;
};

/// A launch of a device graph of which the profile has fewer nodes than of its siblings, or none.
/// From `from` to `to` it is unknown what its device did.
struct GraphLoss {
  std::uint32_t call = 0;         ///< in ImportedTrace::calls
  std::uint32_t recorded = 0;     ///< nodes that the profile has
  std::uint32_t expected = 0;     ///< nodes of its siblings; 0: there are none to tell
  std::uint32_t filled = 0;       ///< nodes that fill_graph_launches() added
  std::uint32_t sibling = 0;      ///< call of a whole launch, if there is one
  std::int32_t device = 0;        ///< as the profiler numbers them; of the sibling's first node
  std::int64_t stream = -1;       ///< likewise; -1 = not known
  Time from{};                    ///< when the graph can first have started
  Time to{};                      ///< when it must have ended: the next item of its stream starts
  std::vector<TextId> missing{};  ///< names of the nodes that are not there, if that is known

  [[nodiscard]] bool open() const { return expected == 0 || recorded + filled < expected; }
  friend bool operator==(const GraphLoss&, const GraphLoss&) = default;
};

/// A device of the computer that was profiled, as its runtime describes it; 0 = not known.
struct ImportedDevice {
  std::int64_t id = 0;
  std::string name;
  std::int64_t multiprocessors = 0;
  Bytes memory{};
  std::int64_t compute_major = 0;
  std::int64_t compute_minor = 0;
  std::int64_t threads_per_warp = 0;

  friend bool operator==(const ImportedDevice&, const ImportedDevice&) = default;
};

/// One rank's trace. Times count from the earliest row. Rows are sorted by start; dependencies:
/// device rows, calls and synchronisations by end, then correlation; operators and annotations
/// outer before inner; what is still tied as in the file.
struct ImportedTrace {
  std::string file;              ///< as the user gave it
  std::int64_t rank = -1;        ///< -1 = not known
  std::int64_t world_size = -1;  ///< -1 = not known
  std::int64_t origin_us = 0;    ///< Time{0} on the profiler's clock: microseconds ...
  Duration origin_rest{};        ///< ... and what is left, below one of them
  Duration resolution{};         ///< all times are multiples of it: 1 us, 1 ns or 1 ps
  TextTable texts;
  IdVector<HostThreadId, HostThread> threads;
  IdVector<RecordedCollectiveId, CollectiveInfo> collectives;
  std::vector<ImportedDevice> devices;
  std::vector<DeviceRow> device_rows;
  std::vector<CallRow> calls;
  std::vector<OperatorRow> operators;
  std::vector<DeviceAnnotationRow> device_annotations;
  std::vector<SyncRow> synchronizations;
  std::vector<FlowRow> flows;
  std::map<std::string, std::string> metadata;  ///< what else the file says: key -> JSON text
  Diagnostics problems;                         ///< of the data: counted, not thrown
  std::vector<GraphLoss> graph_losses;          ///< by the start of the call
};

/// What a trace holds, for people.
struct ImportedCounts {
  std::uint64_t kernels = 0;
  std::uint64_t copies = 0;
  std::uint64_t memsets = 0;
  std::uint64_t streams = 0;   ///< with at least one activity; streams of two devices are two
  std::uint64_t launches = 0;  ///< calls that launch a kernel or a graph, copy or set memory
  std::uint64_t graph_launches = 0;
  Duration span{};  ///< first start to last end of all rows
};
[[nodiscard]] ImportedCounts count(const ImportedTrace& trace);

/// Sorts the rows as ImportedTrace says, moves the origin of time to the earliest row and finds the
/// resolution. Readers call it once, at the end.
void put_in_order(ImportedTrace& trace);

/// Looks for what is odd in ordered rows and adds it to the problems: activities without their
/// launch and launches without activity, activities that overlap on one stream (legal within a
/// graph launch, and with programmatic dependent launch), that start before they are launched, ...
/// docs/import.md lists them all.
void find_problems(ImportedTrace& trace);

}  // namespace schedlab
