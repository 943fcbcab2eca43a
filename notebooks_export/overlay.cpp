// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/overlay.hpp"

#include "notebooks_export/timeline_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {

namespace {

constexpr std::size_t max_lag_points = 3000;
constexpr double lag_height = 96;

/// Space on the axis for the names of the two ends.
[[nodiscard]] Duration axis_end(const TraceDocument& simulated, const TraceDocument& measured) {
  const Duration longest = std::max(simulated.trace.makespan(), measured.trace.makespan());
  return longest + longest / 50;
}

[[nodiscard]] std::string facts(const TraceDocument& simulated, const TraceDocument& measured) {
  const Duration predicted = simulated.trace.makespan();
  const Duration real = measured.trace.makespan();
  std::string text = fmt::format(
      "{} {}, {} {}", simulated.origin, readable(predicted), measured.origin, readable(real));
  if (real > Duration{0}) {
    text += fmt::format(" ({:+.1f} %)", 100 * (to_us(predicted) / to_us(real) - 1));
  }
  return text;
}

/// How much later than simulated each task started, over its simulated start.
void draw_lag(Svg& svg,
              const TraceDocument& simulated,
              const TraceDocument& measured,
              const TrackRows& rows,
              double top) {
  IdVector<TaskId, const TaskSpan*> real(std::max(simulated.tasks.size(), measured.tasks.size()),
                                         nullptr);
  for (const TaskSpan& span : measured.trace.tasks) real[span.task] = &span;
  std::vector<std::pair<const TaskSpan*, Duration>> lags;
  Duration low{0};
  Duration high{0};
  for (const TaskSpan& span : simulated.trace.tasks) {
    if (real[span.task] == nullptr) continue;
    const Duration lag = real[span.task]->started - span.started;
    low = std::min(low, lag);
    high = std::max(high, lag);
    lags.emplace_back(&span, lag);
  }
  const TimeScale& x = rows.scale();
  svg.rect(x.left, top, x.width, lag_height, {.fill = "#f3f3f3"});
  svg.text(
      {rows.label_right(), top + lag_height / 2 + 4}, "later start", {.size = 11, .anchor = "end"});
  const Duration range = std::max(high - low, Duration{1});
  const Scale scale = Scale::exact(to_us(low), to_us(low + range), top + lag_height - 8, top + 8);
  const auto y = [&scale](Duration lag) { return scale.at(to_us(lag)); };
  svg.line({x.left, y(Duration{0})},
           {x.left + x.width, y(Duration{0})},
           {.stroke = "#888888", .width = 0.8});
  const auto label = [&](Duration lag) {
    const std::string text = lag < Duration{0} ? "-" + readable(-lag) : readable(lag);
    svg.text({x.left - 10, y(lag) + 4}, text, {.size = 10, .anchor = "end", .fill = muted_text});
  };
  label(Duration{0});
  const Duration apart = range / 6;  // else labels touch
  if (high > apart) label(high);
  if (-low > apart) label(low);
  const OperationGroups& operations = rows.operations();
  for (std::size_t i = 0; i < lags.size(); i += lags.size() / max_lag_points + 1) {
    const auto& [span, lag] = lags[i];
    const std::uint32_t group = operations.group_of(simulated.tasks[span->task].operation);
    svg.circle({x.x(span->started), y(lag)}, 1.6, operations.colors()[group]);
  }
}

/// Where each run ends. The name of the earlier end stands above that of the later one.
void draw_ends(Svg& svg, std::array<Time, 2> ends, const TrackRows& rows, double bottom) {
  const std::size_t earlier = ends[0] <= ends[1] ? 0 : 1;
  for (std::size_t run = 0; run < ends.size(); ++run) {
    const double x = rows.scale().x(ends.at(run));
    svg.line({x, rows.top() - 6},
             {x, bottom},
             {.stroke = run_colors.at(run), .width = 1.4, .dash = "5 3"});
    svg.text({x, rows.top() - (run == earlier ? 20 : 9)},
             fmt::format("{} end", run_names.at(run)),
             {.size = 10, .anchor = "end", .fill = run_colors.at(run)});
  }
}

}  // namespace

std::string overlay_svg(const TraceDocument& simulated, const TraceDocument& measured) {
  TrackRows rows{{&simulated, &measured}, {.axis_end = axis_end(simulated, measured)}};
  rows.frame.subtitle = fmt::format("{}  \xC2\xB7  {}", facts(simulated, measured), rows.counts());
  const double lag_top = rows.bottom() + 10;
  const double axis_y = lag_top + lag_height;
  Svg svg = rows.frame.begin(axis_y + x_axis_height);
  rows.draw(svg, axis_y);
  draw_lag(svg, simulated, measured, rows, lag_top);
  draw_ends(svg, {simulated.trace.ended, measured.trace.ended}, rows, axis_y);
  return std::move(svg).finish();
}

}  // namespace schedlab
