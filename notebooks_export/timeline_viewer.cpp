// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_viewer.hpp"

#include "notebooks_export/html_style.hpp"
#include "notebooks_export/timeline_tracks.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/trace/release_index.hpp"
#include "sim/trace/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

namespace schedlab {
namespace {

constexpr std::size_t max_curve_points = 100'000;

std::int64_t ps_of(Time time) {
  return time.time_since_epoch().count();
}

/// A list of whole numbers as text: 7 bits a byte, the lowest first, the sign in the lowest bit of
/// all, and these bytes in base 64. scripts/timeline_run.js reads it.
class PackedNumbers {
 public:
  void add(std::int64_t number) {
    auto rest =
        (static_cast<std::uint64_t>(number) << 1U) ^ static_cast<std::uint64_t>(number >> 63U);
    for (; rest >= 128; rest >>= 7U) bytes_ += static_cast<char>((rest & 127U) | 128U);
    bytes_ += static_cast<char>(rest);
  }
  /// The difference from the number of the last call.
  void add_step(std::int64_t number) {
    add(number - last_);
    last_ = number;
  }
  /// As a member of a JSON object, with a comma behind it.
  void write(TextBuffer& out, std::string_view name) const {
    out << '"' << name << "\":\"";
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes_.size(); i += 3) {
      std::array<char, 4> four{'=', '=', '=', '='};
      std::uint32_t bits = 0;
      const std::size_t used = std::min<std::size_t>(3, bytes_.size() - i);
      for (std::size_t k = 0; k < used; ++k) {
        bits |= std::uint32_t{static_cast<unsigned char>(bytes_[i + k])} << (16 - 8 * k);
      }
      for (std::size_t k = 0; k <= used; ++k) four.at(k) = digits[(bits >> (18 - 6 * k)) & 63U];
      out << std::string_view{four.data(), four.size()};
    }
    out << "\",";
  }

 private:
  std::string bytes_;
  std::int64_t last_ = 0;
};

/// What the trace alone tells of who let each task start.
std::vector<TaskRelease> releases_of(const TraceDocument& document) {
  TaskGraphBuilder builder;  // without edges
  const OperationId any = builder.add_operation({.name = "task", .kind = TaskKind::fixed});
  for (std::size_t i = 0; i < document.tasks.size(); ++i) builder.add_task(any);
  const TaskGraph graph = std::move(builder).build();
  const Trace& trace = document.trace;
  const ReleaseIndex index{trace, graph, document.devices.size()};
  std::vector<TaskRelease> releases(trace.tasks.size());
  for (std::uint32_t i = 0; i < releases.size(); ++i) {
    const TaskSpan& span = trace.tasks[i];
    TaskRelease& release = releases[i];
    Time at{};
    index.for_each_need(i, [&](std::uint32_t by) {
      if (release.by != TaskRelease::none && trace.tasks[by].ended <= at) return;
      release = {by, PathCause::dependency};
      at = trace.tasks[by].ended;
    });
    const std::uint32_t before = index.previous(i);
    if (before != ReleaseIndex::none && trace.tasks[before].ended <= span.started &&
        (release.by == TaskRelease::none || trace.tasks[before].ended > at)) {
      release = {before, PathCause::stream_order};
      at = trace.tasks[before].ended;
    }
    if (span.submitted > at) release = {TaskRelease::none, PathCause::host};
  }
  return releases;
}

/// A run as JSON for the script; tasks by stream, then by start.
class ViewerRun {
 public:
  ViewerRun(const ViewedRun& run, const OperationGroups& operations)
      : run_(run),
        document_(*run.document),
        trace_(document_.trace),
        operations_(operations),
        order_(trace_.tasks.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const TaskSpan& left = trace_.tasks[a];
      const TaskSpan& right = trace_.tasks[b];
      if (left.stream != right.stream) return left.stream < right.stream;
      return left.started < right.started;
    });
  }

  void write(TextBuffer& out) const {
    out << "{\"title\":";
    out.json_string(document_.title) << ",\"facts\":";
    out.json_string(facts()) << ",\"makespan\":" << trace_.makespan().count() << ',';
    write_tasks(out);
    write_releases(out);
    write_critical_path(out);
    write_rows(out);
    write_hosts(out);
    write_curves(out);
    out << '}';
  }

 private:
  [[nodiscard]] std::string facts() const {
    std::string text = fmt::format("{}, {} tasks", readable(trace_.makespan()), order_.size());
    for (const std::string* fact : {&document_.policy, &document_.machine, &document_.origin}) {
      if (!fact->empty()) text += ", " + *fact;
    }
    return text;
  }

  void write_tasks(TextBuffer& out) const {
    PackedNumbers start;
    PackedNumbers duration;
    PackedNumbers wait;
    PackedNumbers operation;
    PackedNumbers share;
    TextBuffer names;  // of one JSON string, an escaped line end behind each
    TextBuffer quoted;
    for (const std::uint32_t i : order_) {
      const TaskSpan& span = trace_.tasks[i];
      const TaskLabel& label = document_.tasks[span.task];
      start.add_step(ps_of(span.started));
      duration.add(span.duration().count());
      wait.add((span.started - span.submitted).count());
      operation.add_step(operations_.group_of(label.operation));
      share.add(std::llround(1e4 * label.share));
      std::string name = label.name;
      std::replace(name.begin(), name.end(), '\n', ' ');
      quoted.clear();
      quoted.json_string(name);
      names << quoted.text().substr(1, quoted.size() - 2) << "\\n";
    }
    out << "\"names\":\"" << names.text() << "\",";
    start.write(out, "start");
    duration.write(out, "duration");
    wait.write(out, "wait");
    operation.write(out, "operation");
    share.write(out, "share");
  }

  void write_releases(TextBuffer& out) const {
    const std::vector<TaskRelease> found =
        run_.releases.empty() ? releases_of(document_) : run_.releases;
    std::vector<std::int64_t> place(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) place[order_[i]] = static_cast<std::int64_t>(i);
    PackedNumbers by;
    PackedNumbers cause;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const TaskRelease& release = found.at(order_[i]);
      const bool known = release.by != TaskRelease::none && release.by != order_[i];
      by.add(known ? static_cast<std::int64_t>(i) - place.at(release.by) : 0);
      cause.add(static_cast<std::int64_t>(release.cause));
    }
    by.write(out, "by");
    cause.write(out, "cause");
  }

  void write_critical_path(TextBuffer& out) const {
    const std::set<TaskId> path(run_.critical_path.begin(), run_.critical_path.end());
    PackedNumbers critical;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (path.contains(trace_.tasks[order_[i]].task)) {
        critical.add_step(static_cast<std::int64_t>(i));
      }
    }
    critical.write(out, "critical");
  }

  void write_rows(TextBuffer& out) const {
    out << "\"rows\":[";
    for (std::size_t first = 0; first < order_.size();) {
      const StreamId stream = trace_.tasks[order_[first]].stream;
      std::size_t end = first;
      while (end < order_.size() && trace_.tasks[order_[end]].stream == stream) ++end;
      out << (first == 0 ? "{\"name\":" : ",{\"name\":");
      out.json_string(stream_label(document_, stream)) << ",\"tasks\":" << end - first << '}';
      first = end;
    }
    out << "],";
  }

  /// Calls that follow each other at once are one bar.
  void write_hosts(TextBuffer& out) const {
    struct Row {
      PackedNumbers start, duration, blocked;
      Time begin{}, end{};
      bool waits = false;
      void close() {
        if (end <= begin) return;
        start.add_step(ps_of(begin));
        duration.add((end - begin).count());
        blocked.add(waits ? 1 : 0);
      }
      void add(Time from, Time to, bool blocks) {
        if (from == end && blocks == waits) {
          end = to;
          return;
        }
        close();
        *this = Row{std::move(start), std::move(duration), std::move(blocked), from, to, blocks};
      }
    };
    std::vector<Row> rows(document_.hosts.size());
    for (const HostSpan& call : trace_.hosts) {
      const Time waits_from = call.ended - call.blocked;
      Row& row = rows[call.host.value()];
      if (waits_from > call.started) row.add(call.started, waits_from, false);
      if (call.blocked > Duration{0}) row.add(waits_from, call.ended, true);
    }
    out << "\"hosts\":[";
    bool first = true;
    for (const HostId host : document_.hosts.ids()) {
      Row& row = rows[host.value()];
      if (row.end <= row.begin) continue;
      row.close();
      out << (first ? "{" : ",{");
      row.start.write(out, "start");
      row.duration.write(out, "duration");
      row.blocked.write(out, "blocked");
      out << "\"name\":";
      out.json_string(document_.hosts[host]) << '}';
      first = false;
    }
    out << "],";
  }

  void write_curves(TextBuffer& out) const {
    PackedNumbers at;
    PackedNumbers value;
    const auto points = utilization_over_time(document_);
    const auto add = [&](std::int64_t ps, double share) {
      at.add_step(ps);
      value.add_step(std::llround(1e4 * share));
    };
    if (points.size() <= max_curve_points) {
      for (const UtilizationPoint& point : points) add(ps_of(point.at), point.utilization);
    } else {
      const auto slices = utilization_in_slices(points, max_curve_points);
      const double width = static_cast<double>(ps_of(trace_.ended)) / max_curve_points;
      for (std::size_t i = 0; i < slices.size(); ++i) {
        add(std::llround(width * static_cast<double>(i)), slices[i].utilization);
      }
      add(ps_of(trace_.ended), 0);
    }
    out << "\"utilization\":{";
    at.write(out, "at");
    value.write(out, "value");
    out << "\"unit\":\"share\"},\"memory\":[";
    bool first = true;
    if (run_.memory != nullptr) {
      for (const DeviceMemory& memory : *run_.memory) {
        if (memory.peak.count() == 0) continue;
        out << (first ? "" : ",");
        write_memory(out, memory);
        first = false;
      }
    }
    out << ']';
  }

  void write_memory(TextBuffer& out, const DeviceMemory& memory) const {
    PackedNumbers at;
    PackedNumbers value;
    if (memory.curve.size() <= max_curve_points) {
      for (const MemoryPoint& point : memory.curve) {
        at.add_step(ps_of(point.at));
        value.add_step(point.held.count());
      }
    } else {
      const auto slices = memory_in_slices(memory.curve, trace_.ended, max_curve_points);
      const double width = static_cast<double>(ps_of(trace_.ended)) / max_curve_points;
      for (std::size_t i = 0; i < slices.size(); ++i) {
        at.add_step(std::llround(width * static_cast<double>(i)));
        value.add_step(slices[i].count());
      }
    }
    at.add_step(ps_of(trace_.ended));
    value.add_step(memory.curve.empty() ? 0 : memory.curve.back().held.count());
    out << '{';
    at.write(out, "at");
    value.write(out, "value");
    out << "\"device\":";
    out.json_string(memory.device) << ",\"peak\":" << memory.peak.count() << '}';
  }

  const ViewedRun& run_;
  const TraceDocument& document_;
  const Trace& trace_;
  const OperationGroups& operations_;
  std::vector<std::uint32_t> order_;  // indices of spans
};

template <class Texts>
void write_list(TextBuffer& out, std::string_view name, const Texts& texts) {
  out << '"' << name << "\":[";
  bool first = true;
  for (const auto& text : texts) {
    if (!first) out << ',';
    first = false;
    out.json_string(text);
  }
  out << "],";
}

/// By operation: the kind of its first task, and what can be read on its colour.
void write_operations(TextBuffer& out,
                      const std::vector<const TraceDocument*>& documents,
                      const OperationGroups& operations) {
  std::vector<std::string_view> kinds(operations.names().size());
  for (const TraceDocument* document : documents) {
    for (const TaskSpan& span : document->trace.tasks) {
      const TaskLabel& label = document->tasks[span.task];
      std::string_view& kind = kinds[operations.group_of(label.operation)];
      if (kind.empty()) kind = to_string(label.kind);
    }
  }
  std::vector<std::string_view> text_colors;
  for (const std::string& color : operations.colors()) text_colors.push_back(readable_on(color));
  write_list(out, "operations", operations.names());
  write_list(out, "colors", operations.colors());
  write_list(out, "text_colors", text_colors);
  write_list(out, "kinds", kinds);
}

}  // namespace

std::string timeline_html(std::span<const ViewedRun> runs) {
  SCHEDLAB_EXPECTS(!runs.empty(), "timelines of no run");
  // In the order of PathCause.
  constexpr std::array<std::string_view, path_cause_count> causes{
      "nothing that is known",
      "a result or event that it needed",
      "the task before it in its stream",
      "its host, which submitted it late",
      "units or a queue that another task held",
      "its launch",
      "a message"};
  std::vector<const TraceDocument*> documents;
  for (const ViewedRun& run : runs) {
    expect_labels(*run.document);
    documents.push_back(run.document);
  }
  const OperationGroups operations{documents};
  TextBuffer json;
  json << '{';
  write_operations(json, documents, operations);
  write_list(json, "causes", causes);
  json << "\"runs\":[";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) json << ',';
    ViewerRun{runs[i], operations}.write(json);
  }
  json << "]}";
  TextBuffer out;
  begin_html_page(out, documents.front()->title, embedded_text("timeline.css"));
  out << "<noscript>This page draws with a script; timeline.svg beside it needs none.</noscript>\n";
  html_json(out, " id=\"runs\"", json.text());
  end_html_page(out, {"timeline_run.js", "timeline.js"});
  return std::move(out).take();
}

}  // namespace schedlab
