// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/bound_chart.hpp"

#include "notebooks_export/figure.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/timeline_curve.hpp"
#include "notebooks_export/timeline_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace schedlab {

namespace {

constexpr double rows_left = 130;
constexpr double rows_right = 20;
constexpr double bound_row_height = 20;
constexpr double bound_row_step = 36;
constexpr double shade_height = 34;  // behind a row
constexpr double shares_height = 130;
constexpr std::size_t max_host_rows = 4;
constexpr std::size_t max_device_rows = 8;

struct BoundStyle {
  std::string_view name;
  std::string_view color;
};
constexpr std::array<BoundStyle, device_bound_count> bound_styles{
    {{"device runs", okabe_ito::blue},
     {"waits for the host", okabe_ito::vermillion},
     {"waits for a dependency", okabe_ito::orange},
     {"latencies", okabe_ito::yellow},
     {"other", okabe_ito::grey},
     {"nothing left", "#e8e8e8"}}};
constexpr BoundStyle host_decides{"the host decides", "#F6DCC7"};      // vermillion, pale
constexpr BoundStyle device_decides{"the device decides", "#C7E0EE"};  // blue, pale
constexpr BoundStyle host_calls{"host makes calls", "#5B6B82"};

/// Adds an interval to a row; what touches the one before makes it longer.
void add_interval(std::vector<Bar>& row, Time begin, Time end) {
  if (end <= begin) return;
  if (!row.empty() && row.back().ended >= begin) {
    row.back().ended = std::max(row.back().ended, end);
  } else {
    row.push_back({.started = begin, .ended = end, .label = {}, .family = {}});
  }
}

class BoundChart {
 public:
  BoundChart(const Attribution& attribution, const Trace& trace, const BoundChartNames& names)
      : attribution_(attribution),
        trace_(trace),
        names_(names),
        frame_{.title = names.title,
               .subtitle =
                   "rows: when each runs; pale: when the critical path is bound by it; "
                   "beneath: what the devices do"},
        hosts_(trace.hosts.empty() ? 0 : std::min(names.hosts.size(), max_host_rows)),
        devices_(std::min(attribution.devices, max_device_rows)) {
    scale_ = {.left = rows_left,
              .width = figure_width - rows_left - rows_right,
              .end_ps = std::max<std::int64_t>(attribution.makespan.count(), 1)};
    for (const BoundStyle& style : bound_styles) add_to_legend(style);
    if (hosts_ > 0) add_to_legend(host_calls);
    for (const BoundStyle& style : {host_decides, device_decides}) add_to_legend(style);
  }

  [[nodiscard]] std::string draw() const {
    const double shares_top = row_top(hosts_ + devices_) + 8;
    const double axis_top = shares_top + shares_height;
    Svg svg = frame_.begin(axis_top + x_axis_height);
    draw_time_axis(svg, scale_, frame_.top(), axis_top);
    shade(svg, PathBound::host, 0, hosts_, host_decides.color);
    shade(svg, PathBound::device, hosts_, devices_, device_decides.color);
    draw_hosts(svg);
    draw_devices(svg);
    draw_shares(svg, shares_top);
    return std::move(svg).finish();
  }

 private:
  void add_to_legend(const BoundStyle& style) {
    frame_.legend.add({std::string{style.name}, std::string{style.color}});
  }

  [[nodiscard]] double row_top(std::size_t row) const {
    return frame_.top() + 8 + bound_row_step * static_cast<double>(row);
  }

  /// Behind `count` rows from `first` on: where the critical path is bound by them.
  void shade(Svg& svg,
             PathBound bound,
             std::size_t first,
             std::size_t count,
             std::string_view color) const {
    std::vector<Bar> decided;
    for (const PathSpan& span : attribution_.path) {
      if (span.bound == bound) add_interval(decided, span.begin, span.end);
    }
    for (std::size_t row = first; row < first + count; ++row) {
      const double top = row_top(row) - (shade_height - bound_row_height) / 2;
      draw_row(svg, scale_, top, shade_height, decided, one_color(color));
    }
  }

  [[nodiscard]] static RowStyle one_color(std::string_view color) {
    return {.colors = {std::string{color}}, .tooltips = false};
  }

  void draw_named_row(Svg& svg,
                      std::size_t row,
                      const std::string& name,
                      const std::vector<Bar>& busy,
                      std::string_view color) const {
    const double top = row_top(row);
    svg.text({rows_left - 8, top + bound_row_height / 2 + 4},
             fitted(name, rows_left - 16, 11),
             {.size = 11, .anchor = "end"});
    draw_row(svg, scale_, top, bound_row_height, busy, one_color(color));
    svg.line({rows_left, top + bound_row_height},
             {rows_left + scale_.width, top + bound_row_height},
             {.stroke = "#bbbbbb"});
  }

  void draw_hosts(Svg& svg) const {
    for (std::size_t host = 0; host < hosts_; ++host) {
      std::vector<Bar> busy;
      for (const HostSpan& call : trace_.hosts) {
        if (call.host.value() == host) add_interval(busy, call.started, call.ended - call.blocked);
      }
      draw_named_row(svg, host, names_.hosts[host], busy, host_calls.color);
    }
  }

  void draw_devices(Svg& svg) const {
    std::vector<std::vector<Bar>> busy(devices_);
    for (const BoundSpan& span : attribution_.spans) {
      const std::size_t device = span.device.value();
      if (device >= devices_ || span.bound != DeviceBound::device_bound) continue;
      add_interval(busy[device], span.begin, span.end);
    }
    for (std::size_t device = 0; device < devices_; ++device) {
      draw_named_row(
          svg, hosts_ + device, names_.devices[device], busy[device], bound_styles[0].color);
    }
  }

  /// What all devices together do in each slice of the makespan, stacked.
  void draw_shares(Svg& svg, double top) const {
    const PlotArea area{.left = rows_left,
                        .top = top,
                        .right = rows_left + scale_.width,
                        .bottom = top + shares_height};
    const Scale y = Scale::exact(0, 1, area.bottom, area.top);
    for (const double share : {0.0, 0.5, 1.0}) {
      svg.text(
          {rows_left - 8, y.at(share) + 4}, readable_share(share), {.size = 9.5, .anchor = "end"});
    }
    draw_y_label(svg, area, "devices");
    const auto devices = static_cast<double>(attribution_.devices);
    for (const BoundBin& bin : attribution_.bins) {
      const double whole = to_us(bin.end - bin.begin) * devices;
      if (whole <= 0) continue;
      const double width = scale_.x(bin.end) - scale_.x(bin.begin) + 0.2;
      double below = 0;
      for (std::size_t i = 0; i < device_bound_count; ++i) {
        const double share = to_us(bin.devices[i]) / whole;
        if (share <= 0) continue;
        below += share;
        svg.rect(scale_.x(bin.begin),
                 y.at(below),
                 width,
                 shares_height * share,
                 {.fill = bound_styles[i].color});
      }
    }
    svg.rect(rows_left, top, scale_.width, shares_height, {.stroke = "#888888"});
  }

  const Attribution& attribution_;
  const Trace& trace_;
  const BoundChartNames& names_;
  FigureFrame frame_;
  std::size_t hosts_;
  std::size_t devices_;
  TimeScale scale_;
};

}  // namespace

std::string bound_chart_svg(const Attribution& attribution,
                            const Trace& trace,
                            const BoundChartNames& names) {
  return BoundChart{attribution, trace, names}.draw();
}

}  // namespace schedlab
