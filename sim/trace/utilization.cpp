// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/utilization.hpp"

#include <algorithm>
#include <cmath>

namespace schedlab {

namespace {

/// Shares are summed as integers, so that a sum that went up and down comes back to exactly 0.
constexpr double share_scale = 1099511627776.0;  // 2^40

struct Change {
  Time at;
  std::int64_t share = 0;
  std::int32_t running = 0;
  std::int32_t critical = 0;
  DeviceId device;
};

[[nodiscard]] std::vector<Change> changes_of(const TraceDocument& document) {
  std::vector<Change> changes;
  changes.reserve(2 * document.trace.tasks.size());
  for (const TaskSpan& span : document.trace.tasks) {
    const TaskLabel& label = document.tasks[span.task];
    if (label.kind == TaskKind::host || span.started == span.ended) continue;
    const auto share = static_cast<std::int64_t>(std::llround(label.share * share_scale));
    const std::int32_t critical = label.critical ? 1 : 0;
    changes.push_back({span.started, share, 1, critical, span.device});
    changes.push_back({span.ended, -share, -1, -critical, span.device});
  }
  std::sort(
      changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

}  // namespace

std::vector<UtilizationPoint> utilization_over_time(const TraceDocument& document) {
  std::vector<UtilizationPoint> points{UtilizationPoint{}};
  IdVector<DeviceId, std::int64_t> in_use(document.devices.size(), 0);
  const auto devices = static_cast<double>(std::max<std::size_t>(document.devices.size(), 1));
  const auto scale = static_cast<std::int64_t>(share_scale);
  std::int64_t capped = 0;  // sum over devices
  std::int32_t running = 0;
  std::int32_t critical = 0;

  const std::vector<Change> changes = changes_of(document);
  for (std::size_t i = 0; i < changes.size();) {
    const Time now = changes[i].at;
    for (; i < changes.size() && changes[i].at == now; ++i) {
      const Change& change = changes[i];
      capped -= std::min(in_use[change.device], scale);
      in_use[change.device] += change.share;
      capped += std::min(in_use[change.device], scale);
      running += change.running;
      critical += change.critical;
    }
    const UtilizationPoint point{.at = now,
                                 .utilization = static_cast<double>(capped) / share_scale / devices,
                                 .running = static_cast<std::uint32_t>(running),
                                 .critical = static_cast<std::uint32_t>(critical)};
    if (point.at == points.back().at) {
      points.back() = point;
    } else {
      points.push_back(point);
    }
  }
  if (points.back().at < document.trace.ended) {
    points.push_back(points.back());
    points.back().at = document.trace.ended;
  }
  return points;
}

std::vector<UtilizationSlice> utilization_in_slices(const std::vector<UtilizationPoint>& points,
                                                    std::size_t count) {
  const auto at = [&points](std::size_t i) {
    return static_cast<double>(points[i].at.time_since_epoch().count());
  };
  if (points.size() < 2 || count == 0 || at(points.size() - 1) <= 0) return {};
  std::vector<UtilizationSlice> slices(count);
  const double width = at(points.size() - 1) / static_cast<double>(count);
  std::size_t slice = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    double from = at(i);
    const double to = at(i + 1);
    while (from < to) {
      const double slice_end = slice + 1 == count ? to : static_cast<double>(slice + 1) * width;
      const double until = std::min(to, std::max(slice_end, from));
      const double weight = (until - from) / width;
      slices[slice].utilization += weight * points[i].utilization;
      slices[slice].running += weight * points[i].running;
      slices[slice].critical += weight * points[i].critical;
      from = until;
      if (slice + 1 < count && from >= slice_end) ++slice;
    }
  }
  return slices;
}

}  // namespace schedlab
