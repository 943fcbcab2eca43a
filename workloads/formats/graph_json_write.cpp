// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/formats/graph_json.hpp"
#include "workloads/formats/kernel_fields.hpp"
#include "workloads/formats/task_class_words.hpp"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string_view>

namespace schedlab {
namespace {

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

/// Microseconds with all six decimals a picosecond needs, so that reading gives the same Duration.
void append_us(std::string& out, Duration duration) {
  const std::int64_t ps = duration.count();
  fmt::format_to(std::back_inserter(out), "{}", ps / 1'000'000);
  if (ps % 1'000'000 == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:06}", ps % 1'000'000);
  while (out.back() == '0') out.pop_back();
}

void append_ids(std::string& out, std::span<const TaskId> tasks) {
  out += '[';
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", tasks[i].value());
  }
  out += ']';
}

void append_operation(std::string& out, const Operation& operation) {
  auto to = std::back_inserter(out);
  out += "{\"name\":";
  append_string(out, operation.name);
  fmt::format_to(to,
                 ",\"kind\":\"{}\",\"class\":\"{}\",\"duration_us\":",
                 to_string(operation.kind),
                 detail::task_class_name(operation.task_class));
  append_us(out, operation.fixed_duration);
  out += ",\"kernels\":[";
  for (std::size_t i = 0; i < operation.kernels.size(); ++i) {
    if (i > 0) out += ',';
    detail::append_kernel(
        out,
        operation.kernels[i],
        "{{\"kind\":\"{}\",\"data_type\":\"{}\",\"m\":{},\"n\":{},\"k\":{},\"flops\":{},"
        "\"bytes_read\":{},\"bytes_written\":{}");
    detail::append_pageable(out, operation.kernels[i], ",\"pageable\":true");
    detail::append_grid(out,
                        operation.kernels[i].grid,
                        ",\"blocks\":{},\"threads\":{},\"registers\":{},\"shared_memory_bytes\":{},"
                        "\"compute_share\":{}");
    detail::append_attention(out,
                             operation.kernels[i].attention,
                             ",\"attention\":{{\"sequences\":{},\"queries\":{},\"keys\":{},"
                             "\"heads\":{},\"kv_heads\":{},\"head\":{}}}");
    out += '}';
  }
  out += "]}";
}

void append_task(std::string& out, const TaskGraph& graph, TaskId task) {
  auto to = std::back_inserter(out);
  const Tags& tags = graph.tags(task);
  out += '{';
  if (graph.has_explicit_names()) {
    out += "\"name\":";
    append_string(out, graph.name(task));
    out += ',';
  }
  fmt::format_to(to, "\"operation\":{}", graph.operation_id(task).value());
  if (tags.layer >= 0) fmt::format_to(to, ",\"layer\":{}", tags.layer);
  if (tags.step >= 0) fmt::format_to(to, ",\"step\":{}", tags.step);
  if (tags.stage >= 0) fmt::format_to(to, ",\"stage\":{}", tags.stage);
  if (tags.microbatch >= 0) fmt::format_to(to, ",\"microbatch\":{}", tags.microbatch);
  if (graph.has_task_durations()) {
    out += ",\"duration_us\":";
    append_us(out, graph.fixed_duration(task));
  }
  if (!graph.predecessors(task).empty()) {
    out += ",\"needs\":";
    append_ids(out, graph.predecessors(task));
  }
  out += '}';
}

void append_tensor(std::string& out, const TensorTable& tensors, TensorId id) {
  out += '{';
  const std::string name = tensors.name(id);
  if (!name.empty()) {
    out += "\"name\":";
    append_string(out, name);
    out += ',';
  }
  fmt::format_to(std::back_inserter(out), "\"bytes\":{}", tensors.bytes(id).count());
  if (tensors.accumulate(id)) out += ",\"accumulate\":true";
  if (tensors.persistent(id)) out += ",\"persistent\":true";
  out += ",\"written_by\":";
  append_ids(out, tensors.writers(id));
  out += ",\"read_by\":";
  append_ids(out, tensors.readers(id));
  out += '}';
}

}  // namespace

std::string write_graph_json(const TaskGraph& graph) {
  if (graph.has_ranks() || !graph.collectives().empty()) {
    throw InfeasibleError(
        "graph files hold neither ranks nor collectives; write the graph of one rank");
  }
  std::string out = "{\"schedlab\":\"graph\",\"version\":1,\n\"operations\":[\n";
  const char* separator = "";
  for (const Operation& operation : graph.operations()) {
    out += separator;
    append_operation(out, operation);
    separator = ",\n";
  }
  out += "\n],\n\"tasks\":[\n";
  separator = "";
  for (const TaskId task : graph.tasks()) {
    out += separator;
    append_task(out, graph, task);
    separator = ",\n";
  }
  out += "\n],\n\"tensors\":[\n";
  separator = "";
  for (const TensorId id : graph.tensors().ids()) {
    out += separator;
    append_tensor(out, graph.tensors(), id);
    separator = ",\n";
  }
  out += "\n]}\n";
  return out;
}

}  // namespace schedlab
