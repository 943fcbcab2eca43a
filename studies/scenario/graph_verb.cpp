// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/graph_verb.hpp"

#include "notebooks_export/report_document.hpp"
#include "sim/base/file.hpp"
#include "sim/graph/levels.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/printable.hpp"
#include "studies/scenario/graph_input.hpp"
#include "workloads/formats/graph_dot.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/formats/graph_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_shown_tasks = 12;
constexpr std::size_t max_shown_operations = 40;

/// Totals of one operation over its tasks.
struct OperationTotal {
  std::string name;
  std::uint64_t tasks = 0;
  double gflop = 0;
  double mebibytes = 0;
  Duration duration{0};
};

struct Statistics {
  std::size_t depth = 0;  ///< levels
  std::size_t width = 0;  ///< most tasks on one level
  std::vector<OperationTotal> operations;
  std::vector<TaskId> critical_path;
  Duration serial{0};
  LowerBounds bounds;
};

Statistics statistics_of(const GraphInput& input) {
  const TaskGraph& graph = input.graph;
  Statistics s;
  std::vector<std::size_t> per_level;
  for (const std::uint32_t level : levels(graph)) {
    if (per_level.size() <= level) per_level.resize(level + 1);
    s.width = std::max(s.width, ++per_level[level]);
  }
  s.depth = per_level.size();
  for (const Operation& operation : graph.operations()) {
    s.operations.push_back(
        {.name = operation.name, .tasks = 0, .gflop = 0, .mebibytes = 0, .duration = {}});
  }
  for (const TaskId task : graph.tasks()) {
    const Operation& operation = graph.operation(task);
    OperationTotal& total = s.operations[graph.operation_id(task).value()];
    ++total.tasks;
    total.gflop += operation.flops().count() * 1e-9;
    total.mebibytes +=
        static_cast<double>((operation.bytes_read() + operation.bytes_written()).count()) /
        (1 << 20);
    total.duration += input.costs.duration(task);
    s.serial += input.costs.duration(task);
  }
  s.critical_path = critical_path(graph, input.costs.durations());
  s.bounds = graph_lower_bounds({graph, input.machine.platform, input.costs});
  return s;
}

std::vector<std::string> path_names(const GraphInput& input, const Statistics& s) {
  std::vector<std::string> names;
  for (const TaskId task : s.critical_path) names.push_back(input.graph.name(task));
  return names;
}

/// A name within a line of text.
std::string one_line(std::string name) {
  std::replace(name.begin(), name.end(), '\n', ' ');
  return printable(name);
}

/// All, in the order of the graph; of very many, as profiles have, those that take longest.
std::vector<OperationTotal> shown_operations(const Statistics& s) {
  std::vector<OperationTotal> result = s.operations;
  if (result.size() <= max_shown_operations) return result;
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
    return a.duration > b.duration;
  });
  result.resize(max_shown_operations);
  return result;
}

void print_text(std::ostream& out, const GraphInput& input, const Statistics& s) {
  const TaskGraph& graph = input.graph;
  out << fmt::format(
      "{}: {} tasks, {} dependencies, {} levels, at most {} tasks on one level\n  {} tensors; "
      "{:.1f} "
      "KiB of this program's memory\n",
      input.title,
      graph.task_count(),
      graph.edge_count(),
      s.depth,
      s.width,
      graph.tensors().size(),
      static_cast<double>(graph.memory_bytes()) / (1 << 10));
  const std::vector<OperationTotal> operations = shown_operations(s);
  PrintedTable table = empty_table({"operation", "tasks", "GFLOP", "MiB", "time us"});
  for (const OperationTotal& total : operations) {
    table.rows.push_back({one_line(total.name),
                          fmt::format("{}", total.tasks),
                          fmt::format("{:.3f}", total.gflop),
                          fmt::format("{:.2f}", total.mebibytes),
                          fmt::format("{:.3f}", to_us(total.duration))});
  }
  out << text_of(table);
  if (s.operations.size() > max_shown_operations) {
    out << fmt::format("  and {} more that take less\n",
                       s.operations.size() - max_shown_operations);
  }
  std::vector<std::string> names = path_names(input, s);
  for (std::string& name : names) name = one_line(name);
  const std::size_t length = names.size();
  if (length > max_shown_tasks) names.resize(max_shown_tasks);
  out << fmt::format(
      "on {}:\n  one after another  {:.3f} us\n  critical path      {:.3f} us, {} tasks: "
      "{:.40}{}\n  work over units    {:.3f} us\n",
      input.machine.name,
      to_us(s.serial),
      to_us(s.bounds.critical_path),
      length,
      fmt::join(names, ", "),
      length > max_shown_tasks ? ", ..." : "",
      to_us(s.bounds.work));
}

void print_json(std::ostream& out, const GraphInput& input, const Statistics& s) {
  Json operations = Json::array();
  for (const OperationTotal& total : s.operations) {
    operations.push_back({{"name", total.name},
                          {"tasks", total.tasks},
                          {"gflop", total.gflop},
                          {"mib", total.mebibytes},
                          {"duration_us", to_us(total.duration)}});
  }
  const Json summary{{"verb", "graph"},
                     {"title", input.title},
                     {"tasks", input.graph.task_count()},
                     {"dependencies", input.graph.edge_count()},
                     {"levels", s.depth},
                     {"width", s.width},
                     {"tensors", input.graph.tensors().size()},
                     {"operations", std::move(operations)},
                     {"machine", input.machine.name},
                     {"serial_us", to_us(s.serial)},
                     {"critical_path_us", to_us(s.bounds.critical_path)},
                     {"work_us", to_us(s.bounds.work)},
                     {"critical_path", path_names(input, s)}};
  out << summary.dump(2) << '\n';
}

std::string converted(const TaskGraph& graph, const std::string& format) {
  if (format == "json") return write_graph_json(graph);
  if (format == "text") return write_graph_text(graph);
  if (format == "dot") return write_dot(graph);
  return write_graphml(graph);
}

}  // namespace

int run(const GraphOptions& options, const Terminal& terminal) {
  const GraphInput input = load_graph_input(options.input, options.machine);
  if (!options.to.empty() && options.out.empty()) {
    (terminal.data == nullptr ? terminal.out : *terminal.data)
        << converted(input.graph, options.to);
    return exit_done;
  }
  if (!options.to.empty()) {
    write_named_file(options.out, [&](const std::filesystem::path& file) {
      write_file_atomically(file, converted(input.graph, options.to));
    });
  }
  const Statistics s = statistics_of(input);
  if (options.json) {
    print_json(terminal.out, input, s);
  } else {
    print_text(terminal.out, input, s);
  }
  return exit_done;
}

}  // namespace schedlab
