// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/operation_legend.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/svg.hpp"
#include "notebooks_export/timeline_curve.hpp"
#include "notebooks_export/timeline_hosts.hpp"
#include "notebooks_export/timeline_rows.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace schedlab {

namespace {

constexpr std::string_view muted = "#666666";
constexpr std::string_view row_background = "#f3f3f3";
constexpr double legend_top = 72;
constexpr std::size_t most_hosts = 32;
constexpr std::size_t most_tooltips = 2500;  // elements of their own cost 100 bytes each

/// "5" of "forward[stage 2, microbatch 5]".
std::string_view microbatch_of(std::string_view name) {
  constexpr std::string_view word = ", microbatch ";
  const std::size_t at = name.rfind(word);
  if (at == std::string_view::npos || !name.ends_with(']')) return {};
  name.remove_suffix(1);
  return name.substr(at + word.size());
}

class Timeline {
 public:
  Timeline(const TraceDocument& document, const TimelineOptions& options)
      : document_(document), options_(options), outlined_(document.tasks.size(), 0) {
    expect_labels();
    collect_operations();
    collect_streams();
    collect_outlined();
    lay_out();
  }

  [[nodiscard]] double height() const { return height_; }

  [[nodiscard]] std::string draw() {
    Svg svg{options_.width, height_, document_.title};
    draw_heading(svg);
    legend_.draw(svg, legend_top);
    draw_time_grid(svg, scale_, tracks_top_ - 4, axis_top_);
    draw_hosts(svg);
    draw_streams(svg);
    draw_arrows(svg);
    const TimeScale run = run_scale();
    draw_utilization(svg, run, curve_top_, curve_height_, document_, options_.mean_utilization);
    if (const DeviceMemory* memory = fullest()) {
      draw_memory(svg, run, memory_top_, memory_height_, *memory, document_.trace.ended);
    }
    draw_time_axis(svg, scale_, axis_top_);
    return std::move(svg).finish();
  }

 private:
  void expect_labels() const {
    for (const TaskSpan& span : document_.trace.tasks) {
      SCHEDLAB_EXPECTS(document_.tasks.contains(span.task),
                       fmt::format("task {}", span.task.value()));
      SCHEDLAB_EXPECTS(document_.streams.contains(span.stream), document_.tasks[span.task].name);
      SCHEDLAB_EXPECTS(document_.devices.contains(span.device), document_.tasks[span.task].name);
    }
    for (const HostSpan& call : document_.trace.hosts) {
      SCHEDLAB_EXPECTS(document_.hosts.contains(call.host), fmt::format("call {}", call.call));
    }
  }

  /// Operations in the order in which they first start; longest running ones are named in the
  /// legend.
  void collect_operations() {
    std::vector<std::string> names;
    for (const TaskSpan& span : document_.trace.tasks) {
      const std::string& name = document_.tasks[span.task].operation;
      const auto [entry, added] =
          group_of_.try_emplace(name, static_cast<std::uint32_t>(names.size()));
      if (added) {
        names.push_back(name);
        running_.emplace_back(0);
      }
      running_[entry->second] += span.duration();
    }
    operations_ = std::move(names);
    row_style_.colors = colors_by_time(operations_, running_, options_.other_operations);
  }

  /// Bars that are merged because they are narrow have no tooltip, however many they are.
  [[nodiscard]] bool few_wide_bars() const {
    const auto wide = std::count_if(
        document_.trace.tasks.begin(), document_.trace.tasks.end(), [this](const TaskSpan& span) {
          return scale_.x(span.ended) - scale_.x(span.started) >= narrow_bar;
        });
    return static_cast<std::size_t>(wide) <= most_tooltips;
  }

  /// The streams that ran something, in their order; the busiest if there are too many.
  void collect_streams() {
    IdVector<StreamId, Duration> busy(document_.streams.size(), Duration{0});
    IdVector<StreamId, std::uint8_t> used(document_.streams.size(), 0);
    for (const TaskSpan& span : document_.trace.tasks) {
      busy[span.stream] += span.duration();
      used[span.stream] = 1;
    }
    for (const StreamId stream : busy.ids()) {
      if (used[stream] != 0) streams_.push_back(stream);
    }
    used_streams_ = streams_.size();
    if (streams_.size() > options_.most_streams && document_.devices.size() > 1) {
      keep_first_devices();
    } else if (streams_.size() > options_.most_streams) {
      std::stable_sort(streams_.begin(), streams_.end(), [&busy](StreamId a, StreamId b) {
        return busy[a] > busy[b];
      });
      streams_.resize(options_.most_streams);
      std::sort(streams_.begin(), streams_.end());
    }
    bars_.resize(document_.streams.size());
    std::vector<std::uint32_t> order(document_.trace.tasks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return document_.trace.tasks[a].started < document_.trace.tasks[b].started;
    });
    start_order_ = std::move(order);
  }

  /// Whole devices as long as there is room, since ranks are mostly alike; at least the first.
  void keep_first_devices() {
    const auto device_of = [this](StreamId stream) { return document_.streams[stream].device; };
    std::stable_sort(streams_.begin(), streams_.end(), [&](StreamId a, StreamId b) {
      return device_of(a) < device_of(b);
    });
    std::size_t kept = std::max<std::size_t>(options_.most_streams, 1);
    while (kept > 0 && device_of(streams_[kept - 1]) == device_of(streams_[kept])) --kept;
    if (kept == 0) kept = options_.most_streams;
    streams_.resize(kept);
    shown_devices_ = device_of(streams_.back()).value() + 1;
  }

  /// Host r belongs to device r where there are as many of both.
  [[nodiscard]] std::size_t shown_hosts() const {
    const std::size_t most =
        document_.hosts.size() == document_.devices.size() && shown_devices_ > 0 ? shown_devices_
                                                                                 : most_hosts;
    return std::min({document_.hosts.size(), most, most_hosts});
  }

  void collect_outlined() {
    for (const TaskId task : options_.critical_path) {
      if (outlined_.contains(task)) outlined_[task] = 1;
    }
  }

  [[nodiscard]] std::string stream_label(StreamId stream) const {
    const StreamSpec& spec = document_.streams[stream];
    std::string label = spec.name.empty() ? fmt::format("stream {}", stream.value()) : spec.name;
    if (document_.devices.size() > 1) {
      label = fmt::format("{} {}", document_.devices[spec.device], label);
    }
    return label;
  }

  void lay_out() {
    const std::size_t rows = std::max<std::size_t>(streams_.size(), 1);
    row_height_ = std::clamp(std::floor(560.0 / static_cast<double>(rows)), 5.0, 26.0);
    row_gap_ = row_height_ > 12 ? 4 : row_height_ > 7 ? 2 : 1;
    double label_width = text_width("utilization", 11);
    for (const StreamId stream : streams_) {
      label_width = std::max(label_width, text_width(stream_label(stream), 11));
    }
    scale_.left = std::ceil(std::min(label_width, 190.0)) + 24;
    scale_.width = std::floor(options_.width - scale_.left - 28);
    const Duration end = std::max(document_.trace.makespan(), options_.axis_end);
    scale_.end_ps = std::max<std::int64_t>(end.count(), 1);

    row_style_.tooltips = few_wide_bars();
    hosts_shown_ = options_.host_track && !document_.trace.hosts.empty();
    legend_ = Legend{scale_.left, options_.width - 20};
    collect_legend();
    tracks_top_ = legend_top + legend_.height() + 10;
    const double host_rows = hosts_shown_ ? static_cast<double>(shown_hosts()) : 0.0;
    streams_top_ = tracks_top_ + host_rows * (host_height_ + 4) + (hosts_shown_ ? 8 : 0);
    curve_top_ = streams_top_ + static_cast<double>(rows) * (row_height_ + row_gap_) + 14;
    memory_top_ = curve_top_ + curve_height_ + 10;
    axis_top_ = fullest() == nullptr ? curve_top_ + curve_height_ : memory_top_ + memory_height_;
    height_ = axis_top_ + 46;
  }

  /// The part of the axis that the run takes.
  [[nodiscard]] TimeScale run_scale() const {
    TimeScale run = scale_;
    run.end_ps = std::max<std::int64_t>(document_.trace.makespan().count(), 1);
    const double share = static_cast<double>(run.end_ps) / static_cast<double>(scale_.end_ps);
    run.width = std::max(1.0, std::floor(scale_.width * share));
    return run;
  }

  [[nodiscard]] const DeviceMemory* fullest() const {
    if (options_.memory == nullptr || options_.memory->empty()) return nullptr;
    const auto found = std::max_element(
        options_.memory->begin(), options_.memory->end(), [](const auto& a, const auto& b) {
          return a.peak < b.peak;
        });
    return found->peak.count() > 0 ? &*found : nullptr;
  }

  void collect_legend() {
    std::vector<std::uint32_t> order(operations_.size());
    std::iota(order.begin(), order.end(), 0U);
    if (order.size() > most_legend_entries) {
      std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        return running_[a] > running_[b];
      });
    }
    std::vector<std::string> shown;
    for (const std::uint32_t i : order) shown.push_back(operations_[i]);
    if (order.size() > most_legend_entries) shown.resize(most_legend_entries);
    const std::vector<std::string> labels = fitted_apart(shown, 220, 11);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      legend_.add({labels[i], row_style_.colors[order[i]]});
    }
    if (order.size() > most_legend_entries) {
      legend_.add({fmt::format("and {} more", order.size() - most_legend_entries),
                   row_style_.colors[order[most_legend_entries]]});
    }
    if (std::find(outlined_.begin(), outlined_.end(), 1) != outlined_.end()) {
      legend_.add({"critical path", {}, LegendMark::framed});
    }
    if (arrows_shown()) legend_.add({"event", {}, LegendMark::arrow});
    if (!hosts_shown_) return;
    const auto used = host_groups_used(document_.trace);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      legend_.add(
          {fmt::format("host: {}", host_groups[i].name), std::string{host_groups[i].color}});
    }
  }

  [[nodiscard]] bool arrows_shown() const {
    return !document_.trace.flows.empty() && document_.trace.flows.size() <= options_.most_arrows;
  }

  void draw_heading(Svg& svg) const {
    const double room = options_.width - 44;
    svg.text({22, 30}, fitted(document_.title, room / 1.12, 18), {.size = 18, .bold = true});
    std::string facts;
    const auto add = [&facts](std::string_view text) {
      if (text.empty()) return;
      facts.append(facts.empty() ? "" : "  \xC2\xB7  ").append(text);
    };
    add(document_.policy);
    if (document_.machine != document_.policy) add(document_.machine);  // not "as_recorded" twice
    add(fmt::format("makespan {}", readable(document_.trace.makespan())));
    add(fmt::format("{} task{} on {} stream{}",
                    document_.trace.tasks.size(),
                    document_.trace.tasks.size() == 1 ? "" : "s",
                    used_streams_,
                    used_streams_ == 1 ? "" : "s"));
    if (streams_.size() < used_streams_) {
      add(shown_devices_ > 0 ? fmt::format("{} devices shown", shown_devices_)
                             : fmt::format("the busiest {} streams shown", streams_.size()));
    }
    add(document_.origin);
    svg.text({22, 50}, fitted(facts, room, 12), {.size = 12, .fill = muted});
  }

  [[nodiscard]] static LineStyle arrow_style() {
    return {.stroke = "#444444", .width = 0.8, .opacity = 0.75};
  }

  void row_label(Svg& svg, double top, double height, std::string_view label) const {
    const double size = std::min(11.0, height + 1.5);
    svg.text({scale_.left - 10, top + height / 2 + 0.36 * size},
             fitted(label, 190, size),
             {.size = size, .anchor = "end"});
  }

  void draw_hosts(Svg& svg) const {
    if (!hosts_shown_) return;
    RowStyle style;
    for (const HostGroupStyle& group : host_groups) style.colors.emplace_back(group.color);
    style.tooltips = document_.trace.hosts.size() <= most_tooltips;
    std::vector<std::vector<Bar>> bars(shown_hosts());
    for (const HostSpan& call : document_.trace.hosts) {
      if (call.host.value() >= bars.size()) continue;
      bars[call.host.value()].push_back({.started = call.started,
                                         .ended = call.ended,
                                         .group = static_cast<std::uint32_t>(host_group(call)),
                                         .outlined = false,
                                         .label = to_string(call.what.kind()),
                                         .family = {}});
    }
    double top = tracks_top_;
    for (std::uint32_t index = 0; index < bars.size(); ++index) {
      const HostId host{index};
      svg.rect(scale_.left, top, scale_.width, host_height_, {.fill = row_background});
      draw_row(svg, scale_, top, host_height_, bars[host.value()], style);
      row_label(svg, top, host_height_, document_.hosts[host]);
      top += host_height_ + 4;
    }
  }

  [[nodiscard]] double row_top(std::size_t row) const {
    return streams_top_ + static_cast<double>(row) * (row_height_ + row_gap_);
  }

  void draw_streams(Svg& svg) {
    for (const std::uint32_t i : start_order_) {
      const TaskSpan& span = document_.trace.tasks[i];
      const TaskLabel& label = document_.tasks[span.task];
      bars_[span.stream.value()].push_back({.started = span.started,
                                            .ended = span.ended,
                                            .group = group_of_.at(label.operation),
                                            .outlined = outlined_[span.task] != 0,
                                            .label = label.name,
                                            .family = label.operation,
                                            .shortest = microbatch_of(label.name)});
    }
    const auto label_every =
        static_cast<std::size_t>(std::max(1.0, std::ceil(8.0 / (row_height_ + row_gap_))));
    for (std::size_t row = 0; row < streams_.size(); ++row) {
      const double top = row_top(row);
      svg.rect(scale_.left, top, scale_.width, row_height_, {.fill = row_background});
      draw_row(svg, scale_, top, row_height_, bars_[streams_[row].value()], row_style_);
      if (row % label_every == 0) {
        row_label(svg, top, std::max(row_height_, 7.0), stream_label(streams_[row]));
      }
    }
  }

  void draw_arrows(Svg& svg) const {
    if (!arrows_shown()) return;
    IdVector<StreamId, std::size_t> row_of(document_.streams.size(), streams_.size());
    for (std::size_t row = 0; row < streams_.size(); ++row) row_of[streams_[row]] = row;
    for (const EventFlow& flow : document_.trace.flows) {
      if (!row_of.contains(flow.from) || !row_of.contains(flow.to) || flow.from == flow.to)
        continue;
      const std::size_t from = row_of[flow.from];
      const std::size_t to = row_of[flow.to];
      if (from == streams_.size() || to == streams_.size()) continue;
      const bool down = to > from;
      svg.arrow({scale_.x(flow.recorded), row_top(from) + (down ? row_height_ : 0)},
                {scale_.x(flow.released), row_top(to) + (down ? 0 : row_height_)},
                arrow_style());
    }
  }

  const TraceDocument& document_;
  const TimelineOptions& options_;
  IdVector<TaskId, std::uint8_t> outlined_;
  bool by_path_ = false;

  std::map<std::string_view, std::uint32_t> group_of_;
  std::vector<std::string> operations_;  // by group
  std::vector<Duration> running_;        // by group
  RowStyle row_style_;
  std::vector<StreamId> streams_;  // drawn
  std::size_t used_streams_ = 0;
  std::size_t shown_devices_ = 0;  // 0: all
  std::vector<std::uint32_t> start_order_;
  std::vector<std::vector<Bar>> bars_;  // by stream
  Legend legend_{0, 0};

  TimeScale scale_;
  bool hosts_shown_ = false;
  double host_height_ = 16;
  double row_height_ = 26;
  double row_gap_ = 4;
  double tracks_top_ = 0;
  double streams_top_ = 0;
  double curve_top_ = 0;
  double curve_height_ = 94;
  double memory_top_ = 0;
  double memory_height_ = 64;
  double axis_top_ = 0;
  double height_ = 0;
};

}  // namespace

TimelinePicture timeline_picture(const TraceDocument& document, const TimelineOptions& options) {
  Timeline timeline{document, options};
  return {.svg = timeline.draw(), .height = timeline.height()};
}

std::string timeline_svg(const TraceDocument& document, const TimelineOptions& options) {
  return timeline_picture(document, options).svg;
}

}  // namespace schedlab
