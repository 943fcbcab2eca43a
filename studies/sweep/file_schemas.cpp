// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/file_schemas.hpp"

#include "sim/base/schema_parts.hpp"
#include "sim/graph/task.hpp"
#include "sim/plan/plan.hpp"
#include "studies/scenario/components.hpp"
#include "studies/scenario/result_columns.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

Json type(const char* word) {
  return Json{{"type", word}};
}
Json at_least_zero(const char* word) {
  return Json{{"type", word}, {"minimum", 0}};
}
Json words(const std::vector<std::string>& allowed) {
  return Json{{"type", "string"}, {"enum", allowed}};
}
Json list_of(Json item) {
  return Json{{"type", "array"}, {"items", std::move(item)}};
}
Json either(Json a, Json b) {
  return Json{{"anyOf", Json::array({std::move(a), std::move(b)})}};
}

Json file(const char* title,
          const char* word,
          const Json& properties,
          const std::vector<std::string>& required) {
  Json all{{"schedlab", {{"const", word}}}, {"version", {{"const", 1}}}};
  all.update(properties);
  return schema::document(title, schema::object(all, required));
}

Json kernel() {
  Json properties{{"kind", words(enum_names<TaskKind>())},
                  {"data_type", words(enum_names<DataType>())}};
  for (const char* size : {"m",
                           "n",
                           "k",
                           "bytes_read",
                           "bytes_written",
                           "blocks",
                           "threads",
                           "registers",
                           "shared_memory_bytes"}) {
    properties[size] = at_least_zero("integer");
  }
  properties["flops"] = at_least_zero("number");
  properties["compute_share"] = {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
  properties["pageable"] = type("boolean");
  return schema::object(properties, {"kind"});
}

Json graph_task() {
  const Json reference = either(at_least_zero("integer"), type("string"));
  return schema::object({{"name", type("string")},
                         {"operation", reference},
                         {"layer", at_least_zero("integer")},
                         {"step", at_least_zero("integer")},
                         {"stage", at_least_zero("integer")},
                         {"microbatch", at_least_zero("integer")},
                         {"duration_us", at_least_zero("number")},
                         {"needs", list_of(reference)}},
                        {});
}

}  // namespace

std::string graph_schema() {
  const Json reference = either(at_least_zero("integer"), type("string"));
  const Json operation = schema::object({{"name", type("string")},
                                         {"kind", words(enum_names<TaskKind>())},
                                         {"class",
                                          words({"unclassified",
                                                 "critical_matmul",
                                                 "critical_pointwise",
                                                 "weight_gradient",
                                                 "update",
                                                 "transfer"})},
                                         {"duration_us", at_least_zero("number")},
                                         {"kernels", list_of(kernel())}},
                                        {"name"});
  const Json tensor = schema::object({{"name", type("string")},
                                      {"bytes", at_least_zero("integer")},
                                      {"accumulate", type("boolean")},
                                      {"persistent", type("boolean")},
                                      {"written_by", list_of(reference)},
                                      {"read_by", list_of(reference)}},
                                     {"bytes"});
  return file("SchedLab task graph",
              "graph",
              {{"description", type("string")},
               {"operations", list_of(operation)},
               {"tasks", list_of(graph_task())},
               {"tensors", list_of(tensor)}},
              {"schedlab", "version", "tasks"})
      .dump(2);
}

std::string stage_profiles_schema() {
  const Json bytes = at_least_zero("integer");
  const Json us = at_least_zero("number");
  const Json stage = schema::object({{"name", type("string")},
                                     {"forward_us", us},
                                     {"forward_per_sample_us", us},
                                     {"backward_data_us", us},
                                     {"backward_data_per_sample_us", us},
                                     {"backward_weight_us", us},
                                     {"backward_weight_per_sample_us", us},
                                     {"update_us", us},
                                     {"parameters_bytes", bytes},
                                     {"optimizer_state_bytes", bytes},
                                     {"kept_activations_bytes", bytes},
                                     {"kept_gradients_bytes", bytes}},
                                    {});
  const Json link =
      schema::object({{"from", bytes}, {"to", bytes}, {"bytes", bytes}}, {"from", "to"});
  const Json tied = schema::object(
      {{"name", type("string")}, {"bytes", bytes}, {"stages", list_of(bytes)}}, {"stages"});
  return file("SchedLab stage profiles",
              "stage_profiles",
              {{"labels_bytes", bytes},
               {"stages", list_of(stage)},
               {"links", list_of(link)},
               {"tied", list_of(tied)}},
              {"schedlab", "stages"})
      .dump(2);
}

std::string plan_schema() {
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < host_call_kind_count; ++i) {
    kinds.emplace_back(to_string(static_cast<HostCallKind>(i)));
  }
  const Json stream = schema::object({{"name", type("string")},
                                      {"device", at_least_zero("integer")},
                                      {"priority", type("integer")},
                                      {"partition", at_least_zero("integer")},
                                      {"legacy_default", type("boolean")},
                                      {"blocking", type("boolean")}},
                                     {});
  const Json message = schema::object({{"from", at_least_zero("integer")},
                                       {"to", at_least_zero("integer")},
                                       {"bytes", at_least_zero("integer")},
                                       {"one_sided", words({"put", "get"})}},
                                      {"from", "to"});
  const Json node = schema::object({{"stream", at_least_zero("integer")},
                                    {"needs", list_of(at_least_zero("integer"))},
                                    {"programmatic", type("boolean")}},
                                   {"stream", "needs"});
  const Json graph = schema::object(
      {{"name", type("string")},
       {"node_priorities", type("boolean")},
       {"nodes", list_of(node)},
       {"launches", list_of(list_of(either(at_least_zero("integer"), type("string"))))}},
      {"name", "node_priorities", "nodes", "launches"});
  Json call = type("array");
  call["minItems"] = 1;
  call["items"] = Json::array({words(kinds)});  // the first element; what follows depends on it
  const Json host = schema::object({{"name", type("string")}, {"calls", list_of(call)}}, {"calls"});
  return file("SchedLab plan",
              "plan",
              {{"policy", type("string")},
               {"streams", list_of(stream)},
               {"partitions", list_of(at_least_zero("integer"))},
               {"events", at_least_zero("integer")},
               {"messages", list_of(message)},
               {"graphs", list_of(graph)},
               {"hosts", list_of(host)}},
              {"schedlab", "version", "streams", "hosts"})
      .dump(2);
}

std::string results_schema() {
  Json properties{{"scenario", at_least_zero("integer")}};
  properties["speed_up"] =
      Json{{"type", "number"}, {"description", "baseline's makespan over this one"}};
  for (const char* part : {"cut", "order"}) {
    properties[fmt::format("speed_up_{}", part)] =
        Json{{"type", "number"},
             {"description",
              fmt::format("the part of speed_up that is due to the {}; their product is speed_up",
                          part)}};
  }
  const ResultLayout all{.sampled = true,
                         .granularities = {all_granularities.begin(), all_granularities.end()}};
  for (const ResultColumn& column : result_columns(all)) {
    const char* word = column.type == ColumnType::text      ? "string"
                       : column.type == ColumnType::integer ? "integer"
                                                            : "number";
    properties[column.name] = Json{{"type", word}, {"description", column.doc}};
  }
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "SchedLab results: one row"},
                    {"description",
                     "the axes of the sweep are further columns, after scenario; samples and what "
                     "is said of them are there if the spec has the key variability"},
                    {"type", "object"},
                    {"properties", std::move(properties)},
                    {"required", {"scenario"}}};
  return schema.dump(2);
}

}  // namespace schedlab
