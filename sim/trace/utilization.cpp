// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/utilization.hpp"

#include "sim/trace/cut_work.hpp"
#include "sim/trace/time_order.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
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
        exceeded_(document.devices.size(), 0),
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
    if (in_use > scale + rounding) exceeded_[span.device] = 1;
    running_ += sign;
    critical_ += label.critical ? sign : 0;
  }

  /// The sum of the shares was more than the device.
  [[nodiscard]] bool exceeded(DeviceId device) const { return exceeded_[device] != 0; }

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
  static constexpr std::int64_t rounding = 1 << 12;  // of many shares, 4e-9 of a device

  void update_last() {
    points_.back().utilization = static_cast<double>(capped_) / share_scale / devices_;
    points_.back().running = static_cast<std::uint32_t>(running_);
    points_.back().critical = static_cast<std::uint32_t>(critical_);
  }

  const TraceDocument& document_;
  IdVector<DeviceId, std::int64_t> in_use_;
  IdVector<DeviceId, std::uint8_t> exceeded_;
  double devices_;
  std::int64_t capped_ = 0;  // sum over devices
  std::int32_t running_ = 0;
  std::int32_t critical_ = 0;
  std::vector<UtilizationPoint> points_;
};

/// Whether the shares of a device's tasks are means: tasks of one operation that ran in different
/// co-run have different ones. Where each operation has one share these are what the tasks held,
/// of units without limit.
[[nodiscard]] bool shares_are_means(const TraceDocument& document,
                                    const std::vector<const TaskSpan*>& spans) {
  constexpr double same = 1e-6;
  std::map<std::string_view, double> first;
  bool repeated = false;
  for (const TaskSpan* span : spans) {
    const TaskLabel& label = document.tasks[span->task];
    const auto [known, added] = first.emplace(label.operation, label.share);
    repeated = repeated || !added;
    if (std::abs(known->second - label.share) > same * known->second) return true;
  }
  return !repeated;
}

/// Adds what the sum of the shares of a device's tasks does not show to the curve.
void add_hidden_use(const TraceDocument& document,
                    const std::vector<const TaskSpan*>& all,
                    DeviceId device,
                    std::vector<UtilizationPoint>& points) {
  std::vector<const TaskSpan*> spans;
  std::vector<SharedSpan> shared;
  for (const TaskSpan* span : all) {
    const double share = document.tasks[span->task].share;
    if (span->device != device || share <= 0) continue;
    spans.push_back(span);
    shared.push_back({.start = span->started.time_since_epoch().count(),
                      .end = span->ended.time_since_epoch().count(),
                      .share = share});
  }
  if (!shares_are_means(document, spans)) return;
  const auto devices = static_cast<double>(document.devices.size());
  auto point = points.begin();
  for (const HiddenUse& use : spread_cut_work(shared)) {
    point = std::lower_bound(point, points.end(), use.from, [](const auto& at, std::int64_t from) {
      return at.at.time_since_epoch().count() < from;
    });
    for (auto later = point; later != points.end(); ++later) {
      if (later->at.time_since_epoch().count() >= use.to) break;
      later->utilization = std::min(later->utilization + use.share / devices, 1.0);
    }
  }
}

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
  std::vector<DeviceId> exceeded;
  for (const DeviceId device : document.devices.ids()) {
    if (curve.exceeded(device)) exceeded.push_back(device);
  }
  std::vector<UtilizationPoint> points = std::move(curve).finish();
  for (const DeviceId device : exceeded) add_hidden_use(document, spans, device, points);
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
