// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_curve.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/palette.hpp"
#include "sim/trace/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

namespace {

constexpr std::string_view grid = "#dddddd";
constexpr std::string_view axis_color = "#444444";
constexpr double room_above = 18;  // 100 % of the utilization

[[nodiscard]] std::pair<TimeUnit, Ticks> time_ticks(const TimeScale& scale) {
  const TimeUnit unit = time_unit_for(Duration{scale.end_ps});
  const double end = static_cast<double>(scale.end_ps) / unit.picoseconds;
  return {unit, linear_ticks(0, end, static_cast<int>(scale.width / 110))};
}

[[nodiscard]] double x_of(const TimeScale& scale, double value, const TimeUnit& unit) {
  return scale.left + scale.width * value * unit.picoseconds / static_cast<double>(scale.end_ps);
}

/// The outline of steps a pixel wide each, from `left` on; level(i) is the height of step i, kept
/// to a tenth of a pixel. Steps of one height are one line.
template <class Level>
[[nodiscard]] std::vector<Point> outline_of_steps(std::size_t steps, double left, Level level) {
  std::vector<Point> points;
  double last = -1;
  for (std::size_t i = 0; i < steps; ++i) {
    const double y = std::round(10 * level(i)) / 10;
    const double x = left + static_cast<double>(i);
    if (y == last) {
      points.back().x = x + 1;
      continue;
    }
    points.push_back({x, y});
    points.push_back({x + 1, y});
    last = y;
  }
  return points;
}

/// The curve inside its frame.
class Curve {
 public:
  Curve(Svg& svg, const TimeScale& scale, double top, double height)
      : svg_(svg), scale_(scale), top_(top), bottom_(top + height) {}

  void frame() {
    svg_.rect(scale_.left, top_, scale_.width, bottom_ - top_, {.fill = "#fafafa"});
    for (const double share : {0.0, 0.5, 1.0}) {
      svg_.line({scale_.left, y(share)}, {right(), y(share)}, {.stroke = grid, .width = 0.7});
      svg_.text({scale_.left - 10, y(share) + 3.5},
                readable_share(share),
                {.size = 9.5, .anchor = "end", .fill = "#666666"});
    }
    svg_.text({22, (top_ + bottom_) / 2},
              "utilization",
              {.size = 11, .anchor = "middle", .upright = true});
  }

  void area(const std::vector<UtilizationSlice>& slices) {
    const std::vector<Point> points = outline_of_steps(
        slices.size(), scale_.left, [&](std::size_t i) { return y(slices[i].utilization); });
    std::vector<Point> closed{{scale_.left, y(0)}};
    closed.insert(closed.end(), points.begin(), points.end());
    closed.push_back({right(), y(0)});
    svg_.polygon(closed, okabe_ito::sky_blue, 0.45);
    svg_.polyline(points, {.stroke = okabe_ito::blue});
  }

  void mean(double share) {
    const LineStyle style{.dash = "5 4"};
    svg_.line({scale_.left, y(share)}, {right(), y(share)}, style);
    // In the room above 100 %, where no curve is.
    const std::string label = "mean " + readable_share(share);
    const double label_left = right() - 6 - text_width(label, 10);
    svg_.line({label_left - 28, top_ + 8}, {label_left - 5, top_ + 8}, style);
    svg_.text({right() - 6, top_ + 11.5}, label, {.size = 10, .anchor = "end"});
  }

 private:
  [[nodiscard]] double y(double share) const {
    return bottom_ - share * (bottom_ - top_ - room_above);
  }
  [[nodiscard]] double right() const { return scale_.left + scale_.width; }

  Svg& svg_;
  const TimeScale& scale_;
  double top_;
  double bottom_;
};

}  // namespace

void draw_time_grid(Svg& svg, const TimeScale& scale, double top, double bottom) {
  const auto [unit, ticks] = time_ticks(scale);
  for (const double value : ticks.values) {
    const double x = x_of(scale, value, unit);
    svg.line({x, top}, {x, bottom}, {.stroke = grid, .width = 0.7});
  }
}

void draw_time_axis(Svg& svg, const TimeScale& scale, double y) {
  svg.line({scale.left, y}, {scale.left + scale.width, y}, {.stroke = axis_color});
  const auto [unit, ticks] = time_ticks(scale);
  for (const double value : ticks.values) {
    const double x = x_of(scale, value, unit);
    svg.line({x, y}, {x, y + 5}, {.stroke = axis_color});
    svg.text({x, y + 18},
             fmt::format("{:.{}f}", value, ticks.decimals),
             {.size = 10.5, .anchor = "middle"});
  }
  svg.text({scale.left + scale.width / 2, y + 36},
           fmt::format("time ({})", unit.name),
           {.size = 11.5, .anchor = "middle"});
}

void draw_utilization(Svg& svg,
                      const TimeScale& scale,
                      double top,
                      double height,
                      const TraceDocument& document,
                      std::optional<double> mean) {
  Curve curve{svg, scale, top, height};
  curve.frame();
  const std::vector<UtilizationSlice> slices =
      utilization_in_slices(utilization_over_time(document), static_cast<std::size_t>(scale.width));
  if (slices.empty()) return;
  curve.area(slices);
  double sum = 0;
  for (const UtilizationSlice& slice : slices) sum += slice.utilization;
  curve.mean(mean.value_or(sum / static_cast<double>(slices.size())));
}

void draw_memory(Svg& svg,
                 const TimeScale& scale,
                 double top,
                 double height,
                 const DeviceMemory& memory,
                 Time end) {
  const double bottom = top + height;
  const double right = scale.left + scale.width;
  const auto peak = static_cast<double>(memory.peak.count());
  const auto y = [&](double bytes) { return bottom - bytes / peak * (height - 14); };
  svg.rect(scale.left, top, scale.width, height, {.fill = "#fafafa"});
  for (const double bytes : {0.0, peak}) {
    svg.line({scale.left, y(bytes)}, {right, y(bytes)}, {.stroke = grid, .width = 0.7});
    svg.text({scale.left - 10, y(bytes) + 3.5},
             bytes == 0 ? "0" : readable(memory.peak),
             {.size = 9.5, .anchor = "end", .fill = "#666666"});
  }
  svg.text({22, (top + bottom) / 2}, "memory", {.size = 11, .anchor = "middle", .upright = true});
  const auto slices = memory_in_slices(memory.curve, end, static_cast<std::size_t>(scale.width));
  const std::vector<Point> points = outline_of_steps(slices.size(), scale.left, [&](std::size_t i) {
    return y(static_cast<double>(slices[i].count()));
  });
  if (points.empty()) return;
  std::vector<Point> closed{{scale.left, bottom}};
  closed.insert(closed.end(), points.begin(), points.end());
  closed.push_back({points.back().x, bottom});
  svg.polygon(closed, okabe_ito::orange, 0.4);
  svg.polyline(points, {.stroke = okabe_ito::vermillion});
}

}  // namespace schedlab
