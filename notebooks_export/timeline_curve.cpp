// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_curve.hpp"

#include "notebooks_export/figure.hpp"
#include "notebooks_export/palette.hpp"
#include "sim/trace/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

namespace {

constexpr double space_above = 18;  // a share of 1

/// A share from 0 to 1 over time, inside its frame.
class Curve {
 public:
  Curve(Svg& svg, const TimeScale& scale, double top, double height)
      : svg_(svg),
        left_(scale.left),
        right_(scale.left + scale.width),
        top_(top),
        bottom_(top + height) {}

  void frame(std::string_view name, const std::vector<std::pair<double, std::string>>& marks) {
    svg_.rect(left_, top_, right_ - left_, bottom_ - top_, {.fill = "#fafafa"});
    for (const auto& [share, text] : marks) {
      svg_.line({left_, y(share)}, {right_, y(share)}, {.stroke = "#dddddd", .width = 0.7});
      svg_.text(
          {left_ - 10, y(share) + 3.5}, text, {.size = 9.5, .anchor = "end", .fill = muted_text});
    }
    svg_.text({figure_margin, (top_ + bottom_) / 2},
              name,
              {.size = 11, .anchor = "middle", .upright = true});
  }

  /// One step per pixel, its height kept to a tenth of one. Steps of one height are one line.
  void area(const std::vector<double>& shares, std::string_view fill, std::string_view outline) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const Point at{left_ + static_cast<double>(i), std::round(10 * y(shares[i])) / 10};
      if (points.empty() || points.back().y != at.y) {
        points.push_back(at);
        points.push_back(at);
      }
      points.back().x = at.x + 1;
    }
    if (points.empty()) return;
    std::vector<Point> closed{{left_, bottom_}};
    closed.insert(closed.end(), points.begin(), points.end());
    closed.push_back({points.back().x, bottom_});
    svg_.polygon(closed, fill, 0.45);
    svg_.polyline(points, {.stroke = outline});
  }

  void mean(double share) {
    const LineStyle style{.dash = "5 4"};
    svg_.line({left_, y(share)}, {right_, y(share)}, style);
    // In the space above 1, where no curve is.
    const std::string label = "mean " + readable_share(share);
    const double label_left = right_ - 6 - text_width(label, 10);
    svg_.line({label_left - 28, top_ + 8}, {label_left - 5, top_ + 8}, style);
    svg_.text({right_ - 6, top_ + 11.5}, label, {.size = 10, .anchor = "end"});
  }

 private:
  [[nodiscard]] double y(double share) const {
    return bottom_ - share * (bottom_ - top_ - space_above);
  }

  Svg& svg_;
  double left_;
  double right_;
  double top_;
  double bottom_;
};

/// The part of the curve that the axis has, from time 0 on.
std::vector<UtilizationPoint> within(const TimeScale& scale,
                                     const std::vector<UtilizationPoint>& points) {
  const Time begin{Duration{scale.begin_ps}};
  const Time end{Duration{scale.end_ps}};
  std::vector<UtilizationPoint> part;
  for (UtilizationPoint point : points) {
    if (!part.empty() && point.at <= begin) part.pop_back();  // it says what is at the beginning
    if (!part.empty() && part.back().at >= Time{end - begin}) break;
    point.at = Time{std::clamp(point.at, begin, end) - begin};
    part.push_back(point);
  }
  return part;
}

}  // namespace

void draw_time_axis(Svg& svg, const TimeScale& scale, double top, double bottom) {
  const TimeUnit unit = time_unit_for(Duration{scale.end_ps});
  const double begin = static_cast<double>(scale.begin_ps) / unit.picoseconds;
  const double end = static_cast<double>(scale.end_ps) / unit.picoseconds;
  const PlotArea area{
      .left = scale.left, .top = top, .right = scale.left + scale.width, .bottom = bottom};
  const Scale x = Scale::exact(begin, end, area.left, area.right);
  draw_x_axis(svg,
              area,
              x,
              x.ticks(static_cast<int>(scale.width / 110)),
              fmt::format("time ({})", unit.name));
}

void draw_utilization(Svg& svg,
                      const TimeScale& scale,
                      double top,
                      double height,
                      const TraceDocument& document,
                      std::optional<double> mean) {
  Curve curve{svg, scale, top, height};
  curve.frame("utilization", {{0, "0 %"}, {0.5, "50 %"}, {1, "100 %"}});
  std::vector<double> shares;
  for (const UtilizationSlice& slice : utilization_in_slices(
           within(scale, utilization_over_time(document)), static_cast<std::size_t>(scale.width))) {
    shares.push_back(slice.utilization);
  }
  if (shares.empty()) return;
  curve.area(shares, okabe_ito::sky_blue, okabe_ito::blue);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  curve.mean(mean.value_or(sum / static_cast<double>(shares.size())));
}

void draw_memory(Svg& svg,
                 const TimeScale& scale,
                 double top,
                 double height,
                 const DeviceMemory& memory,
                 Time end) {
  Curve curve{svg, scale, top, height};
  curve.frame("memory", {{0, "0"}, {1, readable(memory.peak)}});
  std::vector<double> shares;
  for (const Bytes held :
       memory_in_slices(memory.curve, end, static_cast<std::size_t>(scale.width))) {
    shares.push_back(static_cast<double>(held.count()) / static_cast<double>(memory.peak.count()));
  }
  curve.area(shares, okabe_ito::orange, okabe_ito::vermillion);
}

}  // namespace schedlab
