// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/foreign_readers.hpp"
#include "workloads/traces/json_dom.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <string>

namespace schedlab::detail {
namespace {

namespace dom = simdjson::dom;

// Chakra's NodeType (et_def.proto): 4 computes, 5 sends, 6 receives, 7 is a collective.
constexpr std::int64_t collective_node = 7;

/// "aten::add_(3)" is the third add_.
std::string without_number(std::string_view name) {
  const std::size_t open = name.rfind('(');
  const bool numbered = name.ends_with(')') && open != std::string_view::npos &&
                        open + 2 < name.size() &&
                        name.find_first_not_of("0123456789", open + 1) == name.size() - 1;
  return std::string{numbered ? name.substr(0, open) : name};
}

void read_needs(const dom::object& node, const char* key, TaskId task, GraphDraft& draft) {
  dom::array list;
  if (node[key].get(list) != simdjson::SUCCESS) return;
  for (const dom::element element : list) {
    std::int64_t id = 0;
    if (element.get(id) == simdjson::SUCCESS) {
      draft.needs(task, fmt::format("{}", id));
    } else {
      draft.problem(Severity::notice, "unknown_dependency", key);
    }
  }
}

void read_node(const dom::object& node, GraphDraft& draft) {
  std::int64_t id = 0;
  if (node["Id"].get(id) != simdjson::SUCCESS) {
    draft.problem(Severity::data_loss, "node_without_id", {});
    return;
  }
  const std::string_view name = text_or_empty(node, "Name");
  const bool on_host = value_or(node, "is_cpu_op", false);
  const auto type = value_or(node, "NodeType", std::int64_t{0});
  double runtime_us = 0;
  if (node["runtime"].get(runtime_us) != simdjson::SUCCESS) {
    draft.problem(Severity::notice, "task_without_duration", std::string{name});
  }
  const TaskId task = draft.add({.key = fmt::format("{}", id),
                                 .name = fmt::format("{}#{}", name, id),
                                 .operation = without_number(name),
                                 .kind = on_host ? TaskKind::host : TaskKind::fixed,
                                 .kernels = {},
                                 .duration = draft.duration_us(runtime_us)});
  if (!task.valid()) return;
  if (type == collective_node && !on_host) {
    draft.problem(Severity::info, "collective_of_one_rank", std::string{name});
  }
  read_needs(node, "data_deps", task, draft);
  read_needs(node, "ctrlDeps", task, draft);
}

}  // namespace

void read_chakra_graph(std::string_view text, GraphDraft& draft) {
  dom::parser parser;
  const dom::object root = parse_object(parser, text, draft);
  dom::array nodes;
  if (root["workload_graph"].get(nodes) != simdjson::SUCCESS) {
    draft.refuse("/workload_graph", "something else", "a list of nodes");
  }
  for (const dom::element element : nodes) {
    dom::object node;
    if (element.get(node) == simdjson::SUCCESS) {
      read_node(node, draft);
    } else {
      draft.problem(Severity::data_loss, "node_without_id", {});
    }
  }
}

}  // namespace schedlab::detail
