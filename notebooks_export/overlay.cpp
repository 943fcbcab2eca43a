// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/overlay.hpp"

#include "notebooks_export/axis.hpp"
#include "notebooks_export/legend.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/svg.hpp"
#include "notebooks_export/timeline_curve.hpp"
#include "notebooks_export/timeline_hosts.hpp"
#include "notebooks_export/timeline_rows.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace schedlab {

namespace {

constexpr std::string_view grey = "#666666";
constexpr std::array<std::string_view, 2> backgrounds{"#f3f3f3", "#e6ebf0"};
constexpr std::array<std::string_view, 2> end_colors{okabe_ito::blue, okabe_ito::vermillion};
constexpr double overlay_legend_top = 72;
constexpr std::size_t most_operations = 14;
constexpr std::size_t most_host_rows = 4;
constexpr std::size_t most_single_bars = 2500;
constexpr std::size_t most_lag_points = 3000;
constexpr double lag_height = 96;

class Overlay {
 public:
  Overlay(const TraceDocument& simulated,
          const TraceDocument& measured,
          const OverlayOptions& options)
      : runs_{&simulated, &measured}, options_(options) {
    expect_labels();
    collect_operations();
    collect_streams();
    lay_out();
  }

  [[nodiscard]] std::string draw() {
    Svg svg{options_.width, height_, runs_[0]->title};
    draw_heading(svg);
    legend_.draw(svg, overlay_legend_top);
    draw_time_grid(svg, scale_, rows_top_ - 4, axis_top_);
    draw_hosts(svg);
    draw_streams(svg);
    draw_lag(svg);
    draw_ends(svg);
    draw_time_axis(svg, scale_, axis_top_);
    return std::move(svg).finish();
  }

 private:
  void expect_labels() const {
    for (const TraceDocument* run : runs_) {
      for (const TaskSpan& span : run->trace.tasks) {
        SCHEDLAB_EXPECTS(run->tasks.contains(span.task), fmt::format("task {}", span.task.value()));
        SCHEDLAB_EXPECTS(run->streams.contains(span.stream), run->tasks[span.task].name);
      }
      for (const HostSpan& call : run->trace.hosts) {
        SCHEDLAB_EXPECTS(run->hosts.contains(call.host), fmt::format("call {}", call.call));
      }
    }
  }

  void collect_operations() {
    for (const TraceDocument* run : runs_) {
      for (const TaskSpan& span : run->trace.tasks) {
        const std::string& name = run->tasks[span.task].operation;
        const auto group = static_cast<std::uint32_t>(operations_.size());
        if (group_of_.try_emplace(name, group).second) operations_.push_back(name);
      }
    }
    const auto colors = operation_colors(operations_);
    for (const std::string& name : operations_) style_.colors.push_back(colors.at(name));
    style_.tooltips =
        runs_[0]->trace.tasks.size() + runs_[1]->trace.tasks.size() <= most_single_bars;
  }

  void collect_streams() {
    IdVector<StreamId, Duration> busy(std::max(runs_[0]->streams.size(), runs_[1]->streams.size()),
                                      Duration{-1});
    for (const TraceDocument* run : runs_) {
      for (const TaskSpan& span : run->trace.tasks) {
        busy[span.stream] = std::max(busy[span.stream], Duration{0}) + span.duration();
      }
    }
    for (const StreamId stream : busy.ids()) {
      if (busy[stream] >= Duration{0}) streams_.push_back(stream);
    }
    used_streams_ = streams_.size();
    if (streams_.size() <= options_.most_streams) return;
    std::stable_sort(streams_.begin(), streams_.end(), [&](StreamId a, StreamId b) {
      return busy[a] > busy[b];
    });
    streams_.resize(options_.most_streams);
    std::sort(streams_.begin(), streams_.end());
  }

  [[nodiscard]] std::string stream_label(StreamId stream) const {
    const TraceDocument& run = runs_[0]->streams.contains(stream) ? *runs_[0] : *runs_[1];
    const StreamSpec& spec = run.streams[stream];
    std::string label = spec.name.empty() ? fmt::format("stream {}", stream.value()) : spec.name;
    if (run.devices.size() > 1 && run.devices.contains(spec.device)) {
      label = fmt::format("{} {}", run.devices[spec.device], label);
    }
    return label;
  }

  void lay_out() {
    const auto rows = static_cast<double>(std::max<std::size_t>(streams_.size(), 1));
    row_height_ = std::clamp(std::floor(300.0 / rows), 4.0, 22.0);
    pair_gap_ = row_height_ > 10 ? 8 : 4;
    double label = text_width("later start", 11);
    for (const StreamId stream : streams_) {
      label = std::max(label, text_width(stream_label(stream), 11));
    }
    scale_.left = std::ceil(std::min(label, 170.0)) + 94;
    scale_.width = std::floor(options_.width - scale_.left - 28);
    const Duration longest = std::max(runs_[0]->trace.makespan(), runs_[1]->trace.makespan());
    // Room for the names of the two ends.
    scale_.end_ps = std::max<std::int64_t>(longest.count() + longest.count() / 50, 1);

    hosts_ = 0;
    if (options_.host_track && (!runs_[0]->trace.hosts.empty() || !runs_[1]->trace.hosts.empty())) {
      hosts_ = std::min(std::max(runs_[0]->hosts.size(), runs_[1]->hosts.size()), most_host_rows);
    }
    legend_ = Legend{scale_.left, options_.width - 20};
    collect_legend();
    rows_top_ = overlay_legend_top + legend_.height() + 26;
    streams_top_ = rows_top_ + static_cast<double>(hosts_) * (2 * host_height_ + 1 + 8);
    lag_top_ = streams_top_ + rows * (2 * row_height_ + 1 + pair_gap_) + 10;
    axis_top_ = lag_top_ + lag_height;
    height_ = axis_top_ + 46;
  }

  void collect_legend() {
    for (std::size_t i = 0; i < std::min(operations_.size(), most_operations); ++i) {
      legend_.add({fitted(operations_[i], 220, 11), style_.colors[i]});
    }
    if (operations_.size() > most_operations) {
      legend_.add({fmt::format("and {} more", operations_.size() - most_operations), "#ffffff"});
    }
    if (hosts_ == 0) return;
    std::array<bool, host_groups.size()> used{};
    for (const TraceDocument* run : runs_) {
      const auto of_run = host_groups_used(run->trace);
      for (std::size_t i = 0; i < used.size(); ++i) used.at(i) = used.at(i) || of_run[i];
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used.at(i)) continue;
      legend_.add(
          {fmt::format("host: {}", host_groups[i].name), std::string{host_groups[i].color}});
    }
  }

  void draw_heading(Svg& svg) const {
    const double room = options_.width - 44;
    svg.text({22, 30}, fitted(runs_[0]->title, room / 1.12, 18), {.size = 18, .bold = true});
    const double predicted = to_us(runs_[0]->trace.makespan());
    const double measured = to_us(runs_[1]->trace.makespan());
    std::string facts = fmt::format("{} {}, {} {}",
                                    runs_[0]->origin,
                                    readable(runs_[0]->trace.makespan()),
                                    runs_[1]->origin,
                                    readable(runs_[1]->trace.makespan()));
    if (measured > 0) facts += fmt::format(" ({:+.1f} %)", 100 * (predicted / measured - 1));
    facts += fmt::format("  \xC2\xB7  {} task{} on {} stream{}",
                         runs_[0]->trace.tasks.size(),
                         runs_[0]->trace.tasks.size() == 1 ? "" : "s",
                         used_streams_,
                         used_streams_ == 1 ? "" : "s");
    if (streams_.size() < used_streams_) {
      facts += fmt::format(", the busiest {} shown", streams_.size());
    }
    svg.text({22, 50}, fitted(facts, room, 12), {.size = 12, .fill = grey});
  }

  /// Label of a pair of tracks, and which is which.
  void pair_labels(Svg& svg, double top, double height, std::string_view label) const {
    const double size = std::min(11.0, 2 * height);
    svg.text({scale_.left - 76, top + height + 0.36 * size},
             fitted(label, 170, size),
             {.size = size, .anchor = "end"});
    if (height < 8) return;
    const std::array<std::string_view, 2> words{"simulated", "measured"};
    for (std::size_t i = 0; i < words.size(); ++i) {
      const double row = top + static_cast<double>(i) * (height + 1);
      svg.text({scale_.left - 10, row + height / 2 + 3.6},
               words.at(i),
               {.size = 10, .anchor = "end", .fill = end_colors.at(i)});
    }
  }

  void draw_hosts(Svg& svg) const {
    RowStyle style;
    for (const HostGroupStyle& group : host_groups) style.colors.emplace_back(group.color);
    style.tooltips = false;
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      const double top = rows_top_ + host * (2 * host_height_ + 1 + 8);
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        std::vector<Bar> bars;
        for (const HostSpan& call : runs_.at(run)->trace.hosts) {
          if (call.host != HostId{host}) continue;
          bars.push_back({.started = call.started,
                          .ended = call.ended,
                          .group = static_cast<std::uint32_t>(host_group(call)),
                          .outlined = false,
                          .label = {},
                          .family = {}});
        }
        const double row = top + static_cast<double>(run) * (host_height_ + 1);
        svg.rect(scale_.left, row, scale_.width, host_height_, {.fill = backgrounds.at(run)});
        draw_row(svg, scale_, row, host_height_, bars, style);
      }
      const TraceDocument& named = runs_[0]->hosts.contains(HostId{host}) ? *runs_[0] : *runs_[1];
      pair_labels(svg, top, host_height_, named.hosts[HostId{host}]);
    }
  }

  void draw_streams(Svg& svg) const {
    std::array<std::vector<std::vector<Bar>>, 2> bars;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      bars.at(run).resize(std::max(runs_[0]->streams.size(), runs_[1]->streams.size()));
      std::vector<const TaskSpan*> order;
      for (const TaskSpan& span : runs_.at(run)->trace.tasks) order.push_back(&span);
      std::stable_sort(order.begin(), order.end(), [](const TaskSpan* a, const TaskSpan* b) {
        return a->started < b->started;
      });
      for (const TaskSpan* span : order) {
        const TaskLabel& label = runs_.at(run)->tasks[span->task];
        bars.at(run)[span->stream.value()].push_back({.started = span->started,
                                                      .ended = span->ended,
                                                      .group = group_of_.at(label.operation),
                                                      .outlined = false,
                                                      .label = label.name,
                                                      .family = label.operation});
      }
    }
    double top = streams_top_;
    for (const StreamId stream : streams_) {
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        const double row = top + static_cast<double>(run) * (row_height_ + 1);
        svg.rect(scale_.left, row, scale_.width, row_height_, {.fill = backgrounds.at(run)});
        draw_row(svg, scale_, row, row_height_, bars.at(run)[stream.value()], style_);
      }
      pair_labels(svg, top, row_height_, stream_label(stream));
      top += 2 * row_height_ + 1 + pair_gap_;
    }
  }

  /// How much later than simulated each task started, over its simulated start.
  void draw_lag(Svg& svg) const {
    IdVector<TaskId, const TaskSpan*> measured(
        std::max(runs_[0]->tasks.size(), runs_[1]->tasks.size()), nullptr);
    for (const TaskSpan& span : runs_[1]->trace.tasks) measured[span.task] = &span;
    std::vector<std::pair<const TaskSpan*, Duration>> lags;
    Duration low{0};
    Duration high{0};
    for (const TaskSpan& span : runs_[0]->trace.tasks) {
      if (measured[span.task] == nullptr) continue;
      const Duration lag = measured[span.task]->started - span.started;
      low = std::min(low, lag);
      high = std::max(high, lag);
      lags.emplace_back(&span, lag);
    }
    svg.rect(scale_.left, lag_top_, scale_.width, lag_height, {.fill = backgrounds[0]});
    svg.text({scale_.left - 76, lag_top_ + lag_height / 2 + 4},
             "later start",
             {.size = 11, .anchor = "end"});
    const Duration range = std::max(high - low, Duration{1});
    const double room = lag_height - 16;
    const auto y = [&](Duration lag) {
      return lag_top_ + 8 +
             room * static_cast<double>((high - lag).count()) / static_cast<double>(range.count());
    };
    svg.line({scale_.left, y(Duration{0})},
             {scale_.left + scale_.width, y(Duration{0})},
             {.stroke = "#888888", .width = 0.8});
    const auto label = [&](Duration lag) {
      const std::string text = lag < Duration{0} ? "-" + readable(-lag) : readable(lag);
      svg.text({scale_.left - 10, y(lag) + 4}, text, {.size = 10, .anchor = "end", .fill = grey});
    };
    label(Duration{0});
    const Duration apart = range / 6;  // else labels touch
    if (high > apart) label(high);
    if (-low > apart) label(low);
    const std::size_t every = lags.size() / most_lag_points + 1;
    for (std::size_t i = 0; i < lags.size(); i += every) {
      const auto& [span, lag] = lags[i];
      svg.circle({scale_.x(span->started), y(lag)},
                 1.6,
                 style_.colors[group_of_.at(runs_[0]->tasks[span->task].operation)]);
    }
  }

  void draw_ends(Svg& svg) const {
    // The label of the earlier end stands left of its line, that of the later one right or left.
    const std::array<std::string_view, 2> words{"simulated", "measured"};
    const std::size_t earlier = runs_[0]->trace.ended <= runs_[1]->trace.ended ? 0 : 1;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const double x = scale_.x(runs_.at(run)->trace.ended);
      svg.line({x, rows_top_ - 6},
               {x, axis_top_},
               {.stroke = end_colors.at(run), .width = 1.4, .dash = "5 3"});
      const double line = run == earlier ? 20 : 9;
      svg.text({x, rows_top_ - line},
               fmt::format("{} end", words.at(run)),
               {.size = 10, .anchor = "end", .fill = end_colors.at(run)});
    }
  }

  std::array<const TraceDocument*, 2> runs_;  // simulated, measured
  const OverlayOptions& options_;
  std::map<std::string, std::uint32_t, std::less<>> group_of_;
  std::vector<std::string> operations_;  // by group
  RowStyle style_;
  std::vector<StreamId> streams_;  // drawn
  std::size_t used_streams_ = 0;
  std::size_t hosts_ = 0;  // drawn
  Legend legend_{0, 0};
  TimeScale scale_;
  double host_height_ = 11;
  double row_height_ = 22;
  double pair_gap_ = 8;
  double rows_top_ = 0;
  double streams_top_ = 0;
  double lag_top_ = 0;
  double axis_top_ = 0;
  double height_ = 0;
};

}  // namespace

std::string overlay_svg(const TraceDocument& simulated,
                        const TraceDocument& measured,
                        const OverlayOptions& options) {
  return Overlay{simulated, measured, options}.draw();
}

}  // namespace schedlab
