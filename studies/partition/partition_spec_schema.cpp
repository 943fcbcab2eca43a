// SPDX-License-Identifier: Apache-2.0
#include "hw_models/registry.hpp"
#include "sim/base/schema_parts.hpp"
#include "sim/graph/collective.hpp"
#include "sim/graph/task.hpp"
#include "studies/partition/partition_spec.hpp"
#include "workloads/pipeline/layer_workloads.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

constexpr std::int64_t max_accelerators = 100'000;
constexpr std::int64_t largest_bytes = 1'000'000'000'000'000;  // as in graph files

}  // namespace

schema::Json layer_models_schema() {
  Json alternatives = Json::array();
  for (const LayerWorkload& workload : layer_workloads()) {
    Json properties{{"kind", {{"const", workload.name}}}};
    std::vector<std::string> required{"kind"};
    for (const OptionSpec& option : workload.options) {
      properties[option.name] = Json{{"description", option.doc}};
      properties[option.name].update(schema::value_of(option));
      if (option.required) required.push_back(option.name);
    }
    alternatives.push_back(schema::object(properties, required, workload.summary));
  }
  return Json{{"anyOf", std::move(alternatives)}};
}

namespace {

std::vector<std::string> cost_model_names() {
  std::vector<std::string> names;
  for (const CostModelInfo& info : cost_models()) names.push_back(info.name);
  return names;
}

}  // namespace

std::string partition_spec_schema() {
  const Json names = schema::list(schema::list(schema::text("name of a layer")));
  const Json count = schema::integer(1, max_accelerators, "how many");
  const Json link =
      schema::object({{"bandwidth_gb_per_s", schema::number("between two stages; 0: no time")},
                      {"latency_us", schema::number("of each transfer; 0")}},
                     {"bandwidth_gb_per_s"},
                     "between stages; none: the machine's network, or the time that layers say");
  const Json stages{{"anyOf",
                     Json::array({schema::word({"auto"}, "they are found; the default"),
                                  schema::integer(1, max_accelerators, "found, exactly so many"),
                                  schema::list(schema::integer(1, largest_bytes, "layers"),
                                               "layers per stage, in their order"),
                                  schema::list(schema::list(schema::text("name of a layer")),
                                               "the layers of each stage")})}};
  return schema::file(
             "SchedLab partition",
             "partition",
             schema::object(
                 {{"name", schema::text("title of pictures")},
                  {"description", schema::text("what is asked")},
                  {"layers", layer_models_schema()},
                  {"machine",
                   schema::text("whose first device the layers run on; needed for kernels")},
                  {"cost_model",
                   schema::word(cost_model_names(), "the device's default if left out")},
                  {"pass",
                   schema::word({"training", "forward"}, "what a microbatch does; training")},
                  {"accelerators", {{"anyOf", Json::array({count, schema::list(count)})}}},
                  {"use_all", schema::flag("exactly so many; else at most; false")},
                  {"stages", stages},
                  {"replicas",
                   {{"anyOf",
                     Json::array({schema::integer(1, 1000, "of each of the stages; 1"),
                                  schema::list(count, "of each of your own stages")})}}},
                  {"max_replicas", schema::integer(1, 1000, "of one stage; 1")},
                  {"link", link},
                  {"transfers",
                   schema::word({"added", "overlapped"},
                                "to a stage's computing, or beside it; added")},
                  {"microbatches", schema::integer(1, largest_bytes, "of a batch; 1")},
                  {"in_flight",
                   schema::word(enum_names<InFlight>(), "later_stages, as 1F1B, if left out")},
                  {"parameter_copies", schema::number("weights, gradients, optimizer state; 3")},
                  {"memory_limit_gib",
                   schema::number("of one accelerator; the machine's if left out")},
                  {"objective", schema::word(enum_names<PartitionObjective>(), "load if left out")},
                  {"load_slack",
                   schema::number("objective memory: share that the load may rise; 0.1")},
                  {"tied",
                   schema::word({"replicated", "together"},
                                "layers that share parameters; replicated")},
                  {"together", names},
                  {"merge_untimed",
                   {{"anyOf",
                     Json::array({schema::word({"auto"}, "both are tried; the default"),
                                  schema::flag("layers without time go with what they read")})}}},
                  {"max_down_sets", schema::integer(2, 100'000, "that are all tried; 40000")}},
                 {"layers"},
                 "layers of a model that are put on stages of a pipeline"))
      .dump(2);
}

std::string layers_schema() {
  Json kernel{{"kind", schema::word(enum_names<TaskKind>(), "decides the cost formula")},
              {"data_type", schema::word(enum_names<DataType>(), "fp32 if left out")},
              {"flops", {{"type", "number"}, {"minimum", 0}}}};
  for (const char* size : {"m", "n", "k", "bytes_read", "bytes_written"}) {
    kernel[size] = {{"type", "integer"}, {"minimum", 0}};
  }
  const Json kernels = {{"type", "array"},
                        {"items", schema::object(kernel, {"kind"}, "a device kernel")}};
  Json layer{
      {"name", schema::text("each once")},
      {"needs",
       {{"type", "array"}, {"items", schema::text("name of a layer whose output it reads")}}},
      {"parameter_bytes", schema::integer(0, largest_bytes, "weights")},
      {"activation_bytes", schema::integer(0, largest_bytes, "output of one microbatch")},
      {"kept_bytes", schema::integer(0, largest_bytes, "what the backward pass needs")},
      {"transfer_us", schema::number("one way to another stage; else the link decides")},
      {"tied", schema::text("layers with the same word share their parameters")},
      {"collectives",
       schema::list(schema::object(
           {{"pass", schema::word({"forward", "backward_data", "backward_weight"}, "which")},
            {"kernels", schema::integer(0, max_accelerators, "of the pass, before it")},
            {"operation", schema::word(enum_names<CollectiveOp>(), "what it does")},
            {"bytes", schema::integer(0, largest_bytes, "as in graph files")}},
           {"pass", "operation", "bytes"},
           "of the ranks that share the layer, by pass and in their order"))}};
  for (const char* pass : {"forward", "backward_data", "backward_weight", "update"}) {
    layer[fmt::format("{}_us", pass)] = schema::number("of one microbatch");
    layer[fmt::format("{}_kernels", pass)] = kernels;
  }
  return schema::file("SchedLab layers",
                      "layers",
                      schema::object(
                          {{"name", schema::text("of the model")},
                           {"description", schema::text("where it comes from")},
                           {"samples", schema::integer(1, largest_bytes, "in a microbatch; 1")},
                           {"tensor_parallel",
                            schema::integer(1, max_accelerators, "ranks that share a layer; 1")},
                           {"layers",
                            schema::list(schema::object(layer, {"name"}, "in the model's order"))}},
                          {"layers"},
                          "layers of a model and who reads whose output"))
      .dump(2);
}

}  // namespace schedlab
