// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/bound_chart.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace schedlab {

namespace {

constexpr double width = 1100;
constexpr double left = 130;
constexpr double right = 20;
constexpr double row_height = 20;
constexpr double row_step = 36;
constexpr double shares_height = 130;
constexpr std::size_t slices = 900;
constexpr std::size_t most_hosts = 4;
constexpr std::size_t most_devices = 8;
constexpr std::string_view host_shade = "#F6DCC7";    // vermillion, pale
constexpr std::string_view device_shade = "#C7E0EE";  // blue, pale

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

/// Time covered in each of equal slices of a run.
class Slices {
 public:
  explicit Slices(Duration whole) : whole_(static_cast<double>(whole.count())) {}

  void cover(Time begin, Time end) {
    if (whole_ <= 0 || end <= begin) return;
    const double from = place(begin);
    const double to = place(end);
    auto slice = static_cast<std::size_t>(from);
    for (; slice < slices && static_cast<double>(slice) < to; ++slice) {
      const auto low = static_cast<double>(slice);
      covered_[slice] += std::min(to, low + 1) - std::max(from, low);
    }
  }
  [[nodiscard]] double share(std::size_t slice) const { return std::min(covered_[slice], 1.0); }

 private:
  [[nodiscard]] double place(Time time) const {
    return static_cast<double>(time.time_since_epoch().count()) / whole_ * slices;
  }
  double whole_;
  std::array<double, slices> covered_{};
};

class BoundChart {
 public:
  BoundChart(const Attribution& attribution, const Trace& trace, const BoundChartNames& names)
      : attribution_(attribution),
        trace_(trace),
        names_(names),
        hosts_(trace.hosts.empty() ? 0 : std::min(names.hosts.size(), most_hosts)),
        devices_(std::min(attribution.devices, most_devices)),
        legend_(left, width - right) {
    for (const BoundStyle& style : bound_styles) {
      legend_.add({std::string{style.name}, std::string{style.color}});
    }
    legend_.add({"the host decides", std::string{host_shade}});
    legend_.add({"the device decides", std::string{device_shade}});
  }

  [[nodiscard]] std::string draw() {
    const double rows = row_step * static_cast<double>(hosts_ + devices_);
    const double shares_top = rows_top + rows + 14;
    const double axis_top = shares_top + shares_height;
    const double legend_top = axis_top + 34;
    Svg svg(width, legend_top + legend_.height() + 10, names_.title);
    svg.rect(0, 0, width, legend_top + legend_.height() + 10, {.fill = "#ffffff"});
    svg.text(
        {left, 24}, fitted(names_.title, width - left - right, 15), {.size = 15, .bold = true});
    shade(svg);
    draw_hosts(svg);
    draw_devices(svg);
    draw_shares(svg, shares_top);
    draw_axis(svg, axis_top);
    legend_.draw(svg, legend_top);
    return std::move(svg).finish();
  }

 private:
  static constexpr double rows_top = 40;

  [[nodiscard]] static double inner() { return width - left - right; }
  [[nodiscard]] double x(Time time) const {
    const auto whole =
        static_cast<double>(std::max(attribution_.makespan.count(), std::int64_t{1}));
    return left + inner() * static_cast<double>(time.time_since_epoch().count()) / whole;
  }
  [[nodiscard]] static double row_y(std::size_t row) {
    return rows_top + row_step * static_cast<double>(row);
  }

  /// 0: the host, 1: the device, -1: nobody.
  [[nodiscard]] static int winner(const std::array<Slices, 2>& decides, std::size_t slice) {
    const double host = decides[0].share(slice);
    const double device = decides[1].share(slice);
    if (host == 0 && device == 0) return -1;
    return host > device ? 0 : 1;
  }

  /// Behind the tracks of whoever decides for most of a slice.
  void shade(Svg& svg) const {
    std::array<Slices, 2> decides{Slices{attribution_.makespan}, Slices{attribution_.makespan}};
    for (const PathSpan& span : attribution_.path) {
      if (span.bound != PathBound::host && span.bound != PathBound::device) continue;
      decides[span.bound == PathBound::host ? 0 : 1].cover(span.begin, span.end);
    }
    const double step = inner() / slices;
    for (std::size_t i = 0; i < slices;) {
      const int who = winner(decides, i);
      std::size_t end = i + 1;
      while (end < slices && winner(decides, end) == who) ++end;
      const std::size_t rows = who == 0 ? hosts_ : devices_;
      if (who >= 0 && rows > 0) {
        svg.rect(left + step * static_cast<double>(i),
                 row_y(who == 0 ? 0 : hosts_) - 7,
                 step * static_cast<double>(end - i),
                 row_step * static_cast<double>(rows) - 2,
                 {.fill = who == 0 ? host_shade : device_shade});
      }
      i = end;
    }
  }

  static void row(Svg& svg,
                  std::size_t at,
                  const std::string& name,
                  const Slices& busy,
                  std::string_view color) {
    const double top = row_y(at);
    svg.text({left - 8, top + row_height / 2 + 4},
             fitted(name, left - 16, 11),
             {.size = 11, .anchor = "end"});
    const double step = inner() / slices;
    for (std::size_t i = 0; i < slices;) {
      const double share = busy.share(i);
      std::size_t end = i + 1;
      while (end < slices && busy.share(end) == share) ++end;
      if (share > 0) {
        svg.rect(left + step * static_cast<double>(i),
                 top + row_height * (1 - share),
                 step * static_cast<double>(end - i),
                 row_height * share,
                 {.fill = color});
      }
      i = end;
    }
    svg.line({left, top + row_height}, {width - right, top + row_height}, {.stroke = "#bbbbbb"});
  }

  void draw_hosts(Svg& svg) const {
    for (std::size_t host = 0; host < hosts_; ++host) {
      Slices busy(attribution_.makespan);
      for (const HostSpan& call : trace_.hosts) {
        if (call.host.value() == host) busy.cover(call.started, call.ended - call.blocked);
      }
      row(svg, host, names_.hosts[host], busy, "#5B6B82");
    }
  }

  void draw_devices(Svg& svg) const {
    std::vector<Slices> busy(devices_, Slices{attribution_.makespan});
    for (const BoundSpan& span : attribution_.spans) {
      const std::size_t device = span.device.value();
      if (device >= devices_ || span.bound != DeviceBound::device_bound) continue;
      busy[device].cover(span.begin, span.end);
    }
    for (std::size_t device = 0; device < devices_; ++device) {
      row(svg, hosts_ + device, names_.devices[device], busy[device], okabe_ito::blue);
    }
  }

  void draw_shares(Svg& svg, double top) const {
    for (const double share : {0.0, 0.5, 1.0}) {
      const double y = top + shares_height * (1 - share);
      svg.text({left - 8, y + 4}, readable_share(share), {.size = 9.5, .anchor = "end"});
    }
    const auto devices = static_cast<double>(attribution_.devices);
    for (const BoundBin& bin : attribution_.bins) {
      const double whole = to_us(bin.end - bin.begin) * devices;
      if (whole <= 0) continue;
      double below = 0;
      for (std::size_t i = 0; i < device_bound_count; ++i) {
        const double share = to_us(bin.devices[i]) / whole;
        if (share <= 0) continue;
        below += share;
        svg.rect(x(bin.begin),
                 top + shares_height * (1 - below),
                 x(bin.end) - x(bin.begin) + 0.2,
                 shares_height * share,
                 {.fill = bound_styles[i].color});
      }
    }
    svg.rect(left, top, inner(), shares_height, {.stroke = "#888888"});
    svg.text({22, top + shares_height / 2},
             "devices",
             {.size = 11, .anchor = "middle", .upright = true});
  }

  void draw_axis(Svg& svg, double top) const {
    const TimeUnit unit = time_unit_for(attribution_.makespan);
    const double end = static_cast<double>(attribution_.makespan.count()) / unit.picoseconds;
    const Ticks ticks = linear_ticks(0, end, static_cast<int>(inner() / 110));
    for (const double value : ticks.values) {
      const double at = left + (end > 0 ? inner() * value / end : 0);
      svg.line({at, top}, {at, top + 5}, {.stroke = "#444444"});
      svg.text({at, top + 18},
               fmt::format("{:.{}f} {}", value, ticks.decimals, unit.name),
               {.size = 10, .anchor = "middle"});
    }
  }

  const Attribution& attribution_;
  const Trace& trace_;
  const BoundChartNames& names_;
  std::size_t hosts_;
  std::size_t devices_;
  Legend legend_;
};

}  // namespace

std::string bound_chart_svg(const Attribution& attribution,
                            const Trace& trace,
                            const BoundChartNames& names) {
  return BoundChart{attribution, trace, names}.draw();
}

}  // namespace schedlab
