// SPDX-License-Identifier: Apache-2.0
// Shares of a summary: of devices, of classes of units, of classes of tasks.
#include "sim/trace/summary.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

namespace schedlab {

namespace {

[[nodiscard]] double share_of_whole(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

}  // namespace

void Summarizer::add_critical_time(std::int64_t start, std::int64_t end) {
  if (critical_times_.empty() || start > critical_times_.back().end) {
    const std::int64_t before = critical_times_.empty()
                                    ? 0
                                    : critical_times_.back().before + critical_times_.back().end -
                                          critical_times_.back().start;
    critical_times_.push_back({start, end, before});
  } else {
    critical_times_.back().end = std::max(critical_times_.back().end, end);
  }
}

std::int64_t Summarizer::critical_time_until(std::int64_t at) const {
  const auto after = std::ranges::upper_bound(critical_times_, at, {}, &CriticalTime::start);
  if (after == critical_times_.begin()) return 0;
  const CriticalTime& last = *std::prev(after);
  return last.before + std::min(at, last.end) - last.start;
}

void Summarizer::fill_hidden_share(const Problem& problem,
                                   const Trace& trace,
                                   Summary& summary) const {
  if (critical_times_.empty()) return;
  std::int64_t hidden = 0;
  std::int64_t running = 0;
  for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
    const TaskSpan& span = trace.tasks[i];
    const OperationFacts& operation = facts(problem.graph.operation_id(span.task), span.device);
    if (operation.critical || !operation.on_device) continue;
    running += ends_[i] - starts_[i];
    hidden += critical_time_until(ends_[i]) - critical_time_until(starts_[i]);
  }
  summary.hidden_share = share_of_whole(static_cast<double>(hidden), static_cast<double>(running));
}

void Summarizer::fill_unit_classes(const Problem& problem,
                                   const Trace& trace,
                                   Summary& summary) const {
  const auto use_of = [&](TaskKind kind) -> std::optional<UnitClassUse> {
    UnitClassUse use;
    double devices = 0;
    for (const DeviceId id : problem.platform.device_ids()) {
      const Device& device = problem.platform.device(id);
      const UnitClassId unit_class = device.unit_class_of[static_cast<std::size_t>(kind)];
      if (!unit_class.valid() || device.unit_classes[unit_class].count == 0) continue;
      const ClassState& state = classes_[devices_[id.value()].first_class + unit_class.value()];
      const auto busy = static_cast<double>(state.busy.length);
      use.busy_share += busy;
      use.utilization += std::min(state.unit_time, busy);
      ++devices;
    }
    if (devices == 0) return std::nullopt;
    const double whole = static_cast<double>(trace.makespan().count()) * devices;
    return UnitClassUse{share_of_whole(use.utilization, whole),
                        share_of_whole(use.busy_share, whole)};
  };
  summary.matrix_units = use_of(TaskKind::gemm);
  summary.vector_units = use_of(TaskKind::pointwise);
  summary.copy_engines = use_of(TaskKind::copy_host_to_device);
}

void Summarizer::fill_shares(const Trace& trace, Summary& summary) const {
  double busy = 0;
  double host_bound = 0;
  double unit_time = 0;
  for (const DeviceState& device : devices_) {
    busy += static_cast<double>(device.busy);
    host_bound += static_cast<double>(device.host_bound);
    // Beside a kernel that alone holds all units there can be units for another: no more than all
    // are in use.
    unit_time += std::min(device.unit_time, static_cast<double>(device.busy));
    summary.peak_memory = std::max(summary.peak_memory, Bytes{device.peak});
  }
  const double whole = static_cast<double>(trace.makespan().count()) *
                       static_cast<double>(std::max<std::size_t>(devices_.size(), 1));
  summary.busy_share = share_of_whole(busy, whole);
  summary.host_bound_share = share_of_whole(host_bound, whole);
  summary.utilization = share_of_whole(unit_time, whole);
}

}  // namespace schedlab
