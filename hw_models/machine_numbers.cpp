// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_numbers.hpp"

#include "hw_models/machine_network.hpp"

#include <cmath>

namespace schedlab {
namespace {

constexpr double largest_count = 1'000'000'000;
constexpr double longest_us = 1e12;  // a million seconds: far from the end of integer time
constexpr double largest_gib = 1'000'000;
constexpr double max_of_sm = 1 << 30;  // registers or bytes

using Set = void (*)(Platform&, double);

HostCosts& costs(Platform& platform) {
  return platform.hosts[HostId{0}].costs;
}
SinkCosts& sink(Platform& platform) {
  return platform.hosts[HostId{0}].sink;
}
Device& device(Platform& platform) {
  return platform.devices[DeviceId{0}];
}
DeviceRates& rates(Platform& platform) {
  return device(platform).rates;
}
SmLimits& limits(Platform& platform) {
  return device(platform).sm_limits;
}
std::uint32_t count(double value) {
  return static_cast<std::uint32_t>(value);
}
Bandwidth gb_per_s(double value) {
  return Bandwidth{value * 1e9};
}
Bytes bytes(double value, double unit) {
  return Bytes{std::llround(value * unit)};
}

constexpr double kib = 1024.0;
constexpr double mib = 1024.0 * kib;
constexpr double gib = 1024.0 * mib;

MachineNumber host_time(std::string_view name, std::string_view doc, Set set) {
  return {"host", name, doc, set, 0, longest_us};
}
MachineNumber device_time(std::string_view name, std::string_view doc, Set set) {
  return {"device", name, doc, set, 0, longest_us};
}

MachineNumber device_size(std::string_view name, std::string_view doc, Set set) {
  return {"device", name, doc, set, 0, largest_count};
}

std::vector<MachineNumber> host_call_numbers() {
  return {
      host_time("launch_us",
                "Host time of one kernel launch.",
                [](Platform& p, double v) { costs(p).launch = from_us(v); }),
      host_time(
          "product_call_us",
          "Host time of a library's matrix product beyond the launch of its kernel; absent: 0.",
          [](Platform& p, double v) { costs(p).product_call = from_us(v); }),
      host_time("copy_call_us",
                "Host time of a copy's call beyond that of a launch; absent: 0.",
                [](Platform& p, double v) { costs(p).copy_call = from_us(v); }),
      host_time("record_us",
                "Host time of an event record.",
                [](Platform& p, double v) { costs(p).record = from_us(v); }),
      host_time("wait_us",
                "Host time of making a stream wait for an event.",
                [](Platform& p, double v) { costs(p).wait = from_us(v); }),
      host_time("query_us",
                "Host time of a stream query.",
                [](Platform& p, double v) { costs(p).query = from_us(v); }),
      host_time("create_stream_us",
                "Host time of creating a stream.",
                [](Platform& p, double v) { costs(p).create_stream = from_us(v); }),
      host_time("destroy_stream_us",
                "Host time of destroying a stream.",
                [](Platform& p, double v) { costs(p).destroy_stream = from_us(v); }),
      host_time("synchronize_us",
                "Host time of a synchronize call when there is nothing to wait for.",
                [](Platform& p, double v) { costs(p).synchronize = from_us(v); }),
      host_time("wake_up_us",
                "From the completion that a host waits for to its next instruction.",
                [](Platform& p, double v) { costs(p).wake_up = from_us(v); }),
      host_time("oversleep_us",
                "How much longer a sleep of the host takes than it was asked to.",
                [](Platform& p, double v) { costs(p).oversleep = from_us(v); }),
      host_time("send_us",
                "Host time of sending a message to another host thread.",
                [](Platform& p, double v) { costs(p).send = from_us(v); }),
      host_time("receive_us",
                "Host time of receiving a message from another host thread.",
                [](Platform& p, double v) { costs(p).receive = from_us(v); }),
  };
}

/// What a host does for an operator before it launches it.
std::vector<MachineNumber> host_operator_numbers() {
  return {
      host_time("front_end_us",
                "Host time of a framework's front end per operator, in its own language and its "
                "dispatch; "
                "an operator is a kernel of a task.",
                [](Platform& p, double v) { costs(p).front_end = from_us(v); }),
      host_time(
          "conversion_us",
          "Host time per operator of turning its arguments into the runtime's data structures.",
          [](Platform& p, double v) { costs(p).conversion = from_us(v); }),
      host_time("shape_inference_us",
                "Host time per operator of working out the shapes of its outputs.",
                [](Platform& p, double v) { costs(p).shape_inference = from_us(v); }),
      host_time("tiling_us",
                "Host time per operator of cutting the kernel for the device's cores and buffers.",
                [](Platform& p, double v) { costs(p).tiling = from_us(v); }),
      host_time("allocation_us",
                "Host time per operator of getting memory for its outputs and its workspace.",
                [](Platform& p, double v) { costs(p).allocation = from_us(v); }),
      {"host",
       "operator_tasks",
       "Device tasks that one operator becomes, each launched by a driver call; absent: 1.",
       [](Platform& p, double v) { p.hosts[HostId{0}].operator_tasks = count(v); },
       1,
       1000,
       true},
      {"host",
       "front_end_queue_depth",
       "Operators that the front end's thread may prepare ahead of the thread that makes them "
       "(launch mode eager_two_thread); 0 = unbounded.",
       [](Platform& p, double v) { p.hosts[HostId{0}].front_end_queue_depth = count(v); },
       0,
       largest_count,
       true},
  };
}

/// Device graphs, sunk models, and how far ahead of the device a host can be.
std::vector<MachineNumber> host_ahead_numbers() {
  return {
      host_time("graph_load_us",
                "Host time of instantiating a device graph, the part that is the same for all.",
                [](Platform& p, double v) { costs(p).graph_load = from_us(v); }),
      host_time("graph_load_node_us",
                "Host time of instantiating a device graph, per node.",
                [](Platform& p, double v) { costs(p).graph_load_node = from_us(v); }),
      host_time("graph_launch_us",
                "Host time of launching a device graph, the part that is the same for all.",
                [](Platform& p, double v) { costs(p).graph_launch = from_us(v); }),
      host_time("graph_launch_node_us",
                "Host time of launching a device graph, per node.",
                [](Platform& p, double v) { costs(p).graph_launch_node = from_us(v); }),
      host_time("sink_load_us",
                "Host time of loading a sunk model, the part that is the same for all.",
                [](Platform& p, double v) { sink(p).load = from_us(v); }),
      host_time("sink_load_task_us",
                "Host time of loading a sunk model, per device task.",
                [](Platform& p, double v) { sink(p).load_task = from_us(v); }),
      host_time("sink_tensor_us",
                "Host time of each run of a sunk model: converting one input or output.",
                [](Platform& p, double v) { sink(p).tensor = from_us(v); }),
      host_time("sink_address_us",
                "Host time of each run of a sunk model: refreshing the addresses of one operator.",
                [](Platform& p, double v) { sink(p).address = from_us(v); }),
      host_time("sink_copy_us",
                "Host time of each run of a sunk model: issuing the copy of one input.",
                [](Platform& p, double v) { sink(p).copy = from_us(v); }),
      host_time("sink_issue_us",
                "Host time of each run of a sunk model: issuing the task that runs it.",
                [](Platform& p, double v) { sink(p).issue = from_us(v); }),
      {"host",
       "launch_queue_depth",
       "Tasks pending per stream before a launch blocks the host; 0 = unbounded.",
       [](Platform& p, double v) { p.hosts[HostId{0}].launch_queue_depth = count(v); },
       0,
       largest_count,
       true},
  };
}

std::vector<MachineNumber> device_limits() {
  return {
      {"device",
       "connections",
       "Hardware queues that streams share; 0 = one per stream.",
       [](Platform& p, double v) { device(p).connections = count(v); },
       0,
       largest_count,
       true},
      {"device",
       "resident_kernels",
       "Kernels on the device at once; 0 = unlimited.",
       [](Platform& p, double v) { device(p).resident_kernels = count(v); },
       0,
       largest_count,
       true},
      {"device",
       "priority_levels",
       "Stream priorities that the device tells apart; absent: 1.",
       [](Platform& p, double v) { device(p).priority_levels = count(v); },
       1,
       1024,
       true},
      {"device",
       "memory_capacity_gib",
       "Memory of the device; 0 = unlimited.",
       [](Platform& p, double v) { device(p).memory_capacity = bytes(v, gib); },
       0,
       largest_gib},
      {"device",
       "co_residency_factor",
       "What a unit gets done, relative to one kernel alone, while blocks of several kernels share "
       "it (fluid: the units of a class together; exclusive: no effect); absent: 1.",
       [](Platform& p, double v) { device(p).co_residency_factor = v; },
       0.1,
       1},
  };
}

std::vector<MachineNumber> device_latencies() {
  return {
      device_time("launch_latency_us",
                  "From the end of the launch call to the arrival of the task in its stream.",
                  [](Platform& p, double v) { device(p).launch_latency = from_us(v); }),
      device_time("stream_gap_us",
                  "From the end of a task to the start of the next one in its stream.",
                  [](Platform& p, double v) { device(p).stream_gap = from_us(v); }),
      device_time("graph_node_gap_us",
                  "From the end of a node of a device graph to the start of one that needs it.",
                  [](Platform& p, double v) { device(p).graph_node_gap = from_us(v); }),
      device_time("programmatic_gap_us",
                  "From the end of a kernel to the moment the next one in its stream, launched "
                  "programmatically, has passed its wait for it; absent: no such launches.",
                  [](Platform& p, double v) { device(p).programmatic_gap = from_us(v); }),
      device_time("sink_task_gap_us",
                  "From the end of a task of a sunk model to the start of one that needs it.",
                  [](Platform& p, double v) { device(p).sink_task_gap = from_us(v); }),
      device_time(
          "operator_gap_us",
          "From the end of a device task to the start of the next one of the same operator.",
          [](Platform& p, double v) { device(p).operator_gap = from_us(v); }),
      device_time("event_latency_us",
                  "From the completion of an event to the release of a stream that waits for it.",
                  [](Platform& p, double v) { device(p).event_latency = from_us(v); }),
      device_time("kernel_floor_us",
                  "Duration of an empty kernel: no kernel is shorter.",
                  [](Platform& p, double v) { device(p).kernel_floor = from_us(v); }),
      device_time("copy_latency_us",
                  "Fixed part of a copy between host and device.",
                  [](Platform& p, double v) { rates(p).copy_latency = from_us(v); }),
  };
}

/// Names are unique over all sections, so that a scenario can change them.
MachineNumber sm_limit(
    std::string_view name, std::string_view doc, Set set, double minimum, double maximum) {
  return {"device/sm_limits", name, doc, set, minimum, maximum, true};
}

std::vector<MachineNumber> sm_thread_limits() {
  return {
      sm_limit(
          "threads_per_sm",
          "Threads resident on one unit; absent: block shapes are ignored.",
          [](Platform& p, double v) { limits(p).threads = count(v); },
          32,
          65536),
      sm_limit(
          "blocks_per_sm",
          "Thread blocks resident on one unit; absent: as many as the threads allow.",
          [](Platform& p, double v) { limits(p).blocks = count(v); },
          1,
          1024),
      sm_limit(
          "registers_per_sm",
          "Registers of 32 bits on one unit; absent: not limited.",
          [](Platform& p, double v) { limits(p).registers = count(v); },
          1,
          max_of_sm),
      sm_limit(
          "registers_per_thread",
          "Most registers that one thread can have; absent: not limited.",
          [](Platform& p, double v) { limits(p).registers_per_thread = count(v); },
          1,
          65535),
      sm_limit(
          "register_unit",
          "Registers are given to a warp in multiples of this; absent: 1.",
          [](Platform& p, double v) { limits(p).register_unit = count(v); },
          1,
          65536),
      sm_limit(
          "sub_partitions",
          "Parts of a unit that the register file is divided among; absent: 1.",
          [](Platform& p, double v) { limits(p).sub_partitions = count(v); },
          1,
          64),
  };
}

std::vector<MachineNumber> sm_memory_limits() {
  return {
      sm_limit(
          "shared_memory_bytes_per_sm",
          "Shared memory of one unit at its largest setting; absent: not limited.",
          [](Platform& p, double v) { limits(p).shared_memory = count(v); },
          1,
          max_of_sm),
      sm_limit(
          "shared_memory_bytes_per_block",
          "Most shared memory that one block can ask for (opt-in); absent: as much as the unit "
          "has.",
          [](Platform& p, double v) { limits(p).shared_memory_per_block = count(v); },
          1,
          max_of_sm),
      sm_limit(
          "shared_memory_unit_bytes",
          "Shared memory is given to a block in multiples of this; absent: 1.",
          [](Platform& p, double v) { limits(p).shared_memory_unit = count(v); },
          1,
          65536),
      sm_limit(
          "reserved_shared_memory_bytes",
          "Shared memory that the driver takes from every block; absent: 0.",
          [](Platform& p, double v) { limits(p).reserved_shared_memory = count(v); },
          0,
          65536),
  };
}

std::vector<MachineNumber> core_group_numbers() {
  const auto add = [](std::string_view name,
                      std::string_view doc,
                      Set set,
                      double minimum,
                      double maximum,
                      bool integer = false) {
    return MachineNumber{"device/core_group", name, doc, set, minimum, maximum, integer};
  };
  return {
      add(
          "cores_per_unit",
          "Cores of one unit, in a mesh; absent: units are no groups of cores.",
          [](Platform& p, double v) { rates(p).core_group.cores = count(v); },
          1,
          65536,
          true),
      add(
          "local_memory_kib",
          "Local memory of one core, filled by DMA.",
          [](Platform& p, double v) { rates(p).core_group.local_memory = bytes(v, kib); },
          0.001,
          largest_count),
      add(
          "vector_bytes",
          "A vector register of one core; absent: one element.",
          [](Platform& p, double v) { rates(p).core_group.vector = bytes(v, 1); },
          1,
          65536,
          true),
      add(
          "core_efficiency",
          "Share of its peak that a core reaches on blocks in its local memory; absent: 1.",
          [](Platform& p, double v) { rates(p).core_group.efficiency = v; },
          0.01,
          1),
      add(
          "dma_half_row_bytes",
          "Contiguous bytes whose transfer reaches half of the unit's bandwidth; absent: 0.",
          [](Platform& p, double v) { rates(p).core_group.dma_half_row = bytes(v, 1); },
          0,
          largest_count),
      add(
          "dma_latency_us",
          "Of one transfer between memory and local memory; absent: 0.",
          [](Platform& p, double v) { rates(p).core_group.dma_latency = from_us(v); },
          0,
          longest_us),
      add(
          "rma_gb_per_s",
          "What one core receives from others of its unit; 0 = no limit.",
          [](Platform& p, double v) { rates(p).core_group.rma = gb_per_s(v); },
          0,
          1e9),
  };
}

std::vector<MachineNumber> device_rates() {
  const auto bandwidth = [](std::string_view name, std::string_view doc, Set set) {
    return MachineNumber{"device", name, doc, set, 0, 1e9};
  };
  return {
      bandwidth(
          "memory_bandwidth_gb_per_s",
          "Nominal bandwidth of the device's memory; absent: kernels that move data are refused.",
          [](Platform& p, double v) { rates(p).memory = gb_per_s(v); }),
      {"device",
       "memory_efficiency",
       "Share of the nominal bandwidth that kernels reach; absent: 1.",
       [](Platform& p, double v) { rates(p).memory_efficiency = v; },
       0.01,
       1},
      bandwidth("unit_bandwidth_gb_per_s",
                "Most that one compute unit can move; 0 = no limit.",
                [](Platform& p, double v) { rates(p).unit_bandwidth = gb_per_s(v); }),
      bandwidth("host_to_device_gb_per_s",
                "Bandwidth of copies to the device; absent: such copies are refused.",
                [](Platform& p, double v) { rates(p).host_to_device = gb_per_s(v); }),
      bandwidth("device_to_host_gb_per_s",
                "Bandwidth of copies to the host; absent: such copies are refused.",
                [](Platform& p, double v) { rates(p).device_to_host = gb_per_s(v); }),
      bandwidth("staging_gb_per_s",
                "Rate at which a host thread copies between pageable memory and a pinned buffer; "
                "absent: that of the link.",
                [](Platform& p, double v) { rates(p).staging = gb_per_s(v); }),
      {"device",
       "units_per_kernel",
       "Most units that one kernel spreads over (one core group, one cluster); 0 = all.",
       [](Platform& p, double v) { rates(p).units_per_kernel = count(v); },
       0,
       largest_count,
       true},
      device_size(
          "pointwise_kib_per_unit",
          "Memory traffic of a point-wise kernel that fills one unit; 0 = always the whole device.",
          [](Platform& p, double v) { rates(p).pointwise_bytes_per_unit = bytes(v, kib); }),
      device_size("l2_mib",
                  "Size of the last-level cache.",
                  [](Platform& p, double v) { rates(p).l2 = bytes(v, mib); }),
      device_size("unit_cache_kib",
                  "Size of the cache that each unit has for itself, before the last-level cache.",
                  [](Platform& p, double v) { rates(p).unit_cache = bytes(v, kib); }),
      bandwidth("l2_bandwidth_gb_per_s",
                "Reads from the last-level cache by all units; 0 = its hits are not credited.",
                [](Platform& p, double v) { rates(p).l2_bandwidth = gb_per_s(v); }),
      device_size("output_buffer_kib_per_unit",
                  "Results that a matrix unit keeps for the tasks that read them next; 0 = none.",
                  [](Platform& p, double v) { rates(p).output_buffer = bytes(v, kib); }),
  };
}

}  // namespace

const std::vector<MachineNumber>& machine_numbers() {
  static const std::vector<MachineNumber> numbers = [] {
    std::vector<MachineNumber> all;
    for (const auto& part : {host_call_numbers(),
                             host_operator_numbers(),
                             host_ahead_numbers(),
                             device_limits(),
                             device_latencies(),
                             sm_thread_limits(),
                             sm_memory_limits(),
                             core_group_numbers(),
                             device_rates(),
                             network_numbers()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return numbers;
}

}  // namespace schedlab
