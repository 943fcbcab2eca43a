// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/graph_dot.hpp"

#include "workloads/formats/kernel_fields.hpp"
#include "workloads/formats/task_class_words.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/property_map/dynamic_property_map.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;

// Colours that differ in lightness too; operations beyond them repeat.
constexpr std::array<std::string_view, 8> colours{
    "#4c78a8", "#f58518", "#54a24b", "#eeca3b", "#b279a2", "#9d755d", "#72b7b2", "#bab0ac"};

TaskId task_of(Vertex vertex) {
  return TaskId{static_cast<std::uint32_t>(vertex)};
}

Graph boost_graph(const TaskGraph& graph) {
  std::vector<std::pair<Vertex, Vertex>> edges;
  edges.reserve(graph.edge_count());
  for (const TaskId task : graph.tasks()) {
    for (const TaskId next : graph.successors(task)) edges.emplace_back(task.value(), next.value());
  }
  return {boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), graph.task_count()};
}

/// Exactly, to the picosecond.
std::string microseconds(Duration duration) {
  constexpr std::int64_t ps_per_us = 1'000'000;
  return fmt::format("{}.{:06}", duration.count() / ps_per_us, duration.count() % ps_per_us);
}

/// As read_dot reads them.
std::string kernel_list(const Operation& operation) {
  std::string text;
  for (const Kernel& kernel : operation.kernels) {
    if (!text.empty()) text += "; ";
    detail::append_pageable(text, kernel, "~ ");
    detail::append_grid(text, kernel.grid, "@ {} {} {} {} {} ");
    detail::append_attention(text, kernel.attention, "^ {} {} {} {} {} {} ");
    detail::append_kernel(text, kernel, "{} {} {} {} {} {} {} {}");
  }
  return text;
}

/// Boost's own quoting leaves a backslash alone, which would escape the quote after it.
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// What read_dot needs to make the operation again.
std::string attributes(const Operation& operation) {
  std::string text =
      fmt::format(", operation={}, kind={}", dot_string(operation.name), to_string(operation.kind));
  if (operation.task_class != TaskClass::unclassified) {
    text += fmt::format(", class={}", detail::task_class_name(operation.task_class));
  }
  if (!operation.kernels.empty()) text += fmt::format(", kernels=\"{}\"", kernel_list(operation));
  if (operation.fixed_duration > Duration{0}) {
    text += fmt::format(", operation_duration_us={}", microseconds(operation.fixed_duration));
  }
  return text;
}

/// GraphML is XML 1.0, which has no control characters; Boost escapes the rest.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

}  // namespace

std::string write_dot(const TaskGraph& graph) {
  IdVector<OperationId, std::string> meaning;
  for (const Operation& operation : graph.operations()) meaning.push_back(attributes(operation));
  const auto vertex = [&](std::ostream& out, Vertex v) {
    const TaskId task = task_of(v);
    out << "[label=" << dot_string(graph.name(task)) << ", fillcolor=\""
        << colours[graph.operation_id(task).value() % colours.size()] << '"'
        << meaning[graph.operation_id(task)];
    // In a label "\N" stands for the vertex.
    const std::string name = graph.name(task);
    if (name.find("\\N") != std::string::npos) out << ", name=" << dot_string(name);
    const Tags& tags = graph.tags(task);
    if (tags.layer >= 0) out << ", layer=" << tags.layer;
    if (tags.step >= 0) out << ", step=" << tags.step;
    if (tags.stage >= 0) out << ", stage=" << tags.stage;
    if (tags.microbatch >= 0) out << ", microbatch=" << tags.microbatch;
    if (graph.has_task_durations()) {
      out << ", duration_us=" << microseconds(graph.fixed_duration(task));
    }
    out << ']';
  };
  const auto edge = [](std::ostream&, const auto&) {};
  const auto whole = [](std::ostream& out) {
    out << "rankdir=TB;\nnode [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  };
  std::ostringstream out;
  boost::write_graphviz(out, boost_graph(graph), vertex, edge, whole);
  return std::move(out).str();
}

std::string write_graphml(const TaskGraph& graph) {
  const Graph copy = boost_graph(graph);
  boost::dynamic_properties properties;
  const auto add = [&](const char* name, auto function) {
    properties.property(name, boost::make_function_property_map<Vertex>(function));
  };
  const auto operation = [&graph](Vertex v) -> const Operation& {
    return graph.operation(task_of(v));
  };
  add("name", [&](Vertex v) { return printable(graph.name(task_of(v))); });
  add("operation", [&](Vertex v) { return printable(operation(v).name); });
  add("kind", [&](Vertex v) { return std::string{to_string(operation(v).kind)}; });
  add("class",
      [&](Vertex v) { return std::string{detail::task_class_name(operation(v).task_class)}; });
  add("layer", [&](Vertex v) { return static_cast<int>(graph.tags(task_of(v)).layer); });
  add("step", [&](Vertex v) { return static_cast<int>(graph.tags(task_of(v)).step); });
  add("flops", [&](Vertex v) { return operation(v).flops().count(); });
  add("bytes_read",
      [&](Vertex v) { return static_cast<double>(operation(v).bytes_read().count()); });
  add("bytes_written",
      [&](Vertex v) { return static_cast<double>(operation(v).bytes_written().count()); });
  add("duration_us", [&](Vertex v) { return to_us(graph.fixed_duration(task_of(v))); });
  std::ostringstream out;
  boost::write_graphml(out, copy, properties);
  return std::move(out).str();
}

}  // namespace schedlab
