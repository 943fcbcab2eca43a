// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/formats/graph_text.hpp"
#include "workloads/formats/graph_text_form.hpp"
#include "workloads/formats/kernel_fields.hpp"
#include "workloads/formats/task_class_words.hpp"

#include <fmt/format.h>

#include <iterator>

namespace schedlab {
namespace {

// Names stand at the end of a line: only characters that would break it are escaped, as %XX.
void append_name(std::string& out, std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool edge = i == 0 || i + 1 == name.size();
    if (c < 0x20 || c == '%' || c == 0x7F || (edge && c == ' ')) {
      fmt::format_to(std::back_inserter(out), "%{:02X}", c);
    } else {
      out += name[i];
    }
  }
}

void append_operations(std::string& out, const TaskGraph& graph) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "operations {}\n", graph.operations().size());
  for (const Operation& operation : graph.operations()) {
    fmt::format_to(to,
                   "{} {} {} {}",
                   to_string(operation.kind),
                   detail::task_class_name(operation.task_class),
                   operation.fixed_duration.count(),
                   operation.kernels.size());
    for (const Kernel& k : operation.kernels) {
      detail::append_pageable(out, k, " ~");
      detail::append_grid(out, k.grid, " @ {} {} {} {} {}");
      detail::append_attention(out, k.attention, " ^ {} {} {} {} {} {}");
      detail::append_kernel(out, k, " {} {} {} {} {} {} {} {}");
    }
    out += ' ';
    append_name(out, operation.name);
    out += '\n';
  }
}

void append_tasks(std::string& out, const TaskGraph& graph) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "tasks {}\n", graph.task_count());
  for (const TaskId task : graph.tasks()) {
    const Tags& tags = graph.tags(task);
    fmt::format_to(to,
                   "{} {} {} {} {}",
                   graph.operation_id(task).value(),
                   tags.layer,
                   tags.step,
                   graph.has_task_durations() ? graph.fixed_duration(task).count() : -1,
                   graph.predecessors(task).size());
    for (const TaskId before : graph.predecessors(task)) {
      fmt::format_to(to, " {}", before.value());
    }
    if (tags.stage >= 0 || tags.microbatch >= 0) {
      fmt::format_to(to, " @ {} {}", tags.stage, tags.microbatch);
    }
    if (graph.has_explicit_names()) {
      out += " # ";
      append_name(out, graph.name(task));
    }
    out += '\n';
  }
}

void append_tensors(std::string& out, const TaskGraph& graph) {
  const TensorTable& tensors = graph.tensors();
  auto to = std::back_inserter(out);
  fmt::format_to(to, "tensors {}\n", tensors.size());
  for (const TensorId id : tensors.ids()) {
    fmt::format_to(to,
                   "{} {}",
                   tensors.bytes(id).count(),
                   (tensors.accumulate(id) ? 1 : 0) + (tensors.persistent(id) ? 2 : 0));
    for (const auto tasks : {tensors.writers(id), tensors.readers(id)}) {
      fmt::format_to(to, " {}", tasks.size());
      for (const TaskId task : tasks) fmt::format_to(to, " {}", task.value());
    }
    out += ' ';
    append_name(out, tensors.name(id));
    out += '\n';
  }
}

}  // namespace

std::string write_graph_text(const TaskGraph& graph) {
  if (graph.has_ranks() || !graph.collectives().empty()) {
    throw InfeasibleError(
        "graph files hold neither ranks nor collectives; write the graph of one rank");
  }
  std::string out = fmt::format("{} {}\n", detail::graph_text_magic, detail::graph_text_version);
  append_operations(out, graph);
  append_tasks(out, graph);
  if (!graph.tensors().empty()) append_tensors(out, graph);
  return out;
}

bool is_graph_text(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos &&
         text.substr(start).starts_with(detail::graph_text_magic);
}

}  // namespace schedlab
