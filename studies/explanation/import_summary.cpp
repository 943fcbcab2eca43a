// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/import_summary.hpp"

#include "sim/base/schema_parts.hpp"
#include "studies/explanation/data_loss.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

std::string_view severity_word(Severity severity) {
  constexpr std::array<std::string_view, 4> words = {"info", "notice", "data_loss", "error"};
  return words.at(static_cast<std::size_t>(severity));
}

std::string problems_text(const Diagnostics& problems) {
  std::string text;
  for (const Severity severity :
       {Severity::error, Severity::data_loss, Severity::notice, Severity::info}) {
    for (const auto& [name, problem] : problems.entries()) {
      if (problem.severity != severity) continue;
      text += fmt::format("    {:<9} {:<26} {:>8}{}{}\n",
                          severity_word(severity),
                          name,
                          problem.count,
                          problem.example.empty() ? "" : "  e.g. ",
                          problem.example);
    }
  }
  return text.empty() ? text : "  odd about it:\n" + text;
}

Json problems_json(const Diagnostics& problems) {
  Json list = Json::array();
  for (const auto& [name, problem] : problems.entries()) {
    list.push_back({{"problem", name},
                    {"severity", severity_word(problem.severity)},
                    {"count", problem.count},
                    {"example", problem.example}});
  }
  return list;
}

std::size_t collectives_of_all(const TaskGraph& graph) {
  std::size_t count = 0;
  for (const CollectiveId id : graph.collectives().ids()) {
    count += graph.collectives().tasks(id).size() == graph.rank_count() ? 1U : 0U;
  }
  return count;
}

std::string rank_text(const ImportedTrace& trace) {
  const ImportedCounts counts = count(trace);
  std::string text = fmt::format("{}:", trace.file);
  if (trace.rank >= 0) text += fmt::format(" rank {}", trace.rank);
  if (trace.world_size > 0) text += fmt::format(" of {}", trace.world_size);
  for (const ImportedDevice& device : trace.devices) {
    const bool used = !trace.device_rows.empty() && trace.device_rows[0].device == device.id;
    if (used && !device.name.empty()) text += fmt::format(" on {}", device.name);
  }
  const DataLoss loss = data_loss(trace);
  for (const std::string& said : {loss.lost, loss.assumed}) {
    if (!said.empty()) text += "\n  " + said;
  }
  text += fmt::format(
      "\n  {} kernels, {} copies, {} memsets on {} streams; {} launches, {} of them of graphs\n"
      "  {} operators and annotations, {} other calls on {} threads; {} recorded "
      "synchronisations\n  span {:.3f} us, times to {:.6g} us\n",
      counts.kernels,
      counts.copies,
      counts.memsets,
      counts.streams,
      counts.launches,
      counts.graph_launches,
      trace.operators.size(),
      trace.calls.size() - counts.launches,
      trace.threads.size(),
      trace.synchronizations.size(),
      to_us(counts.span),
      to_us(trace.resolution));
  return text + problems_text(trace.problems);
}

Json rank_json(const ImportedTrace& trace) {
  const ImportedCounts counts = count(trace);
  Json losses = Json::array();
  for (const LossOf& loss : graph_losses(trace)) losses.push_back(graph_loss_fields().json(loss));
  return {{"file", trace.file},
          {"rank", trace.rank},
          {"world_size", trace.world_size},
          {"kernels", counts.kernels},
          {"copies", counts.copies},
          {"memsets", counts.memsets},
          {"streams", counts.streams},
          {"launches", counts.launches},
          {"graph_launches", counts.graph_launches},
          {"calls", trace.calls.size()},
          {"operators", trace.operators.size()},
          {"threads", trace.threads.size()},
          {"synchronizations", trace.synchronizations.size()},
          {"span_us", to_us(counts.span)},
          {"resolution_us", to_us(trace.resolution)},
          {"graph_losses", std::move(losses)},
          {"problems", problems_json(trace.problems)}};
}

std::string joined_text(const ImportedInput& input) {
  const JoinCounts& counts = input.joined;
  return fmt::format(
      "{}: {} of {} operators are in the profile{}\n"
      "  {} of {} activities are theirs, {:.3f} of {:.3f} us; a graph of {} tasks and {} "
      "dependencies\n{}",
      input.execution_trace,
      counts.matched(),
      counts.operators,
      counts.matched_by_id > 0 ? ", by their numbers" : ", by the order of their names",
      counts.attributed,
      counts.activities,
      to_us(counts.attributed_time),
      to_us(counts.activity_time),
      input.graph.graph.task_count(),
      input.graph.graph.edge_count(),
      problems_text(input.graph.problems));
}

Json joined_json(const ImportedInput& input) {
  const JoinCounts& counts = input.joined;
  return {{"file", input.execution_trace},
          {"operators", counts.operators},
          {"matched_by_id", counts.matched_by_id},
          {"matched_by_order", counts.matched_by_order},
          {"activities", counts.activities},
          {"attributed", counts.attributed},
          {"activity_us", to_us(counts.activity_time)},
          {"attributed_us", to_us(counts.attributed_time)},
          {"tasks", input.graph.graph.task_count()},
          {"dependencies", input.graph.graph.edge_count()},
          {"problems", problems_json(input.graph.problems)}};
}

Json text_schema() {
  return {{"type", "string"}};
}

Json counted_fields(std::initializer_list<const char*> names) {
  Json fields = Json::object();
  for (const char* name : names) fields[name] = {{"type", "integer"}, {"minimum", 0}};
  return fields;
}

void add_times(Json& fields, std::initializer_list<const char*> names) {
  for (const char* name : names) fields[name] = {{"type", "number"}, {"minimum", 0}};
}

Json problems_schema() {
  Json problem = counted_fields({"count"});
  problem["problem"] = text_schema();
  problem["severity"] = {{"enum", {"info", "notice", "data_loss", "error"}}};
  problem["example"] = text_schema();
  return {{"type", "array"}, {"items", schema::whole_object(problem)}};
}

Json rank_schema() {
  Json rank = counted_fields({"kernels",
                              "copies",
                              "memsets",
                              "streams",
                              "launches",
                              "graph_launches",
                              "calls",
                              "operators",
                              "threads",
                              "synchronizations"});
  add_times(rank, {"span_us", "resolution_us"});
  rank["file"] = text_schema();
  for (const char* name : {"rank", "world_size"})
    rank[name] = {{"type", "integer"}, {"minimum", -1}};
  rank["graph_losses"] = {{"type", "array"}, {"items", graph_loss_fields().schema()}};
  rank["problems"] = problems_schema();
  return schema::whole_object(rank);
}

Json joined_schema() {
  Json joined = counted_fields({"operators",
                                "matched_by_id",
                                "matched_by_order",
                                "activities",
                                "attributed",
                                "tasks",
                                "dependencies"});
  add_times(joined, {"activity_us", "attributed_us"});
  joined["file"] = text_schema();
  joined["problems"] = problems_schema();
  return schema::whole_object(joined);
}

}  // namespace

std::string import_text(const ImportedInput& input) {
  if (input.ranks.empty()) {
    const TaskGraph& graph = input.graph.graph;
    const std::string ranks =
        graph.rank_count() > 1
            ? fmt::format("\n  {} ranks, {} collectives, {} of them of all ranks",
                          graph.rank_count(),
                          graph.collectives().size(),
                          collectives_of_all(graph))
            : std::string{};
    return fmt::format("{}: a graph of {} tasks and {} dependencies{}\n{}",
                       input.graph_file,
                       graph.task_count(),
                       graph.edge_count(),
                       ranks,
                       problems_text(input.graph.problems));
  }
  std::string text;
  for (const ImportedTrace& trace : input.ranks) text += rank_text(trace);
  if (!input.execution_trace.empty()) text += joined_text(input);
  return text;
}

std::string import_json(const ImportedInput& input) {
  Json summary{{"schedlab", "import"}, {"version", 1}};
  if (input.ranks.empty()) {
    summary["graph"] = {{"file", input.graph_file},
                        {"format", to_string(input.graph.format)},
                        {"tasks", input.graph.graph.task_count()},
                        {"dependencies", input.graph.graph.edge_count()},
                        {"ranks", input.graph.graph.rank_count()},
                        {"collectives", input.graph.graph.collectives().size()},
                        {"problems", problems_json(input.graph.problems)}};
  } else {
    Json ranks = Json::array();
    for (const ImportedTrace& trace : input.ranks) ranks.push_back(rank_json(trace));
    summary["ranks"] = std::move(ranks);
    if (!input.execution_trace.empty()) summary["execution_trace"] = joined_json(input);
  }
  // Names out of a damaged file need not be UTF-8.
  return summary.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string import_schema() {
  Json graph = counted_fields({"tasks", "dependencies", "ranks", "collectives"});
  graph["file"] = text_schema();
  graph["format"] = text_schema();
  graph["problems"] = problems_schema();
  const Json file = schema::object({{"graph", schema::whole_object(graph)},
                                    {"execution_trace", joined_schema()},
                                    {"ranks", {{"type", "array"}, {"items", rank_schema()}}}},
                                   {});
  return schema::file("What an import found", "import", file).dump(2);
}

Table activity_table(const ImportedInput& input) {
  constexpr std::array<std::string_view, 3> kinds = {"kernel", "copy", "memset"};
  Table table;
  for (const char* name : {"rank",
                           "device",
                           "stream",
                           "kind",
                           "name",
                           "start_us",
                           "duration_us",
                           "correlation",
                           "graph",
                           "graph_node",
                           "bytes",
                           "assumed"}) {
    table.columns.push_back({.name = name, .role = ColumnRole::note});
  }
  const auto number = [](std::uint64_t value) { return Cell{static_cast<std::int64_t>(value)}; };
  for (const ImportedTrace& trace : input.ranks) {
    for (const DeviceRow& row : trace.device_rows) {
      table.rows.push_back({Cell{trace.rank},
                            Cell{std::int64_t{row.device}},
                            Cell{row.stream},
                            Cell{std::string{kinds.at(static_cast<std::size_t>(row.kind))}},
                            Cell{std::string{trace.texts[row.name]}},
                            Cell{to_us(row.started)},
                            Cell{to_us(row.ended - row.started)},
                            number(row.correlation),
                            number(row.graph),
                            number(row.graph_node),
                            row.bytes < Bytes{0} ? Cell{} : Cell{row.bytes.count()},
                            Cell{std::int64_t{row.assumed ? 1 : 0}}});
    }
  }
  return table;
}

}  // namespace schedlab
