// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/imported_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

std::string_view word(OperatorNode::Of of) {
  switch (of) {
    case OperatorNode::Of::host_operator:
      return "operator";
    case OperatorNode::Of::call:
      return "call";
    case OperatorNode::Of::activity:
      return "activity";
  }
  return "activity";
}

std::string_view name_of(const ImportedTrace& trace, const OperatorNode& node) {
  switch (node.of) {
    case OperatorNode::Of::host_operator:
      return trace.texts[trace.operators[node.row].name];
    case OperatorNode::Of::call:
      return trace.texts[trace.calls[node.row].name];
    case OperatorNode::Of::activity:
      break;
  }
  return trace.texts[trace.device_rows[node.row].name];
}

Json by_kind(const OperatorPath& path) {
  Json result = Json::object();
  for (std::size_t i = 0; i < operator_edge_kind_count; ++i) {
    result[std::string{to_string(static_cast<OperatorEdgeKind>(i))}] = {
        {"edges", path.edges[i]}, {"weight_us", to_us(path.weights[i])}};
  }
  return result;
}

/// Of the profile's clock, in microseconds.
double clock_us(const ImportedTrace& trace, Time time) {
  return static_cast<double>(trace.origin_us) + to_us(trace.origin_rest) + to_us(time);
}

struct Shown {
  Time started{};
  Time ended{};
  std::string process;
  std::int64_t track = 0;
};

Shown shown(const ImportedTrace& trace, const OperatorNode& node) {
  if (node.of == OperatorNode::Of::activity) {
    const DeviceRow& row = trace.device_rows[node.row];
    return {
        row.started, row.ended, fmt::format("critical path, device {}", row.device), row.stream};
  }
  const auto host = [&](const auto& row) {
    return Shown{row.started, row.ended, "critical path, host", trace.threads[row.thread].thread};
  };
  return node.of == OperatorNode::Of::call ? host(trace.calls[node.row])
                                           : host(trace.operators[node.row]);
}

}  // namespace

std::string operator_path_text(const OperatorPath& path) {
  std::string text =
      fmt::format("critical path through operators: {:.3f} us, {} nodes, {} events, {} edges\n",
                  to_us(path.length),
                  path.steps.size(),
                  path.events,
                  path.edge_count());
  for (std::size_t i = 0; i < operator_edge_kind_count; ++i) {
    if (path.edges[i] == 0) continue;
    text += fmt::format("  {:16} {:6} edges {:14.3f} us\n",
                        to_string(static_cast<OperatorEdgeKind>(i)),
                        path.edges[i],
                        to_us(path.weights[i]));
  }
  return text;
}

std::string operator_path_json(const ImportedTrace& trace, const OperatorPath& path) {
  Json steps = Json::array();
  for (const OperatorPath::Step& step : path.steps) {
    Json made{{"of", word(step.node.of)},
              {"name", name_of(trace, step.node)},
              {"at", step.node.end ? "end" : "begin"},
              {"time_us", to_us(step.node.when)}};
    if (!steps.empty()) {
      made["edge"] = to_string(step.edge);
      made["weight_us"] = to_us(step.weight);
    }
    steps.push_back(std::move(made));
  }
  const Json document{{"schedlab", "operator_path"},
                      {"version", 1},
                      {"trace", trace.file},
                      {"nodes", path.steps.size()},
                      {"events", path.events},
                      {"edges", path.edge_count()},
                      {"length_us", to_us(path.length)},
                      {"by_kind", by_kind(path)},
                      {"steps", std::move(steps)}};
  return document.dump(1) + "\n";
}

std::string operator_path_overlay(const ImportedTrace& trace, const OperatorPath& path) {
  Json events = Json::array();
  std::set<std::pair<OperatorNode::Of, std::uint32_t>> seen;
  for (const OperatorPath::Step& step : path.steps) {
    if (!seen.emplace(step.node.of, step.node.row).second) continue;
    const Shown span = shown(trace, step.node);
    events.push_back({{"ph", "X"},
                      {"cat", "critical_path"},
                      {"name", name_of(trace, step.node)},
                      {"pid", span.process},
                      {"tid", span.track},
                      {"ts", clock_us(trace, span.started)},
                      {"dur", to_us(span.ended - span.started)},
                      {"args", {{"reached_by", to_string(step.edge)}}}});
  }
  return Json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

std::string operator_path_schema() {
  const Json number{{"type", "number"}};
  const Json count{{"type", "integer"}, {"minimum", 0}};
  Json kinds = Json::array();
  Json by_kind = Json::object();
  for (std::size_t i = 0; i < operator_edge_kind_count; ++i) {
    const std::string kind{to_string(static_cast<OperatorEdgeKind>(i))};
    kinds.push_back(kind);
    by_kind[kind] = {{"type", "object"},
                     {"required", {"edges", "weight_us"}},
                     {"properties", {{"edges", count}, {"weight_us", number}}},
                     {"additionalProperties", false}};
  }
  const Json step{
      {"type", "object"},
      {"required", {"of", "name", "at", "time_us"}},
      {"properties",
       {{"of", {{"enum", {"operator", "call", "activity"}}}},
        {"name", {{"type", "string"}}},
        {"at", {{"enum", {"begin", "end"}}}},
        {"time_us", {{"type", "number"}, {"description", "since the first row of the trace"}}},
        {"edge", {{"enum", kinds}, {"description", "from the step before"}}},
        {"weight_us", number}}},
      {"additionalProperties", false}};
  const Json schema{
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "operator_path.json of schedlab explain"},
      {"type", "object"},
      {"required",
       {"schedlab",
        "version",
        "trace",
        "nodes",
        "events",
        "edges",
        "length_us",
        "by_kind",
        "steps"}},
      {"properties",
       {{"schedlab", {{"const", "operator_path"}}},
        {"version", {{"const", 1}}},
        {"trace", {{"type", "string"}}},
        {"nodes", count},
        {"events", count},
        {"edges", count},
        {"length_us", number},
        {"by_kind", {{"type", "object"}, {"properties", by_kind}, {"additionalProperties", false}}},
        {"steps", {{"type", "array"}, {"items", step}}}}},
      {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

}  // namespace schedlab
