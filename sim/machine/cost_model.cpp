// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cost_model.hpp"

#include "sim/base/error.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/machine/cache_contents.hpp"
#include "sim/machine/cache_reuse.hpp"
#include "sim/machine/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

IdVector<TaskId, OperationId> operations_of(const TaskGraph& graph) {
  IdVector<TaskId, OperationId> result;
  reserve_large(result.raw(), graph.task_count());
  for (const TaskId task : graph.tasks()) result.push_back(graph.operation_id(task));
  return result;
}

std::vector<Duration> own_durations(const TaskGraph& graph) {
  std::vector<Duration> result;
  if (!graph.has_task_durations()) return result;
  reserve_large(result, graph.task_count());
  for (const TaskId task : graph.tasks()) result.push_back(graph.fixed_duration(task));
  return result;
}

/// Blocks over what the waves they need could hold.
double mean_share_of_blocks(const Estimate& estimate, std::uint32_t units, std::uint32_t count) {
  const double blocks = estimate.blocks != 0 ? estimate.blocks : units;
  const double per_unit = std::max(1U, estimate.blocks_per_unit);
  const double waves = std::ceil(blocks / (per_unit * count));
  return blocks / (waves * per_unit * count);
}

/// Throws InfeasibleError for blocks that no unit can hold.
void expect_resident(const Operation& operation, const Device& device, const BlockShape& block) {
  const Occupancy fit = occupancy(block, device.sm_limits);
  if (fit.blocks != 0) return;
  throw InfeasibleError(
      fmt::format(
          "a thread block of operation \"{}\" ({} threads, {} registers a thread, {} bytes of "
          "shared memory) does not fit on a unit of device \"{}\": {}",
          operation.name,
          block.threads,
          block.registers,
          block.shared_memory,
          device.name,
          to_string(fit.bound)),
      std::string{to_string(fit.bound)},
      "at least one block a unit",
      "0");
}

CostTable::Entry make_entry(const Operation& operation,
                            const Device& device,
                            SharingModel sharing,
                            Estimate estimate) {
  SCHEDLAB_EXPECTS(
      estimate.duration >= Duration{0} && estimate.share > 0.0 && estimate.share <= 1.0,
      fmt::format("estimate of operation \"{}\" on device \"{}\"", operation.name, device.name));
  CostTable::Entry entry{.estimate = estimate,
                         .units = 0,
                         .unit_class = {},
                         .launches = operation.launches(),
                         .mean_share = estimate.share};
  const UnitClassId unit_class = device.unit_class_of[static_cast<std::size_t>(operation.kind)];
  if (!unit_class.valid()) return entry;
  SCHEDLAB_EXPECTS(device.unit_classes.contains(unit_class),
                   fmt::format("unit class of operation \"{}\"", operation.name));
  if (device.unit_classes[unit_class].count == 0) return entry;
  const std::uint32_t count = device.unit_classes[unit_class].count;
  if (estimate.block.threads != 0 && device.sm_limits.known()) {
    expect_resident(operation, device, estimate.block);
  }
  entry.unit_class = unit_class;
  entry.units = std::max(1U, static_cast<std::uint32_t>(std::ceil(estimate.share * count - 1e-9)));
  entry.mean_share = shares_units(sharing) ? mean_share_of_blocks(estimate, entry.units, count)
                                           : static_cast<double>(entry.units) / count;
  return entry;
}

/// An operator that the device runs as several tasks has gaps between them.
void add_operator_gaps(const Device& device, std::uint32_t tasks, CostTable::Entry& entry) {
  entry.estimate.duration +=
      device.operator_gap * (std::int64_t{entry.launches} * (std::int64_t{tasks} - 1));
}

/// What the host does for a copy of pageable memory: it copies all of it from or to a pinned buffer
/// and does not overlap that with the transfer. So, at the speed of the link, a pageable copy
/// reaches half of a pinned one. // assumed: drivers overlap the two in chunks, but stage with one
/// thread
void add_staging(const Operation& operation, const Device& device, CostTable::Entry& entry) {
  for (const Kernel& kernel : operation.kernels) {
    const bool to_device = kernel.kind == TaskKind::copy_host_to_device;
    if (!kernel.pageable || (!to_device && kernel.kind != TaskKind::copy_device_to_host)) continue;
    const Bandwidth link = to_device ? device.rates.host_to_device : device.rates.device_to_host;
    const Bandwidth rate = device.rates.staging > Bandwidth{0.0} ? device.rates.staging : link;
    if (rate <= Bandwidth{0.0}) continue;  // the cost model has refused it, or copies are free
    const Bytes bytes = std::max(kernel.bytes_read, kernel.bytes_written);
    constexpr double max_seconds = 1e5;  // no sum of durations may leave 64 bits
    const double seconds = static_cast<double>(bytes.count()) / rate.count();
    (to_device ? entry.staging_before : entry.staging_after) +=
        seconds < max_seconds ? bytes / rate : round_up_seconds(max_seconds);
  }
}

bool is_copy(TaskKind kind) {
  return kind == TaskKind::copy_host_to_device || kind == TaskKind::copy_device_to_host ||
         kind == TaskKind::copy_device_to_device;
}

/// Products and copies are calls of their own kinds.
Duration beyond_launches(const Operation& operation, const HostCosts& costs) {
  Duration sum{0};
  for (const Kernel& kernel : operation.kernels) {
    if (kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution) {
      sum += costs.product_call;
    } else if (is_copy(kernel.kind)) {
      sum += costs.copy_call;
    }
  }
  return sum;
}

/// By operation: is it what collectives of the graph are made of?
std::vector<bool> operations_of_collectives(const TaskGraph& graph) {
  std::vector<bool> result(graph.operations().size(), false);
  for (const CollectiveId id : graph.collectives().ids()) {
    for (const TaskId task : graph.collectives().tasks(id)) {
      result[graph.operation_id(task).value()] = true;
    }
  }
  return result;
}

}  // namespace

Estimate CostModel::estimate_collective(const Operation& operation,
                                        const CollectiveSpec& /*spec*/,
                                        std::span<const std::uint32_t> /*ranks*/,
                                        const Platform& /*platform*/,
                                        DeviceId /*kind*/) const {
  return {.duration = operation.fixed_duration, .share = 1.0, .bandwidth = {}};
}

std::vector<LinkShare> CostModel::collective_links(const Operation& /*operation*/,
                                                   const CollectiveSpec& /*spec*/,
                                                   std::span<const std::uint32_t> /*ranks*/,
                                                   const Platform& /*platform*/) const {
  return {};
}

Bytes bytes_of_tensors(const TaskGraph& graph) {
  double sum = 0;
  for (const TensorId tensor : graph.tensors().ids()) {
    sum += static_cast<double>(graph.tensors().bytes(tensor).count());
  }
  constexpr double most = 1e18;  // far from the end of integers
  return Bytes{static_cast<std::int64_t>(std::min(sum / graph.rank_count(), most))};
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a row of the table, read downwards
CostTable::CostTable(const TaskGraph& graph, const Platform& platform, const CostModel& model)
    : operation_of_(operations_of(graph)),
      task_durations_(own_durations(graph)),
      operation_count_(graph.operations().size()),
      last_kind_(static_cast<std::uint32_t>(platform.devices.size() - 1)) {
  const std::vector<bool> collective = operations_of_collectives(graph);
  const CacheReuse reuse{graph, platform};
  const Bytes working_set = bytes_of_tensors(graph);
  for (const Device& device : platform.devices) {
    const auto cached = cached_shares(graph, device);
    for (const OperationId id : graph.operations().ids()) {
      const Operation& operation = graph.operations()[id];
      Estimate estimate;
      if (!collective[id.value()]) {
        std::optional<Operation> known = reuse.with_cached_bytes(id, operation, device);
        if (calibrated_profile(device) != nullptr && working_set > Bytes{0}) {
          if (!known) known = operation;
          for (Kernel& kernel : known->kernels) kernel.working_set = working_set;
          if (!cached.empty()) set_cached(cached[id].begin(), *known);
        }
        estimate = model.estimate(known ? *known : operation, device);
      }
      entries_.push_back(make_entry(operation, device, platform.sharing, estimate));
      Entry& entry = entries_.back();
      if (!collective[id.value()]) {
        add_operator_gaps(device, platform.host(HostId{0}).operator_tasks, entry);
      }
      add_staging(operation, device, entry);
      entry.calls = beyond_launches(operation, platform.host(HostId{0}).costs);
      has_staging_ = has_staging_ || entry.staging_before + entry.staging_after > Duration{0};
    }
  }
  if (graph.collectives().empty()) return;
  estimate_collectives(graph, platform, model);
  if (platform.network.collectives.contend) find_links(graph, platform, model);
}

void CostTable::find_links(const TaskGraph& graph,
                           const Platform& platform,
                           const CostModel& model) {
  const CollectiveTable& collectives = graph.collectives();
  using Key =
      std::tuple<OperationId, CollectiveOp, Bytes, CollectiveAlgorithm, std::vector<std::uint32_t>>;
  std::map<Key, std::uint32_t> known;
  for (const CollectiveId id : collectives.ids()) {
    const CollectiveSpec& spec = collectives.spec(id);
    const OperationId operation = graph.operation_id(collectives.tasks(id).front());
    std::vector<std::uint32_t> ranks;
    for (const TaskId task : collectives.tasks(id)) ranks.push_back(graph.rank(task));
    const auto [at, fresh] =
        known.try_emplace({operation, spec.op, spec.bytes, spec.algorithm, ranks},
                          static_cast<std::uint32_t>(link_uses_.size()));
    if (fresh) {
      link_uses_.push_back(
          model.collective_links(graph.operations()[operation], spec, ranks, platform));
    }
    links_of_.push_back(at->second);
  }
}

void CostTable::estimate_collectives(const TaskGraph& graph,
                                     const Platform& platform,
                                     const CostModel& model) {
  const CollectiveTable& collectives = graph.collectives();
  std::vector<std::uint32_t> ranks;
  for (const CollectiveId id : collectives.ids()) {
    ranks.clear();
    for (const TaskId task : collectives.tasks(id)) ranks.push_back(graph.rank(task));
    Duration longest{0};
    for (const DeviceId kind : platform.devices.ids()) {
      OperationId last;
      for (const TaskId task : collectives.tasks(id)) {
        const OperationId op = graph.operation_id(task);
        if (op == last) continue;  // usually all are the same
        last = op;
        const Operation& operation = graph.operations()[op];
        const Estimate estimate =
            model.estimate_collective(operation, collectives.spec(id), ranks, platform, kind);
        longest = std::max(longest, estimate.duration);
        Entry& entry = entries_[kind.value() * operation_count_ + op.value()];
        if (estimate.duration < entry.estimate.duration) continue;
        entry = make_entry(operation, platform.devices[kind], platform.sharing, estimate);
      }
    }
    collective_durations_.push_back(longest);
    if (task_durations_.empty()) continue;
    Duration own{0};
    for (const TaskId task : collectives.tasks(id))
      own = std::max(own, task_durations_[task.value()]);
    for (const TaskId task : collectives.tasks(id)) {
      task_durations_[task.value()] = own == Duration{0} ? longest : own;
    }
  }
}

CostTable::CostTable(const TaskGraph& graph, const Platform& platform)
    : operation_of_(operations_of(graph)),
      task_durations_(own_durations(graph)),
      operation_count_(graph.operations().size()),
      last_kind_(static_cast<std::uint32_t>(platform.devices.size() - 1)) {
  for (std::size_t device = 0; device < platform.devices.size(); ++device) {
    for (const Operation& operation : graph.operations()) {
      Estimate estimate;
      estimate.duration = operation.fixed_duration;
      entries_.push_back(make_entry(operation, Device{}, platform.sharing, estimate));
    }
  }
  for (const CollectiveId id : graph.collectives().ids()) {
    Duration longest{0};
    for (const TaskId task : graph.collectives().tasks(id)) {
      longest = std::max(longest, duration(task));
    }
    collective_durations_.push_back(longest);
  }
}

IdVector<TaskId, Duration> CostTable::durations(DeviceId device) const {
  IdVector<TaskId, Duration> result(task_count());
  for (const TaskId task : operation_of_.ids()) result[task] = duration(task, device);
  return result;
}

void CostTable::set_task_durations(IdVector<TaskId, Duration> durations) {
  SCHEDLAB_EXPECTS(durations.size() == task_count(),
                   fmt::format("{} durations for {} tasks", durations.size(), task_count()));
  task_durations_ = std::move(durations.raw());
  device_stride_ = 0;
}

void CostTable::set_device_durations(std::vector<Duration> durations) {
  const std::size_t devices = operation_count_ == 0 ? 1 : entries_.size() / operation_count_;
  SCHEDLAB_EXPECTS(
      durations.size() == task_count() * devices,
      fmt::format(
          "{} durations for {} tasks on {} devices", durations.size(), task_count(), devices));
  task_durations_ = std::move(durations);
  device_stride_ = devices == 1 ? 0 : task_count();
}

std::vector<Duration> CostTable::release_task_durations() {
  device_stride_ = 0;
  return std::exchange(task_durations_, {});
}

std::size_t CostTable::memory_bytes() const {
  return operation_of_.raw().capacity() * sizeof(OperationId) +
         task_durations_.capacity() * sizeof(Duration) +
         collective_durations_.raw().capacity() * sizeof(Duration) +
         links_of_.raw().capacity() * sizeof(std::uint32_t) + entries_.capacity() * sizeof(Entry);
}

}  // namespace schedlab
