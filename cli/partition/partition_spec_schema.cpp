// SPDX-License-Identifier: Apache-2.0
#include "cli/partition/partition_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/graph/task.hpp"
#include "workloads/pipeline/layer_workloads.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_accelerators = 100'000;
constexpr std::int64_t largest_bytes = 1'000'000'000'000'000;  // as in graph files

Json text(const char* doc) {
  return Json{{"type", "string"}, {"description", doc}};
}
Json flag(const char* doc) {
  return Json{{"type", "boolean"}, {"description", doc}};
}
Json word(const std::vector<std::string>& allowed, const char* doc) {
  return Json{{"type", "string"}, {"enum", allowed}, {"description", doc}};
}
Json integer(std::int64_t least, std::int64_t most, const char* doc) {
  return Json{{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", doc}};
}
Json number(const char* doc) {
  return Json{{"type", "number"}, {"minimum", 0}, {"maximum", 1e12}, {"description", doc}};
}
Json list(const Json& items, const char* doc = nullptr) {
  Json schema{{"type", "array"}, {"items", items}, {"minItems", 1}};
  if (doc != nullptr) schema["description"] = doc;
  return schema;
}
Json object(Json properties, std::initializer_list<const char*> required, const char* doc) {
  return Json{{"type", "object"},
              {"properties", std::move(properties)},
              {"required", required},
              {"additionalProperties", false},
              {"description", doc}};
}

Json option_schema(const OptionSpec& option) {
  Json schema{{"description", option.doc}};
  if (std::holds_alternative<bool>(option.default_value)) {
    schema["type"] = "boolean";
  } else if (std::holds_alternative<std::int64_t>(option.default_value)) {
    schema["type"] = "integer";
    schema["minimum"] = static_cast<std::int64_t>(option.minimum);
    schema["maximum"] = static_cast<std::int64_t>(option.maximum);
  } else {
    schema["type"] = "string";
    if (!option.allowed.empty()) schema["enum"] = option.allowed;
  }
  return schema;
}

Json models() {
  Json alternatives = Json::array();
  for (const LayerWorkload& workload : layer_workloads()) {
    Json properties{{"kind", {{"const", workload.name}}}};
    Json required = Json::array({"kind"});
    for (const OptionSpec& option : workload.options) {
      properties[option.name] = option_schema(option);
      if (option.required) required.push_back(option.name);
    }
    alternatives.push_back({{"type", "object"},
                            {"properties", std::move(properties)},
                            {"required", std::move(required)},
                            {"additionalProperties", false},
                            {"description", workload.summary}});
  }
  return Json{{"anyOf", std::move(alternatives)}};
}

std::vector<std::string> cost_model_names() {
  std::vector<std::string> names;
  for (const CostModelInfo& info : cost_models()) names.push_back(info.name);
  return names;
}

Json file(const char* title, const char* what, const Json& contents) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(contents);
  schema["properties"]["schedlab"] = {{"const", what}};
  schema["properties"]["version"] = {{"const", 1}};
  schema["required"].push_back("schedlab");
  schema["required"].push_back("version");
  return schema;
}

}  // namespace

std::string partition_spec_schema() {
  const Json names = list(list(text("name of a layer")));
  const Json count = integer(1, most_accelerators, "how many");
  const Json link = object({{"bandwidth_gb_per_s", number("between two stages; 0: no time")},
                            {"latency_us", number("of each transfer; 0")}},
                           {"bandwidth_gb_per_s"},
                           "between stages; none: transfers take the time that layers say");
  const Json stages{
      {"anyOf",
       Json::array({word({"auto"}, "they are found; the default"),
                    list(integer(1, largest_bytes, "layers"), "layers per stage, in their order"),
                    list(list(text("name of a layer")), "the layers of each stage")})}};
  return file(
             "SchedLab partition",
             "partition",
             object({{"name", text("title of pictures")},
                     {"description", text("what is asked")},
                     {"layers", models()},
                     {"machine", text("whose first device the layers run on; needed for kernels")},
                     {"cost_model", word(cost_model_names(), "the device's default if left out")},
                     {"pass", word({"training", "forward"}, "what a microbatch does; training")},
                     {"accelerators", {{"anyOf", Json::array({count, list(count)})}}},
                     {"use_all", flag("exactly so many; else at most; false")},
                     {"stages", stages},
                     {"replicas", list(count, "of each of your own stages; 1")},
                     {"most_replicas", integer(1, 1000, "of one stage; 1")},
                     {"link", link},
                     {"transfers",
                      word({"added", "overlapped"}, "to a stage's computing, or beside it; added")},
                     {"microbatches", integer(1, largest_bytes, "of a batch; 1")},
                     {"in_flight", word(in_flight_names(), "later_stages, as 1F1B, if left out")},
                     {"parameter_copies", number("weights, gradients, optimizer state; 3")},
                     {"memory_limit_gib", number("of one accelerator; the machine's if left out")},
                     {"objective", word(partition_objective_names(), "load if left out")},
                     {"load_slack", number("objective memory: share that the load may rise; 0.1")},
                     {"tied",
                      word({"replicated", "together"}, "layers that share parameters; replicated")},
                     {"together", names},
                     {"merge_untimed", flag("layers without time go with what they read; true")},
                     {"most_down_sets", integer(2, 100'000, "that are all tried; 40000")}},
                    {"layers"},
                    "layers of a model that are put on stages of a pipeline"))
      .dump(2);
}

std::string layers_schema() {
  Json kernel{{"kind", word(task_kind_names(), "decides the cost formula")},
              {"data_type", word(data_type_names(), "fp32 if left out")},
              {"flops", {{"type", "number"}, {"minimum", 0}}}};
  for (const char* size : {"m", "n", "k", "bytes_read", "bytes_written"}) {
    kernel[size] = {{"type", "integer"}, {"minimum", 0}};
  }
  const Json kernels = {{"type", "array"}, {"items", object(kernel, {"kind"}, "a device kernel")}};
  Json layer{
      {"name", text("each once")},
      {"needs", {{"type", "array"}, {"items", text("name of a layer whose output it reads")}}},
      {"parameter_bytes", integer(0, largest_bytes, "weights")},
      {"activation_bytes", integer(0, largest_bytes, "output of one microbatch")},
      {"kept_bytes", integer(0, largest_bytes, "what the backward pass needs")},
      {"transfer_us", number("one way to another stage; else the link decides")},
      {"tied", text("layers with the same word share their parameters")}};
  for (const char* pass : {"forward", "backward_data", "backward_weight", "update"}) {
    layer[fmt::format("{}_us", pass)] = number("of one microbatch");
    layer[fmt::format("{}_kernels", pass)] = kernels;
  }
  return file("SchedLab layers",
              "layers",
              object({{"name", text("of the model")},
                      {"description", text("where it comes from")},
                      {"samples", integer(1, largest_bytes, "in a microbatch; 1")},
                      {"layers", list(object(layer, {"name"}, "in the model's order"))}},
                     {"layers"},
                     "layers of a model and who reads whose output"))
      .dump(2);
}

}  // namespace schedlab
