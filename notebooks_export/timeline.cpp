// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline.hpp"

#include "notebooks_export/timeline_curve.hpp"
#include "notebooks_export/timeline_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schedlab {

namespace {

constexpr std::size_t max_arrows = 60;
constexpr double curve_height = 94;
constexpr double memory_height = 68;

class Timeline {
 public:
  Timeline(const TraceDocument& document, const TimelineOptions& options)
      : document_(document),
        options_(options),
        rows_({&document},
              {.width = options.width,
               .max_streams = options.max_streams,
               .axis_begin = options.window ? options.window->from : Duration{0},
               .axis_end = options.window ? options.window->to : options.axis_end,
               .axis_left = options.axis_left,
               .clipped = options.window.has_value(),
               .outlined = options.critical_path,
               .other_operations = options.other_operations}),
        arrows_(!document.trace.flows.empty() && document.trace.flows.size() <= max_arrows) {
    const auto known = [&document](TaskId task) { return document.tasks.contains(task); };
    if (std::any_of(options.critical_path.begin(), options.critical_path.end(), known)) {
      rows_.frame.legend.add({"critical path", {}, LegendMark::framed});
    }
    if (arrows_) rows_.frame.legend.add({"event", {}, LegendMark::arrow});
    rows_.frame.subtitle = facts();
    curve_top_ = rows_.bottom() + 14;
    axis_y_ = curve_top_ + curve_height;
    if (fullest() != nullptr) axis_y_ += 10 + memory_height;
  }

  [[nodiscard]] double height() const { return axis_y_ + x_axis_height; }
  [[nodiscard]] double axis_left() const { return rows_.scale().left; }

  [[nodiscard]] std::string draw() const {
    Svg svg = rows_.frame.begin(height());
    rows_.draw(svg, axis_y_);
    draw_arrows(svg);
    const TimeScale run = run_scale();
    draw_utilization(svg, run, curve_top_, curve_height, document_, options_.mean_utilization);
    if (const DeviceMemory* memory = fullest()) {
      draw_memory(svg, run, axis_y_ - memory_height, memory_height, *memory, document_.trace.ended);
    }
    return std::move(svg).finish();
  }

 private:
  [[nodiscard]] std::string facts() const {
    std::string facts;
    const auto add = [&facts](std::string_view text) {
      if (text.empty()) return;
      facts.append(facts.empty() ? "" : "  \xC2\xB7  ").append(text);
    };
    add(document_.policy);
    if (document_.machine != document_.policy) add(document_.machine);  // not "as_recorded" twice
    add(fmt::format("makespan {}", readable(document_.trace.makespan())));
    if (const auto& window = options_.window) {
      add(fmt::format("{} to {} of it", readable(window->from), readable(window->to)));
    }
    add(rows_.counts());
    add(document_.origin);
    return facts;
  }

  /// The part of the axis that the run takes.
  [[nodiscard]] TimeScale run_scale() const {
    const TimeScale& axis = rows_.scale();
    TimeScale run = axis;
    run.end_ps = std::max<std::int64_t>(document_.trace.makespan().count(), axis.begin_ps + 1);
    run.end_ps = std::min(run.end_ps, axis.end_ps);
    const double share = static_cast<double>(run.end_ps - axis.begin_ps) /
                         static_cast<double>(axis.end_ps - axis.begin_ps);
    run.width = std::max(1.0, std::floor(axis.width * share));
    return run;
  }

  /// The device with the highest peak; nullptr if nothing is held anywhere.
  [[nodiscard]] const DeviceMemory* fullest() const {
    if (options_.memory == nullptr || options_.memory->empty()) return nullptr;
    const auto found = std::max_element(
        options_.memory->begin(), options_.memory->end(), [](const auto& a, const auto& b) {
          return a.peak < b.peak;
        });
    return found->peak.count() > 0 ? &*found : nullptr;
  }

  /// From where an event is recorded to where it releases another stream.
  void draw_arrows(Svg& svg) const {
    if (!arrows_) return;
    for (const EventFlow& flow : document_.trace.flows) {
      const auto from = rows_.edges(flow.from);
      const auto to = rows_.edges(flow.to);
      if (!from || !to || flow.from == flow.to) continue;
      if (!rows_.scale().shows(flow.recorded, flow.recorded)) continue;
      if (!rows_.scale().shows(flow.released, flow.released)) continue;
      const bool down = to->top > from->top;
      svg.arrow({rows_.scale().x(flow.recorded), down ? from->bottom : from->top},
                {rows_.scale().x(flow.released), down ? to->top : to->bottom},
                {.stroke = "#444444", .width = 0.8, .opacity = 0.75});
    }
  }

  const TraceDocument& document_;
  const TimelineOptions& options_;
  TrackRows rows_;
  bool arrows_;
  double curve_top_ = 0;
  double axis_y_ = 0;
};

}  // namespace

TimelinePicture timeline_picture(const TraceDocument& document, const TimelineOptions& options) {
  const Timeline timeline{document, options};
  return {.svg = timeline.draw(), .height = timeline.height(), .axis_left = timeline.axis_left()};
}

std::string timeline_svg(const TraceDocument& document, const TimelineOptions& options) {
  return timeline_picture(document, options).svg;
}

}  // namespace schedlab
