// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/csv.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/text_buffer.hpp"
#include "sim/trace/utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace schedlab {

namespace {

/// Would a spreadsheet take it for a formula? A number in a text is none.
bool is_formula(std::string_view text) {
  constexpr std::string_view starts = "=+-@\t\r";
  if (text.size() < 2 || starts.find(text.front()) == std::string_view::npos) return false;
  const std::string number{text.substr(text.front() == '+' ? 1 : 0)};
  char* end = nullptr;
  static_cast<void>(std::strtod(number.c_str(), &end));
  return *end != '\0' || end == number.c_str();
}

/// On one line, so that a line of the file is a row: a line end with the blanks around it is "; ".
std::string on_one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    line += text.substr(0, end);
    if (end == std::string_view::npos) break;
    text.remove_prefix(std::min(text.find_first_not_of(" \r\n", end), text.size()));
    if (!line.empty() && !text.empty()) line += "; ";
  }
  return line;
}

void put_text(TextBuffer& out, std::string_view given) {
  std::string safe;
  if (given.find_first_of("\r\n") != std::string_view::npos) safe = on_one_line(given);
  std::string_view text = safe.empty() ? given : safe;
  if (is_formula(text)) {
    safe = "'" + std::string{text};
    text = safe;
  }
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out << text;
    return;
  }
  out << '"';
  for (const char c : text) {
    if (c == '"') out << '"';
    out << c;
  }
  out << '"';
}

void put_cell(TextBuffer& out, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) out << *integer;
  if (const auto* real = std::get_if<double>(&cell)) out << *real;
  if (const auto* text = std::get_if<std::string>(&cell)) put_text(out, *text);
}

[[nodiscard]] std::int64_t picoseconds(Time time) {
  return time.time_since_epoch().count();
}

}  // namespace

std::string table_csv(const Table& table) {
  TextBuffer out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) out << ',';
    put_text(out, table.columns[i].name);
  }
  out << '\n';
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out << ',';
      put_cell(out, row[i]);
    }
    out << '\n';
  }
  return std::move(out).take();
}

std::string utilization_csv(const TraceDocument& document, std::size_t max_rows) {
  TextBuffer out;
  out << "time_us,time_ps,utilization,running,critical\n";
  const auto line = [&out](std::int64_t at, double utilization, double running, double critical) {
    out.microseconds(at) << ',' << at << ',';
    out.rounded(utilization, 6) << ',';
    out.rounded(running, 6) << ',';
    out.rounded(critical, 6) << '\n';
  };
  const std::vector<UtilizationPoint> points = utilization_over_time(document);
  if (points.size() <= max_rows) {
    for (const UtilizationPoint& point : points) {
      line(picoseconds(point.at), point.utilization, point.running, point.critical);
    }
    return std::move(out).take();
  }
  const std::vector<UtilizationSlice> slices = utilization_in_slices(points, max_rows);
  const double width =
      static_cast<double>(picoseconds(document.trace.ended)) / static_cast<double>(max_rows);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    line(static_cast<std::int64_t>(static_cast<double>(i) * width),
         slices[i].utilization,
         slices[i].running,
         slices[i].critical);
  }
  return std::move(out).take();
}

std::string memory_csv(const std::vector<DeviceMemory>& memory, Time end, std::size_t max_rows) {
  TextBuffer out;
  out << "device,time_us,time_ps,bytes\n";
  for (const DeviceMemory& device : memory) {
    const auto line = [&](std::int64_t at, Bytes held) {
      put_text(out, device.device);
      out << ',';
      out.microseconds(at) << ',' << at << ',' << held.count() << '\n';
    };
    if (device.curve.size() <= max_rows) {
      for (const MemoryPoint& point : device.curve) line(picoseconds(point.at), point.held);
      continue;
    }
    const std::vector<Bytes> slices = memory_in_slices(device.curve, end, max_rows);
    const double width = static_cast<double>(picoseconds(end)) / static_cast<double>(max_rows);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      line(static_cast<std::int64_t>(static_cast<double>(i) * width), slices[i]);
    }
  }
  return std::move(out).take();
}

std::string trace_csv(const TraceDocument& document) {
  TextBuffer out;
  out << "task,name,operation,kind,critical,device,stream,stream_name,host,"
         "submitted_ps,started_ps,ended_ps,duration_us\n";
  for (const TaskSpan& span : document.trace.tasks) {
    SCHEDLAB_EXPECTS(document.tasks.contains(span.task) && document.streams.contains(span.stream) &&
                         document.devices.contains(span.device),
                     fmt::format("task {}", span.task.value()));
    const TaskLabel& label = document.tasks[span.task];
    out << span.task.value() << ',';
    put_text(out, label.name);
    out << ',';
    put_text(out, label.operation);
    out << ',' << to_string(label.kind) << ',' << (label.critical ? "true" : "false") << ',';
    put_text(out, document.devices[span.device]);
    out << ',' << span.stream.value() << ',';
    put_text(out, document.streams[span.stream].name);
    out << ',' << span.host.value() << ',' << picoseconds(span.submitted) << ','
        << picoseconds(span.started) << ',' << picoseconds(span.ended) << ',';
    out.microseconds(span.duration().count()) << '\n';
  }
  return std::move(out).take();
}

}  // namespace schedlab
