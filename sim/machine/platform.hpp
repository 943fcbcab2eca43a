// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/network.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

struct KernelProfile;  // sim/machine/kernel_profile.hpp

/// What each kind of call costs a host thread; durations only. All zero: the ideal, free host.
struct HostCosts {
  Duration launch{0};          ///< per kernel launch
  Duration product_call{0};    ///< a library's matrix product beyond the launch of its kernel
  Duration copy_call{0};       ///< a copy's call beyond what a launch costs
  Duration record{0};          ///< event record
  Duration wait{0};            ///< making a stream wait for an event
  Duration query{0};           ///< stream query
  Duration create_stream{0};   ///< stream creation
  Duration destroy_stream{0};  ///< stream destruction
  Duration synchronize{0};     ///< synchronize call itself
  Duration wake_up{0};         ///< from the completion a host waits for to its next instruction
  Duration oversleep{0};       ///< how much longer a sleep takes than it was asked to
  Duration send{0};            ///< message between host threads, the call itself
  Duration receive{0};         ///< likewise
  // What a framework does for an operator before the driver launches it; an operator is a kernel of
  // a task. See Host::front_end_thread for the thread that does it.
  Duration front_end{0};          ///< the framework's own language, dispatch
  Duration conversion{0};         ///< of its arguments into the runtime's data structures
  Duration shape_inference{0};    ///< shapes of the outputs
  Duration tiling{0};             ///< how the kernel is cut for the device's cores and buffers
  Duration allocation{0};         ///< memory of outputs and workspace
  Duration graph_load{0};         ///< instantiating a device graph: per call ...
  Duration graph_load_node{0};    ///< ... and per node
  Duration graph_launch{0};       ///< launching a device graph: per call ...
  Duration graph_launch_node{0};  ///< ... and per node

  /// No launch of any kind costs anything beyond what comes before it.
  [[nodiscard]] constexpr bool launches_free() const {
    return launch + product_call + copy_call == Duration{0};
  }
  /// All that comes before an operator's launch.
  [[nodiscard]] constexpr Duration preparation() const {
    return front_end + conversion + shape_inference + tiling + allocation;
  }
  friend bool operator==(const HostCosts&, const HostCosts&) = default;
};

/// What a sunk model costs its host: a whole graph that lies on the device's streams and runs as
/// one task. Launch mode sink makes graph costs of them; the engine knows no others.
struct SinkCosts {
  Duration load{0};       ///< loading the model: the part that is the same for all ...
  Duration load_task{0};  ///< ... and per device task
  Duration tensor{0};     ///< of each run: an input or output converted to the runtime's structures
  Duration address{0};    ///< of each run: the addresses of one operator refreshed
  Duration copy{0};       ///< of each run: the copy of one input that is not zero-copy issued
  Duration issue{0};      ///< of each run: the one task that runs the model issued

  friend bool operator==(const SinkCosts&, const SinkCosts&) = default;
};

/// A host thread's machine.
struct Host {
  HostCosts costs;
  SinkCosts sink;
  /// Device tasks that one operator becomes: so many driver calls launch it.
  std::uint32_t operator_tasks = 1;
  /// Tasks pending per stream before a launch blocks the host; 0 = unbounded.
  std::uint32_t launch_queue_depth = 0;
  /// The front end has a thread of its own (launch mode eager_two_thread): it prepares the next
  /// operators while this one is launched, at most front_end_queue_depth (0 = unbounded) ahead.
  /// Without, one thread does both, one after the other.
  bool front_end_thread = false;
  std::uint32_t front_end_queue_depth = 0;

  /// What one operator costs the thread that calls the driver.
  [[nodiscard]] constexpr Duration operator_cost() const {
    return costs.launch * std::int64_t{operator_tasks} +
           (front_end_thread ? Duration{0} : costs.preparation());
  }
  friend bool operator==(const Host&, const Host&) = default;
};

/// A named class of identical compute units ("sm", "cube", "vector", "core_group").
struct UnitClass {
  std::string name;
  std::uint32_t count = 0;  ///< 0 = unlimited: every stream runs as if alone

  friend bool operator==(const UnitClass&, const UnitClass&) = default;
};

/// What one unit (SM) can hold of thread blocks; read by sim/machine/occupancy.hpp. All 0: not
/// known, block shapes are ignored.
struct SmLimits {
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;
  std::uint32_t registers = 0;             ///< 32 bits each; 0 = not limited
  std::uint32_t registers_per_thread = 0;  ///< 0 = not limited
  std::uint32_t register_unit = 1;         ///< registers are given to a warp in multiples of this
  std::uint32_t sub_partitions = 1;        ///< the register file is divided among them
  std::uint32_t shared_memory = 0;         ///< bytes; 0 = not limited
  std::uint32_t shared_memory_per_block = 0;  ///< most that one block can have (opt-in), bytes
  std::uint32_t shared_memory_unit = 1;       ///< bytes
  std::uint32_t reserved_shared_memory = 0;   ///< taken by the driver from every block, bytes

  [[nodiscard]] bool known() const { return threads != 0; }
  friend bool operator==(const SmLimits&, const SmLimits&) = default;
};

/// Units that are groups of cores, each with a local memory that software fills by DMA and that its
/// neighbours read by remote memory access (RMA); read by hw_models/local_memory.hpp.
struct CoreGroup {
  std::uint32_t cores = 0;  ///< of one unit, in a mesh; 0 = units are no such groups
  Bytes local_memory{};     ///< of one core
  Bytes vector{};           ///< one register of a core
  double efficiency = 1.0;  ///< share of its peak that a core reaches on blocks in its local memory
  Bytes dma_half_row{};  ///< contiguous bytes whose transfer reaches half of the unit's bandwidth
  Duration dma_latency{0};  ///< of one transfer
  Bandwidth rma{};          ///< what one core receives from others; 0 = not limited

  [[nodiscard]] bool known() const { return cores != 0 && local_memory > Bytes{0}; }
  friend bool operator==(const CoreGroup&, const CoreGroup&) = default;
};

/// One shape of the output tile that a matrix library computes per unit.
struct GemmTile {
  std::int64_t m = 0;
  std::int64_t n = 0;
  double efficiency = 1.0;  ///< of one unit's peak while it computes such a tile
  BlockShape block{};       ///< of the thread block that computes it, if known

  friend bool operator==(const GemmTile&, const GemmTile&) = default;
};

/// What cost models read. Rates of 0 mean "not supported" (an InfeasibleError when asked for).
struct DeviceRates {
  std::array<FlopRate, data_type_count> matrix{};  ///< dense peak of matrix kernels, by DataType
  std::array<FlopRate, data_type_count> vector{};  ///< peak of point-wise kernels, by DataType
  std::uint32_t matrix_units = 0;  ///< that a matrix kernel spreads over when alone; 0 = unlimited
  std::uint32_t vector_units = 0;  ///< likewise of point-wise kernels
  std::uint32_t units_per_kernel = 0;  ///< most that one kernel spreads over; 0 = all of its class
  Bandwidth memory{};                  ///< DRAM, nominal
  double memory_efficiency = 1.0;      ///< achievable share of the nominal bandwidth
  Bandwidth unit_bandwidth{};          ///< most that one unit can move; 0 = no limit
  Bandwidth host_to_device{};
  Bandwidth device_to_host{};
  /// What a host thread copies between pageable and pinned memory; 0 = as fast as the link.
  Bandwidth staging{};
  Duration copy_latency{0};          ///< fixed part of a copy between host and device
  std::vector<GemmTile> gemm_tiles;  ///< that the library can choose from; empty: no tiles
  std::vector<GemmTile> conv_tiles;  ///< of the convolution library; empty: as gemm_tiles
  Bytes pointwise_bytes_per_unit{};  ///< traffic of a kernel that fills one unit; 0 = always all
  Bytes l2{};                        ///< last-level cache; 0 = none
  Bytes unit_cache{};                ///< of each unit, before the last-level cache; 0 = not known
  Bandwidth l2_bandwidth{};  ///< reads from it by all units together; 0 = its hits are not credited
  /// What a matrix unit keeps of its results for the tasks that read them next; 0 = nothing.
  Bytes output_buffer{};
  CoreGroup core_group{};  ///< what a unit is made of, if it is a group of cores

  friend bool operator==(const DeviceRates&, const DeviceRates&) = default;
};

/// One device. Every limit can be switched off (0) to get the ideal machine.
struct Device {
  std::string name;
  IdVector<UnitClassId, UnitClass> unit_classes;
  /// The class a kernel of a kind runs on; none() = unlimited units.
  std::array<UnitClassId, task_kind_count> unit_class_of{};
  std::uint32_t connections = 0;       ///< hardware queues; 0 = one per stream
  std::uint32_t resident_kernels = 0;  ///< kernels on the device at once; 0 = unlimited
  std::uint32_t priority_levels = 1;
  Bytes memory_capacity{};     ///< 0 = unlimited
  Duration launch_latency{0};  ///< from the end of the host call to the arrival in the stream
  Duration stream_gap{0};      ///< from the end of a task to the start of the next in its stream
  Duration graph_node_gap{0};  ///< from the end of a graph's node to the start of one that needs it
  /// From the end of a kernel to when the next one in its stream, launched programmatically, has
  /// passed its wait for it; nullopt: the device has no such launches.
  std::optional<Duration> programmatic_gap{};
  Duration sink_task_gap{0};  ///< likewise of a sunk model, whose tasks the device schedules itself
  Duration operator_gap{0};   ///< from the end of a device task to the next of its operator
  Duration event_latency{0};  ///< from an event's completion to the release of a waiting stream
  Duration kernel_floor{0};   ///< shortest duration of a kernel (used by cost models)
  SmLimits sm_limits;         ///< of one unit of the class that kernels with a block shape run on
  /// What a unit gets done, relative to one kernel alone, while blocks of several kernels share it;
  /// in (0, 1], 1 = nothing is lost.
  double co_residency_factor = 1.0;
  DeviceRates rates;
  /// What was measured of such a device, if anything was; compared by identity, not by content.
  std::shared_ptr<const KernelProfile> profile{};

  /// Level 0 is the most urgent. Streams give priorities as CUDA does: 0 = default and lowest,
  /// negative = more urgent, clamped to the device's range.
  [[nodiscard]] std::uint32_t level_of(int priority) const {
    const int levels = static_cast<int>(priority_levels);
    const int urgency = priority >= 0 ? 0 : (-priority < levels ? -priority : levels - 1);
    return static_cast<std::uint32_t>(levels - 1 - urgency);
  }
  friend bool operator==(const Device&, const Device&) = default;
};

/// How kernels on one device share its units.
enum class SharingModel : std::uint8_t {
  exclusive,  ///< a task holds whole units from start to end (sim/engine/sharing/exclusive.hpp)
  fluid,      ///< blocks in slots, bandwidth shared max-min (sim/engine/sharing/fluid.hpp)
  blocks,     ///< blocks placed on single units, the reference (sim/engine/sharing/blocks.hpp)
};
/// True where a kernel takes units block by block, and not in whole units from start to end.
[[nodiscard]] constexpr bool shares_units(SharingModel model) {
  return model != SharingModel::exclusive;
}

template <>
struct EnumNames<SharingModel> {
  static constexpr auto names = name_list("exclusive", "fluid", "blocks");
};

/// Everything a plan runs on.
struct Platform {
  std::string name;
  SharingModel sharing = SharingModel::exclusive;
  IdVector<HostId, Host> hosts{1};        ///< a plan with more host threads re-uses the last entry
  IdVector<DeviceId, Device> devices{1};  ///< device d beyond the list is like the last entry
  /// How many ranks there are: rank r is one host (thread) and one device, host r and device r.
  /// Ten thousand equal devices are one entry of `devices`. 0: as many devices as are listed.
  std::uint32_t ranks = 0;
  Network network;

  [[nodiscard]] const Host& host(HostId id) const {
    return hosts.contains(id) ? hosts[id] : *(hosts.end() - 1);
  }
  [[nodiscard]] std::size_t device_count() const {
    return devices.size() > ranks ? devices.size() : ranks;
  }
  [[nodiscard]] bool has_device(DeviceId id) const { return id.value() < device_count(); }
  [[nodiscard]] IdRange<DeviceId> device_ids() const { return IdRange<DeviceId>{device_count()}; }
  /// Index into `devices` of what the device is like.
  [[nodiscard]] DeviceId kind_of(DeviceId id) const {
    const auto last = static_cast<std::uint32_t>(devices.size() - 1);
    return id.value() < last ? id : DeviceId{last};
  }
  [[nodiscard]] const Device& device(DeviceId id) const { return devices[kind_of(id)]; }
  /// What users see: with several ranks "rank 3", else the device's own name.
  [[nodiscard]] std::string device_name(DeviceId id) const;
  friend bool operator==(const Platform&, const Platform&) = default;
};

/// The theory machine: one device with unlimited units, a free host, no gaps or limits, `levels`
/// priorities.
[[nodiscard]] Platform ideal_platform(std::uint32_t levels = 1);

}  // namespace schedlab
