// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_tracks.hpp"

#include "notebooks_export/timeline_curve.hpp"
#include "sim/base/error.hpp"
#include "sim/trace/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace schedlab {

namespace {

constexpr std::size_t max_hosts = 32;
constexpr std::size_t max_tooltips = 2500;  // elements of their own cost 100 bytes each
constexpr double max_label_width = 190;
constexpr double run_label_width = 70;  // where two runs are compared
constexpr std::array<std::string_view, 2> track_backgrounds{"#f3f3f3", "#e6ebf0"};

/// Kinds of host calls as a host track shows them.
enum class HostGroup : std::uint8_t { launch, event, query, stream, other, blocked };

struct HostGroupStyle {
  std::string_view name;
  std::string_view color;  // muted, so that it is not taken for an operation's
};
constexpr std::array<HostGroupStyle, 6> host_groups{{{"launch", "#5B6B82"},
                                                     {"record, wait", "#B7A6D9"},
                                                     {"query", "#7FBFB6"},
                                                     {"create, destroy stream", "#B58863"},
                                                     {"other call", "#C9C9C9"},
                                                     {"blocked, asleep", "#E9E2D0"}}};

/// A call that is blocked for more than half of its time counts as blocked.
HostGroup host_group(const HostSpan& call) {
  if (2 * call.blocked > call.ended - call.started) return HostGroup::blocked;
  switch (call.what.kind()) {
    case HostCallKind::launch:
    case HostCallKind::graph_launch:
      return HostGroup::launch;
    case HostCallKind::record:
    case HostCallKind::wait:
      return HostGroup::event;
    case HostCallKind::query:
      return HostGroup::query;
    case HostCallKind::create_stream:
    case HostCallKind::destroy_stream:
      return HostGroup::stream;
    default:
      return HostGroup::other;
  }
}

/// "5" of "forward[stage 2, microbatch 5]".
std::string_view microbatch_of(std::string_view name) {
  constexpr std::string_view word = ", microbatch ";
  const std::size_t at = name.rfind(word);
  if (at == std::string_view::npos || !name.ends_with(']')) return {};
  name.remove_suffix(1);
  return name.substr(at + word.size());
}

std::vector<const TraceDocument*> labelled(std::vector<const TraceDocument*> runs) {
  for (const TraceDocument* run : runs) expect_labels(*run);
  return runs;
}

RowStyle host_style(bool tooltips) {
  RowStyle style{.colors = {}, .tooltips = tooltips};
  for (const HostGroupStyle& group : host_groups) style.colors.emplace_back(group.color);
  return style;
}

/// The kinds of host calls that take any time.
void add_host_calls(Legend& legend, const std::vector<const TraceDocument*>& runs) {
  std::array<bool, host_groups.size()> used{};
  for (const TraceDocument* run : runs) {
    for (const HostSpan& call : run->trace.hosts) {
      if (call.ended > call.started) used.at(static_cast<std::size_t>(host_group(call))) = true;
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used.at(i)) continue;
    const HostGroupStyle& group = host_groups.at(i);
    legend.add({fmt::format("host: {}", group.name), std::string{group.color}});
  }
}

}  // namespace

void expect_labels(const TraceDocument& run) {
  for (const TaskSpan& span : run.trace.tasks) {
    SCHEDLAB_EXPECTS(run.tasks.contains(span.task), fmt::format("task {}", span.task.value()));
    SCHEDLAB_EXPECTS(run.streams.contains(span.stream), run.tasks[span.task].name);
    SCHEDLAB_EXPECTS(run.devices.contains(span.device), run.tasks[span.task].name);
  }
  for (const HostSpan& call : run.trace.hosts) {
    SCHEDLAB_EXPECTS(run.hosts.contains(call.host), fmt::format("call {}", call.call));
  }
}

std::string stream_label(const TraceDocument& run, StreamId stream) {
  const StreamSpec& spec = run.streams[stream];
  std::string label = track_name(run, stream);
  if (run.devices.size() > 1 && run.devices.contains(spec.device)) {
    label = fmt::format("{} {}", run.devices[spec.device], label);
  }
  return label;
}

TrackRows::TrackRows(std::vector<const TraceDocument*> runs, const TrackOptions& options)
    : frame{.title = runs.front()->title, .subtitle = {}, .width = options.width},
      runs_(labelled(std::move(runs))),
      operations_(runs_, options.other_operations),
      outlined_(options.outlined) {
  choose_streams(options.max_streams);
  lay_out(options);
  operations_.add_to(frame.legend);
  if (hosts_ > 0) add_host_calls(frame.legend, runs_);
}

/// The streams on which tasks ran, in their order; of too many those with most work.
void TrackRows::choose_streams(std::size_t most) {
  std::size_t count = 0;
  for (const TraceDocument* run : runs_) count = std::max(count, run->streams.size());
  constexpr Duration unused{-1};
  IdVector<StreamId, Duration> busy(count, unused);
  for (const TraceDocument* run : runs_) {
    for (const TaskSpan& span : run->trace.tasks) {
      busy[span.stream] = std::max(busy[span.stream], Duration{0}) + span.duration();
    }
  }
  for (const StreamId stream : busy.ids()) {
    if (busy[stream] != unused) streams_.push_back(stream);
  }
  used_streams_ = streams_.size();
  if (streams_.size() <= most) return;
  if (runs_.front()->devices.size() > 1) {
    keep_first_devices(std::max<std::size_t>(most, 1));
    return;
  }
  std::stable_sort(streams_.begin(), streams_.end(), [&busy](StreamId a, StreamId b) {
    return busy[a] > busy[b];
  });
  streams_.resize(most);
  std::sort(streams_.begin(), streams_.end());
}

/// Whole devices as long as they fit, since ranks are mostly alike; at least the first.
void TrackRows::keep_first_devices(std::size_t most) {
  const auto device_of = [this](StreamId stream) {
    return document_of(stream).streams[stream].device;
  };
  std::stable_sort(streams_.begin(), streams_.end(), [&](StreamId a, StreamId b) {
    return device_of(a) < device_of(b);
  });
  std::size_t kept = most;
  while (kept > 0 && device_of(streams_[kept - 1]) == device_of(streams_[kept])) --kept;
  streams_.resize(kept == 0 ? most : kept);
  shown_devices_ = device_of(streams_.back()).value() + 1;
}

void TrackRows::lay_out(const TrackOptions& options) {
  std::size_t calls = 0;
  for (const TraceDocument* run : runs_) {
    hosts_ = std::max(hosts_, run->hosts.size());
    calls += run->trace.hosts.size();
  }
  // Host r belongs to device r where there are as many of both.
  const bool by_device = shown_devices_ > 0 && hosts_ == runs_.front()->devices.size();
  hosts_ = calls == 0 ? 0 : std::min({hosts_, max_hosts, by_device ? shown_devices_ : max_hosts});

  rows_ = std::max<std::size_t>(streams_.size(), 1);
  const auto tracks = static_cast<double>(runs_.size());
  track_height_ = std::clamp(
      std::floor(580.0 / static_cast<double>(rows_) / tracks), 5.0, 26.0 - 4 * (tracks - 1));
  gap_ = tracks * (track_height_ > 12 ? 4 : track_height_ > 7 ? 2 : 1);
  host_height_ = runs_.size() == 1 ? 16 : 11;

  double label = text_width("utilization", 11);
  for (const StreamId stream : streams_) {
    label = std::max(label, text_width(stream_label(document_of(stream), stream), 11));
  }
  scale_.left =
      std::max(options.axis_left,
               std::ceil(std::min(label, max_label_width)) + 24 + run_label_width * (tracks - 1));
  scale_.width = std::floor(options.width - scale_.left - 28);
  Duration end = std::max(options.axis_end, Duration{1});
  for (const TraceDocument* run : runs_) {
    if (!options.clipped) end = std::max(end, run->trace.makespan());
  }
  scale_.begin_ps = options.axis_begin.count();
  scale_.end_ps = end.count();

  // Bars that are merged because they are narrow have no tooltip, however many they are.
  std::size_t wide = 0;
  for (const TraceDocument* run : runs_) {
    for (const TaskSpan& span : run->trace.tasks) {
      if (scale_.x(span.ended) - scale_.x(span.started) >= narrow_bar) ++wide;
    }
  }
  style_ = {.colors = operations_.colors(), .tooltips = wide <= max_tooltips};
}

std::string TrackRows::counts() const {
  std::string text = fmt::format("{} on {}",
                                 counted(runs_.front()->trace.tasks.size(), "task"),
                                 counted(used_streams_, "stream"));
  if (streams_.size() == used_streams_) return text;
  return text + (shown_devices_ > 0 ? fmt::format(", {} devices shown", shown_devices_)
                                    : fmt::format(", the busiest {} shown", streams_.size()));
}

const TraceDocument& TrackRows::document_of(StreamId stream) const {
  return runs_.front()->streams.contains(stream) ? *runs_.front() : *runs_.back();
}

/// From the upper edge of a row's first track to the lower edge of its last one.
double TrackRows::row_span(double track_height) const {
  const auto tracks = static_cast<double>(runs_.size());
  return tracks * track_height + tracks - 1;
}

double TrackRows::top() const {
  return frame.top() + (runs_.size() > 1 ? 22 : 0);  // there the ends of two runs are named
}

double TrackRows::stream_top(std::size_t row) const {
  const double hosts = static_cast<double>(hosts_) * (row_span(host_height_) + 4);
  const double above = hosts_ > 0 ? hosts + 8 : 0;
  return top() + above + static_cast<double>(row) * (row_span(track_height_) + gap_);
}

std::optional<TrackRows::Edges> TrackRows::edges(StreamId stream) const {
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  if (found == streams_.end()) return std::nullopt;
  const double row = stream_top(static_cast<std::size_t>(found - streams_.begin()));
  return Edges{row, row + row_span(track_height_)};
}

double TrackRows::label_right() const {
  return scale_.left - 10 - (runs_.size() > 1 ? run_label_width - 4 : 0);
}

void TrackRows::draw(Svg& svg, double axis_y) const {
  draw_time_axis(svg, scale_, top() - 4, axis_y);
  draw_hosts(svg);
  draw_streams(svg);
}

void TrackRows::draw_hosts(Svg& svg) const {
  std::vector<Tracks> tracks;
  std::size_t calls = 0;
  for (const TraceDocument* run : runs_) {
    Tracks& of_run = tracks.emplace_back(hosts_);
    for (const HostSpan& call : run->trace.hosts) {
      if (call.host.value() >= hosts_ || !scale_.shows(call.started, call.ended)) continue;
      of_run[call.host.value()].push_back({.started = call.started,
                                           .ended = call.ended,
                                           .group = static_cast<std::uint32_t>(host_group(call)),
                                           .outlined = false,
                                           .label = to_string(call.what.kind()),
                                           .family = {}});
      ++calls;
    }
  }
  const RowStyle style = host_style(calls <= max_tooltips);
  double row = top();
  for (std::uint32_t host = 0; host < hosts_; ++host) {
    draw_tracks(svg, row, host_height_, host, tracks, style);
    const bool in_first = runs_.front()->hosts.contains(HostId{host});
    draw_label(
        svg, row, host_height_, (in_first ? runs_.front() : runs_.back())->hosts[HostId{host}]);
    row += row_span(host_height_) + 4;
  }
}

TrackRows::Tracks TrackRows::stream_tracks(const TraceDocument& run) const {
  IdVector<TaskId, std::uint8_t> outlined(run.tasks.size(), 0);
  for (const TaskId task : outlined_) {
    if (outlined.contains(task)) outlined[task] = 1;
  }
  Tracks tracks(std::max(runs_.front()->streams.size(), runs_.back()->streams.size()));
  for (const TaskSpan& span : run.trace.tasks) {
    if (!scale_.shows(span.started, span.ended)) continue;
    const TaskLabel& label = run.tasks[span.task];
    tracks[span.stream.value()].push_back({.started = span.started,
                                           .ended = span.ended,
                                           .group = operations_.group_of(label.operation),
                                           .outlined = outlined[span.task] != 0,
                                           .label = label.name,
                                           .family = label.operation,
                                           .shortest = microbatch_of(label.name)});
  }
  for (std::vector<Bar>& bars : tracks) {
    std::stable_sort(
        bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.started < b.started; });
  }
  return tracks;
}

void TrackRows::draw_streams(Svg& svg) const {
  std::vector<Tracks> tracks;
  for (const TraceDocument* run : runs_) tracks.push_back(stream_tracks(*run));
  const double step = row_span(track_height_) + gap_;
  const auto label_every = static_cast<std::size_t>(std::max(1.0, std::ceil(8.0 / step)));
  for (std::size_t row = 0; row < streams_.size(); ++row) {
    const StreamId stream = streams_[row];
    draw_tracks(svg, stream_top(row), track_height_, stream.value(), tracks, style_);
    if (row % label_every != 0) continue;
    draw_label(svg, stream_top(row), track_height_, stream_label(document_of(stream), stream));
  }
}

void TrackRows::draw_tracks(Svg& svg,
                            double top,
                            double height,
                            std::size_t index,
                            const std::vector<Tracks>& tracks,
                            const RowStyle& style) const {
  for (std::size_t run = 0; run < tracks.size(); ++run) {
    const double track = top + static_cast<double>(run) * (height + 1);
    svg.rect(scale_.left, track, scale_.width, height, {.fill = track_backgrounds.at(run)});
    draw_row(svg, scale_, track, height, tracks[run][index], style);
    if (tracks.size() == 1 || height < 8) continue;
    svg.text({scale_.left - 10, track + height / 2 + 3.6},
             run_names.at(run),
             {.size = 10, .anchor = "end", .fill = run_colors.at(run)});
  }
}

void TrackRows::draw_label(Svg& svg, double top, double height, std::string_view label) const {
  const double span = row_span(height);
  const double size = std::min(11.0, std::max(span, 7.0) + 1.5);
  svg.text({label_right(), top + span / 2 + 0.36 * size},
           fitted(label, max_label_width, size),
           {.size = size, .anchor = "end"});
}

}  // namespace schedlab
