// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/clock_alignment.hpp"
#include "profiler/work_id.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

// What a device did, as its profiler saw it: plain values, whatever library recorded them.

namespace schedlab {

/// Where on a device: ids as the driver numbers them, streams per context.
struct ActivityPlace {
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;

  friend bool operator==(const ActivityPlace&, const ActivityPlace&) = default;
};

/// The node of a device graph that an activity belongs to; ids as the driver numbers them, 0 =
/// none.
struct ActivityNode {
  std::uint32_t graph = 0;
  std::uint64_t node = 0;

  friend bool operator==(const ActivityNode&, const ActivityNode&) = default;
};

/// One kernel on the device.
struct KernelActivity {
  std::string name;
  ActivityTime started{};
  ActivityTime ended{};
  std::optional<ActivityTime> queued{};     ///< into the command buffer, if recorded
  std::optional<ActivityTime> submitted{};  ///< to the device, if recorded
  ActivityPlace place{};
  std::uint32_t correlation = 0;  ///< same as that of the call that launched it
  ActivityNode node{};
  std::array<std::uint32_t, 3> grid{};   ///< blocks
  std::array<std::uint32_t, 3> block{};  ///< threads
  std::uint32_t registers_per_thread = 0;
  Bytes static_shared_memory{};
  Bytes dynamic_shared_memory{};
  std::uint32_t channel = 0;  ///< the hardware queue it went through

  friend bool operator==(const KernelActivity&, const KernelActivity&) = default;
};

enum class CopyDirection : std::uint8_t {
  host_to_device,
  device_to_host,
  device_to_device,
  host_to_host,
  peer_to_peer,
  unknown,
};
enum class MemoryPlace : std::uint8_t { pageable, pinned, device, managed, array, unknown };

/// One copy.
struct CopyActivity {
  CopyDirection direction = CopyDirection::unknown;
  MemoryPlace from = MemoryPlace::unknown;
  MemoryPlace to = MemoryPlace::unknown;
  bool asynchronous = false;
  Bytes bytes{};
  ActivityTime started{};
  ActivityTime ended{};
  ActivityPlace place{};
  std::uint32_t correlation = 0;
  ActivityNode node{};
  std::uint32_t channel = 0;

  friend bool operator==(const CopyActivity&, const CopyActivity&) = default;
};

/// One filling of memory with a value.
struct MemsetActivity {
  MemoryPlace memory = MemoryPlace::unknown;
  Bytes bytes{};
  ActivityTime started{};
  ActivityTime ended{};
  ActivityPlace place{};
  std::uint32_t correlation = 0;
  ActivityNode node{};
  std::uint32_t channel = 0;

  friend bool operator==(const MemsetActivity&, const MemsetActivity&) = default;
};

enum class ApiLayer : std::uint8_t { runtime, driver };

/// One call of the run-time or the driver.
struct ApiActivity {
  ApiLayer layer = ApiLayer::runtime;
  std::string name;            ///< "cudaLaunchKernel"; without the version the profiler appends
  std::uint32_t callback = 0;  ///< the profiler's number of the function
  ActivityTime started{};
  ActivityTime ended{};
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint32_t correlation = 0;
  std::uint32_t return_value = 0;  ///< 0 = success

  friend bool operator==(const ApiActivity&, const ApiActivity&) = default;
};

enum class SyncKind : std::uint8_t { event, stream_wait_event, stream, context, unknown };

/// One synchronization: of the host, or of a stream with an event (stream_wait_event).
struct SyncActivity {
  SyncKind kind = SyncKind::unknown;
  ActivityTime started{};
  ActivityTime ended{};
  std::uint32_t context = 0;
  std::optional<std::uint32_t> stream{};
  std::optional<std::uint32_t> event{};
  /// Equal to EventActivity::sync of the record that was waited for; 0 = not known.
  std::uint64_t event_sync = 0;
  std::uint32_t correlation = 0;
  std::uint32_t return_value = 0;

  friend bool operator==(const SyncActivity&, const SyncActivity&) = default;
};

/// An event was recorded in a stream.
struct EventActivity {
  ActivityPlace place{};
  std::uint32_t event = 0;
  std::uint64_t sync = 0;                   ///< numbers the records of all events
  std::optional<ActivityTime> completed{};  ///< on the device, if recorded
  std::uint32_t correlation = 0;

  friend bool operator==(const EventActivity&, const EventActivity&) = default;
};

/// One launch of a device graph as a whole, from the start of its first to the end of its last
/// node.
struct GraphLaunchActivity {
  std::uint32_t graph = 0;
  ActivityPlace place{};
  ActivityTime started{};
  ActivityTime ended{};
  std::uint32_t correlation = 0;

  friend bool operator==(const GraphLaunchActivity&, const GraphLaunchActivity&) = default;
};

enum class OverheadKind : std::uint8_t {
  driver_compiler,
  buffer_flush,
  instrumentation,
  resource,
  module_loading,
  lazy_function_loading,
  command_buffer_full,  ///< the launch queue was full
  buffer_request,
  other,
};

/// Time that profiler or driver took for themselves.
struct OverheadActivity {
  OverheadKind kind = OverheadKind::other;
  ActivityTime started{};
  ActivityTime ended{};
  std::uint32_t correlation = 0;
  std::optional<std::uint32_t> channel{};  ///< of command_buffer_full

  friend bool operator==(const OverheadActivity&, const OverheadActivity&) = default;
};

/// The calls with this correlation were made on behalf of `work`.
struct ExternalCorrelation {
  std::uint32_t correlation = 0;
  WorkId work;

  friend bool operator==(const ExternalCorrelation&, const ExternalCorrelation&) = default;
};

struct StreamActivity {
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t priority = 0;  ///< as the profiler writes it
  bool non_blocking = false;
  bool null_stream = false;

  friend bool operator==(const StreamActivity&, const StreamActivity&) = default;
};

struct DeviceActivity {
  std::uint32_t device = 0;
  std::string name;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t core_clock_khz = 0;
  std::uint32_t copy_engines = 0;
  std::uint32_t threads_per_warp = 0;
  std::uint32_t warps_per_multiprocessor = 0;
  std::uint32_t threads_per_block = 0;
  std::uint32_t registers_per_multiprocessor = 0;
  std::uint32_t registers_per_block = 0;
  Bytes shared_memory_per_multiprocessor{};
  Bytes shared_memory_per_block{};
  Bytes l2{};
  Bytes memory{};
  Bandwidth memory_bandwidth{};

  friend bool operator==(const DeviceActivity&, const DeviceActivity&) = default;
};

/// All that was recorded of one run, in the order of time.
struct ActivityLog {
  std::vector<KernelActivity> kernels;
  std::vector<CopyActivity> copies;
  std::vector<MemsetActivity> memsets;
  std::vector<ApiActivity> calls;
  std::vector<SyncActivity> synchronizations;
  std::vector<EventActivity> events;
  std::vector<GraphLaunchActivity> graph_launches;
  std::vector<OverheadActivity> overheads;
  std::vector<ExternalCorrelation> correlations;  ///< by correlation
  std::vector<StreamActivity> streams;
  std::vector<DeviceActivity> devices;
  /// Which work the nodes of device graphs do, by the driver's id of a node.
  std::unordered_map<std::uint64_t, WorkId> nodes;
  std::uint64_t dropped_records = 0;  ///< lost for want of memory: times of the rest are not whole
  Diagnostics problems;               ///< what could not be read
  ClockMapping clock;                 ///< from the times above to those of the host

  /// Sorts every list: buffers of several threads come in any order.
  void sort();
};

}  // namespace schedlab
