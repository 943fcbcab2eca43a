// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/utilization.hpp"

#include "sim/trace/time_order.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {

namespace {

/// Shares are summed as integers, so that a sum that went up and down comes back to exactly 0.
constexpr double share_scale = 1099511627776.0;  // 2^40

/// The curve while it is drawn.
class Curve {
 public:
  explicit Curve(const TraceDocument& document)
      : document_(document),
        in_use_(document.devices.size(), 0),
        devices_(static_cast<double>(std::max<std::size_t>(document.devices.size(), 1))) {
    points_.reserve(2 * document.trace.tasks.size() + 2);
    points_.push_back({});
  }

  /// `sign` is 1 for a start, -1 for an end.
  void change(const TaskSpan& span, std::int32_t sign) {
    const Time at = sign > 0 ? span.started : span.ended;
    if (at != points_.back().at) {
      update_last();
      points_.push_back({.at = at});
    }
    const TaskLabel& label = document_.tasks[span.task];
    std::int64_t& in_use = in_use_[span.device];
    capped_ -= std::min(in_use, scale);
    in_use += sign * static_cast<std::int64_t>(std::llround(label.share * share_scale));
    capped_ += std::min(in_use, scale);
    running_ += sign;
    critical_ += label.critical ? sign : 0;
  }

  [[nodiscard]] std::vector<UtilizationPoint> finish() && {
    update_last();
    if (points_.back().at < document_.trace.ended) {
      points_.push_back(points_.back());
      points_.back().at = document_.trace.ended;
    }
    return std::move(points_);
  }

 private:
  static constexpr auto scale = static_cast<std::int64_t>(share_scale);

  void update_last() {
    points_.back().utilization = static_cast<double>(capped_) / share_scale / devices_;
    points_.back().running = static_cast<std::uint32_t>(running_);
    points_.back().critical = static_cast<std::uint32_t>(critical_);
  }

  const TraceDocument& document_;
  IdVector<DeviceId, std::int64_t> in_use_;
  double devices_;
  std::int64_t capped_ = 0;  // sum over devices
  std::int32_t running_ = 0;
  std::int32_t critical_ = 0;
  std::vector<UtilizationPoint> points_;
};

}  // namespace

std::vector<UtilizationPoint> utilization_over_time(const TraceDocument& document) {
  std::vector<const TaskSpan*> spans;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (const TaskSpan& span : document.trace.tasks) {
    if (document.tasks[span.task].kind == TaskKind::host || span.started == span.ended) continue;
    spans.push_back(&span);
    starts.push_back(span.started.time_since_epoch().count());
    ends.push_back(span.ended.time_since_epoch().count());
  }
  TimeOrder start_order;
  TimeOrder end_order;
  const auto by_start = start_order.by_time(starts);
  Curve curve{document};
  std::size_t started = 0;
  for (const std::uint32_t ending : end_order.by_time(ends)) {
    for (; started < by_start.size() && starts[by_start[started]] < ends[ending]; ++started) {
      curve.change(*spans[by_start[started]], 1);
    }
    curve.change(*spans[ending], -1);
  }
  return std::move(curve).finish();
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
