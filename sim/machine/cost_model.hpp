// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace schedlab {

/// Which limit decided an estimate.
enum class Bound : std::uint8_t { fixed, compute, memory, latency };
template <>
struct EnumNames<Bound> {
  static constexpr auto names = name_list("fixed", "compute", "memory", "latency");
};

/// What a cost model says of one operation on one device.
struct Estimate {
  Duration duration{0};   ///< alone on the device
  double share = 1.0;     ///< of the device's units it can use, in (0, 1]
  Bandwidth bandwidth{};  ///< DRAM traffic it wants while it runs
  Bound bound = Bound::fixed;
  /// Thread blocks of the grid, and how many of them one unit runs side by side at full rate; used
  /// where units are shared block by block. 0 blocks: as many as the share has units, one to a
  /// unit.
  std::uint32_t blocks = 0;
  std::uint32_t blocks_per_unit = 1;
  BlockShape block{};  ///< what one of them needs of its unit, if known
  /// Share of a unit's throughput that the kernel's blocks use while they run there at full rate,
  /// blocks_per_unit of them, in [0, 1].
  float compute_share = 1.0F;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// Operation + device -> estimate. Implementations live in hw_models/.
class CostModel {
 public:
  CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  virtual ~CostModel() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Throws InfeasibleError if the device cannot run the operation (no rate for its data type).
  [[nodiscard]] virtual Estimate estimate(const Operation& operation,
                                          const Device& device) const = 0;
  /// A collective among `ranks` (positions in the platform's network, not empty), of which
  /// `operation` is each one's part. The estimate is that of a part on devices like
  /// `platform.devices[kind]`; its duration begins when the last part has started. Default: the
  /// operation's fixed duration on one whole unit class.
  /// Throws InfeasibleError if the platform cannot do it (no network).
  [[nodiscard]] virtual Estimate estimate_collective(const Operation& operation,
                                                     const CollectiveSpec& spec,
                                                     std::span<const std::uint32_t> ranks,
                                                     const Platform& platform,
                                                     DeviceId kind) const;
  /// What the collective takes of the network's links while it runs at full speed, on average over
  /// its time alone; each link once. Default: nothing.
  [[nodiscard]] virtual std::vector<LinkShare> collective_links(
      const Operation& operation,
      const CollectiveSpec& spec,
      std::span<const std::uint32_t> ranks,
      const Platform& platform) const;
};

/// Bytes of all tensors, on average over the ranks.
[[nodiscard]] Bytes bytes_of_tensors(const TaskGraph& graph);

/// The costs of one graph on one platform: all that policies and the engine ever see of a model.
/// Holds one entry per operation and kind of device (Platform::devices), and per-task durations
/// only where the graph has them.
class CostTable {
 public:
  struct Entry {
    Estimate estimate;
    std::uint32_t units = 0;     ///< whole units held while running; 0 on unlimited units
    UnitClassId unit_class{};    ///< none() = unlimited
    std::uint32_t launches = 1;  ///< host launches
    /// Share of its class's units in use, averaged over the duration alone. Where whole units are
    /// held that is units / count; where units are shared block by block a last, partly filled wave
    /// leaves slots to others and does not count.
    double mean_share = 0.0;
    /// Copies of pageable memory: time of the host thread that launches it, before a copy to the
    /// device, and after one to the host, for which the thread waits.
    Duration staging_before{0};
    Duration staging_after{0};
    /// What its calls cost the host thread beyond so many launches: of libraries' products and of
    /// copies (HostCosts::product_call, copy_call).
    Duration calls{0};
  };

  CostTable() = default;
  /// Estimates every operation on every kind of device, and every collective of the graph: a
  /// collective's tasks have the duration and the entry of their operation's longest collective.
  /// Tasks with a duration of their own keep it.
  CostTable(const TaskGraph& graph, const Platform& platform, const CostModel& model);
  /// Theory: every task lasts its fixed duration on every device and uses no limited units.
  CostTable(const TaskGraph& graph, const Platform& platform);

  [[nodiscard]] Duration duration(TaskId task, DeviceId device = DeviceId{0}) const {
    return task_durations_.empty()
               ? entry(task, device).estimate.duration
               : task_durations_[device.value() * device_stride_ + task.value()];
  }
  [[nodiscard]] const Entry& entry(TaskId task, DeviceId device = DeviceId{0}) const {
    return entries_[kind_of(device) * operation_count_ + operation_of_[task].value()];
  }
  [[nodiscard]] const Entry& entry(OperationId operation, DeviceId device = DeviceId{0}) const {
    return entries_[kind_of(device) * operation_count_ + operation.value()];
  }
  /// Durations of single tasks, the same on every device; empty: ask duration().
  [[nodiscard]] std::span<const Duration> task_durations() const {
    return device_stride_ == 0 ? std::span{task_durations_} : std::span<const Duration>{};
  }
  /// Tells the processor that duration() and entry() of the task will be asked for soon.
  void prefetch(TaskId task) const {
    __builtin_prefetch(operation_of_.raw().data() + task.value());
    if (!task_durations_.empty()) __builtin_prefetch(task_durations_.data() + task.value());
  }
  /// From the start of a collective's last part to the end of all.
  [[nodiscard]] Duration duration(CollectiveId collective) const {
    return collective_durations_[collective];
  }
  /// What it takes of links; empty where collectives do not contend (CollectiveCosts::contend).
  [[nodiscard]] std::span<const LinkShare> links(CollectiveId collective) const {
    return links_of_.empty() ? std::span<const LinkShare>{} : link_uses_[links_of_[collective]];
  }
  /// All durations on one device, one per task.
  [[nodiscard]] IdVector<TaskId, Duration> durations(DeviceId device = DeviceId{0}) const;

  /// Replaces the durations of single tasks (jitter, measurements); one per task.
  void set_task_durations(IdVector<TaskId, Duration> durations);
  /// Replaces the durations of single tasks, for each device: [device][task].
  void set_device_durations(std::vector<Duration> durations);
  /// The memory of all replaced durations, to be filled and set again; the table then has those of
  /// its operations.
  [[nodiscard]] std::vector<Duration> release_task_durations();

  /// Does any task copy pageable memory?
  [[nodiscard]] bool has_staging() const { return has_staging_; }

  [[nodiscard]] std::size_t task_count() const { return operation_of_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  void estimate_collectives(const TaskGraph& graph,
                            const Platform& platform,
                            const CostModel& model);
  void find_links(const TaskGraph& graph, const Platform& platform, const CostModel& model);
  /// As Platform::kind_of.
  [[nodiscard]] std::uint32_t kind_of(DeviceId device) const {
    return device.value() < last_kind_ ? device.value() : last_kind_;
  }

  IdVector<TaskId, OperationId> operation_of_;
  std::vector<Duration> task_durations_;  // [task] or [device][task]; empty: the operation's
  std::size_t device_stride_ = 0;         // 0: the same on every device
  IdVector<CollectiveId, Duration> collective_durations_;
  std::vector<std::vector<LinkShare>> link_uses_;   // of collectives that differ
  IdVector<CollectiveId, std::uint32_t> links_of_;  // in link_uses_
  std::vector<Entry> entries_;                      // [kind of device][operation]
  std::size_t operation_count_ = 0;
  std::uint32_t last_kind_ = 0;
  bool has_staging_ = false;
};

}  // namespace schedlab
