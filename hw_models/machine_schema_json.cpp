// SPDX-License-Identifier: Apache-2.0
#include "hw_models/attention.hpp"
#include "hw_models/expert_exchange.hpp"
#include "hw_models/fitted_collective.hpp"
#include "hw_models/fitted_json.hpp"
#include "hw_models/machine_numbers.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/pipelined_product.hpp"
#include "hw_models/residual_trees.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

Json object(Json properties, const std::vector<std::string>& required = {}) {
  Json schema{
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Json bare_number(double minimum, double maximum, bool integer) {
  Json schema{{"type", integer ? "integer" : "number"}, {"minimum", minimum}};
  if (!std::isinf(maximum)) schema["maximum"] = maximum;
  return schema;
}

/// `properties` of an object with numbers, plus exactly one key that says where they come from.
Json with_origin(Json properties, const std::vector<std::string>& required) {
  Json one_of = Json::array();
  for (const Origin origin : {Origin::source, Origin::assumed, Origin::measured, Origin::fitted}) {
    const std::string word{to_string(origin)};
    properties[word] = {{"type", "string"}, {"minLength", 1}};
    one_of.push_back({{"required", {word}}});
  }
  Json schema = object(std::move(properties), required);
  schema["oneOf"] = std::move(one_of);
  return schema;
}

Json number(double minimum, double maximum, bool integer) {
  const Json value = bare_number(minimum, maximum, integer);
  return with_origin({{"value", value}, {"low", value}, {"high", value}}, {"value"});
}

Json rates_by_type() {
  Json properties = Json::object();
  for (const std::string& type : enum_names<DataType>()) properties[type] = number(0, 1e9, false);
  return object(std::move(properties));
}

Json residuals_schema() {
  std::string text =
      "A regression tree of 100 ln(measured / model), in preorder: a letter and a number ask "
      "whether a product has at most so much, and what follows holds for yes, then for no; a "
      "number alone is the residual. Trees add up. Letters:";
  for (const ResidualFeatureInfo& info : residual_features()) {
    text += fmt::format(" {} {};", info.letter, info.meaning);
  }
  text.back() = '.';
  return {{"type", "string"}, {"minLength", 1}, {"description", text}};
}

/// Tiles and parameters with their intervals.
Json pipelined_library_schema() {
  const auto fitted = [](double minimum, double maximum) {
    const Json value = bare_number(minimum, maximum, false);
    return object({{"value", value}, {"low", value}, {"high", value}}, {"value", "low", "high"});
  };
  const Json text{{"type", "string"}, {"minLength", 1}};
  const Json tile = object({{"m", bare_number(1, 65536, true)},
                            {"n", bare_number(1, 65536, true)},
                            {"efficiency", fitted(0.001, 1)}},
                           {"m", "n", "efficiency"});
  Json parameters = Json::object();
  std::vector<std::string> all;
  for (const ParameterInfo& info : product_parameters()) {
    all.emplace_back(info.name);
    parameters[all.back()] = fitted(info.minimum, info.maximum);
    parameters[all.back()]["description"] = std::string{info.meaning};
  }
  Json interval = object({{"rows", bare_number(1, 1e9, false)},
                          {"low", bare_number(0.001, 1000, false)},
                          {"high", bare_number(0.001, 1000, false)}},
                         {"rows", "low", "high"});
  interval["description"] =
      "Nine of ten products with up to so many rows of A take between low and high times the "
      "prediction.";
  Json types{{"type", "array"},
             {"minItems", 1},
             {"items", {{"type", "string"}, {"enum", enum_names<DataType>()}}}};
  return with_origin({{"name", text},
                      {"types", std::move(types)},
                      {"tiles", {{"type", "array"}, {"minItems", 1}, {"items", tile}}},
                      {"pipelined", object(std::move(parameters), all)},
                      {"intervals", {{"type", "array"}, {"items", interval}}},
                      {"residuals", {{"type", "array"}, {"items", residuals_schema()}}}},
                     {"name", "types", "tiles", "pipelined"});
}

Json library_schema() {
  const Json text{{"type", "string"}, {"minLength", 1}};
  const Json share = bare_number(0.001, 1, false);
  const Json pass = object(
      {{"fixed_us", bare_number(0, 1e6, false)},
       {"early_us", bare_number(0, 1e6, false)},
       {"memory_share", share},
       {"efficiency", share},
       {"narrow_efficiency", bare_number(0, 1, false)},
       {"slow_step_ns", bare_number(0, 1e6, false)}},
      {"fixed_us", "early_us", "memory_share", "efficiency", "narrow_efficiency", "slow_step_ns"});
  const Json weights = object({{"fixed_us", bare_number(0, 1e6, false)},
                               {"efficiency", share},
                               {"result_moves", bare_number(0, 1000, false)},
                               {"operand_moves", bare_number(0, 1000, false)}},
                              {"fixed_us", "efficiency", "result_moves", "operand_moves"});
  const Json tile = object({{"m", bare_number(1, 65536, true)},
                            {"n", bare_number(1, 65536, true)},
                            {"efficiency", share}},
                           {"m", "n", "efficiency"});
  const Json types{{"type", "array"},
                   {"minItems", 1},
                   {"items", {{"type", "string"}, {"enum", enum_names<DataType>()}}}};
  Json properties{{"name", text},
                  {"types", types},
                  {"tiles", {{"type", "array"}, {"minItems", 1}, {"items", tile}}},
                  {"call_us", bare_number(0, 1e6, false)},
                  {"split_us", bare_number(0, 1e6, false)},
                  {"tile_step_ns", bare_number(0, 1e6, false)},
                  {"max_split", bare_number(1, 64, true)},
                  {"memory_share", share},
                  {"strided_share", share},
                  {"layout_tn", bare_number(0.01, 100, false)},
                  {"narrow_side", bare_number(0, 65536, true)},
                  {"narrow_efficiency", share},
                  {"source", text}};
  std::vector<std::string> all;
  for (const auto& item : properties.items()) all.push_back(item.key());
  properties["recurrent"] =
      object({{"forward", pass}, {"data_gradient", pass}, {"weight_gradient", weights}},
             {"forward", "data_gradient", "weight_gradient"});
  return object(std::move(properties), all);
}

Json device_properties() {
  Json runs_on = Json::object();
  for (const std::string& kind : enum_names<TaskKind>()) runs_on[kind] = {{"type", "string"}};
  Json tile = with_origin({{"m", bare_number(1, 65536, true)},
                           {"n", bare_number(1, 65536, true)},
                           {"efficiency", bare_number(0.001, 1, false)},
                           {"threads", bare_number(1, 1024, true)},
                           {"registers", bare_number(1, 65535, true)},
                           {"shared_memory_bytes", bare_number(0, 1 << 30, true)}},
                          {"m", "n", "efficiency"});
  tile["dependencies"] = {{"threads", {"registers", "shared_memory_bytes"}},
                          {"registers", {"threads", "shared_memory_bytes"}},
                          {"shared_memory_bytes", {"threads", "registers"}}};
  Json properties{
      {"name", {{"type", "string"}, {"minLength", 1}}},
      {"unit_classes",
       {{"type", "object"},
        {"description", "Classes of compute units and how many there are; 0 = unlimited."},
        {"additionalProperties", number(0, 1'000'000, true)}}},
      {"sharing", {{"type", "string"}, {"enum", enum_names<SharingModel>()}}},
      {"runs_on", object(std::move(runs_on))},
      {"clblast",
       {{"type", "object"},
        {"description", "Parameters of CLBlast's kernels, as calibrate has found them."},
        {"additionalProperties",
         {{"type", "object"}, {"additionalProperties", number(0, 1 << 24, true)}}}}},
      {"matrix_tflop_per_s", rates_by_type()},
      {"vector_tflop_per_s", rates_by_type()},
      {"gemm_tiles", {{"type", "array"}, {"items", tile}}},
      {"conv_tiles", {{"type", "array"}, {"items", tile}}},
      {"matrix_libraries",
       {{"type", "array"},
        {"description", "How libraries run matrix kernels, fitted to published measurements."},
        {"items", {{"oneOf", {library_schema(), pipelined_library_schema()}}}}}}};
  properties["attention"] = object({{"context", parameters_schema(context_parameters())},
                                    {"generation", parameters_schema(generation_parameters())}});
  properties["attention"]["description"] =
      "How a library runs attention: of sequences of new tokens (context), of one new token each "
      "(generation).";
  properties["sharing"]["description"] =
      "How kernels share units: exclusive (whole units, start to end), fluid (block by block) or "
      "blocks (placed on single units).";
  properties["runs_on"]["description"] =
      "The class of units that each kind of task occupies; absent: none, it never waits for units.";
  return properties;
}

void add_fitted_network(Json& network) {
  const Json protocols{{"type", "array"}, {"items", parameters_schema(protocol_parameters())}};
  for (const auto& [key, what] :
       {std::pair{"ring_protocols", "rings"}, {"pairwise_protocols", "all-to-alls"}}) {
    network[key] = protocols;
    network[key]["description"] =
        fmt::format("A library's protocols for {} inside a node, by rising from_bytes.", what);
  }
  network["in_switch"] = parameters_schema(switch_parameters());
  network["in_switch"]["description"] = "All-reduces that the switch of a node adds up.";
  for (const auto& [key, what] : {std::pair{"expert_dispatch", "sent to their experts"},
                                  {"expert_combine", "fetched from their experts and added"}}) {
    network[key] = parameters_schema(expert_parameters());
    network[key]["description"] = fmt::format("Tokens {} inside a node.", what);
  }
}

Json sample_schema() {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  Json properties{{"operation", {{"type", "string"}, {"minLength", 1}}},
                  {"kind", {{"type", "string"}, {"enum", enum_names<TaskKind>()}}},
                  {"type", {{"type", "string"}, {"enum", enum_names<DataType>()}}}};
  for (const char* side : {"m", "n", "k"}) properties[side] = bare_number(0, 1e15, true);
  properties["flops"] = bare_number(0, no_limit, false);
  properties["bytes_read"] = bare_number(0, 1e18, true);
  properties["bytes_written"] = bare_number(0, 1e18, true);
  properties["working_set"] = bare_number(0, 1e18, true);
  properties["blocks"] = bare_number(1, 1'000'000, true);
  properties["units"] = bare_number(1, 1'000'000, true);
  properties["duration_us"] = bare_number(1e-6, 1e12, false);
  properties["spread"] = bare_number(0, no_limit, false);
  properties["repetitions"] = bare_number(1, 1'000'000, true);
  std::vector<std::string> all;
  for (const auto& item : properties.items()) all.push_back(item.key());
  for (const char* key : {"bytes_cached", "bytes_unit_cached"}) {
    properties[key] = bare_number(0, 1e18, true);  // not in files of older versions
  }
  return object(std::move(properties), all);
}

Json profile_schema() {
  const Json text{{"type", "string"}, {"minLength", 1}};
  Json co_run = Json::object();
  for (const std::string& kind : enum_names<TaskKind>())
    co_run[kind] = bare_number(0.5, 1000, false);
  const Json factors = object({{"one_unit", bare_number(0.001, 1000, false)},
                               {"all_units", bare_number(0.001, 1000, false)}},
                              {"one_unit", "all_units"});
  Json drift = Json::object();
  for (const std::string& kind : enum_names<TaskKind>()) drift[kind] = factors;
  const Json point =
      object({{"distance", bare_number(0, 1000, false)}, {"share", bare_number(0, 1, false)}},
             {"distance", "share"});
  Json schema =
      object({{"measured", text},
              {"date", text},
              {"cpu", {{"type", "string"}}},
              {"compiler", {{"type", "string"}}},
              {"valid", {{"type", "string"}}},
              {"units", bare_number(1, 1'000'000, true)},
              {"flops_per_block", bare_number(1, 1e18, false)},
              {"bytes_per_block", bare_number(1, 1e18, false)},
              {"noise", bare_number(0, std::numeric_limits<double>::infinity(), false)},
              {"last_block_wait", bare_number(0, 1, false)},
              {"hidden_latency", bare_number(0, 1, false)},
              {"co_run", object(std::move(co_run))},
              {"cache_curve", {{"type", "array"}, {"items", point}}},
              {"drift", {{"type", "array"}, {"items", object(std::move(drift))}}},
              {"samples", {{"type", "array"}, {"items", sample_schema()}}}},
             {"measured", "date", "units", "flops_per_block", "bytes_per_block", "noise"});
  schema["description"] = "Durations of kernels as schedlab calibrate measured them.";
  return schema;
}

}  // namespace

std::string machine_schema() {
  Json host = Json::object();
  Json device = device_properties();
  device["sm_limits"] = object(Json::object());
  device["sm_limits"]["description"] =
      "What one unit can hold of thread blocks with a known shape; absent: shapes are ignored.";
  device["core_group"] = object(Json::object());
  device["core_group"]["description"] =
      "Units that are groups of cores with a local memory each, for the cost model local_memory.";
  Json network{{"topology",
                {{"type", "string"},
                 {"enum", enum_names<Topology>()},
                 {"description", "How nodes are connected with each other; none: no network."}}}};
  add_fitted_network(network);
  for (const MachineNumber& field : machine_numbers()) {
    constexpr std::string_view in_device = "device/";
    Json& section = field.section == "host"     ? host
                    : field.section == "device" ? device
                    : field.section == "network"
                        ? network
                        : device[std::string{field.section.substr(in_device.size())}]["properties"];
    Json& entry = section[std::string{field.name}];
    entry = number(field.minimum, field.maximum, field.integer);
    entry["description"] = std::string{field.doc};
  }
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "SchedLab machine"},
              {"description", "One machine; every number says where it comes from."}};
  schema.update(object({{"name", {{"type", "string"}, {"minLength", 1}}},
                        {"description", {{"type", "string"}}},
                        {"host", object(std::move(host))},
                        {"device", object(std::move(device), {"name"})},
                        {"network", object(std::move(network), {"topology"})},
                        {"profile", profile_schema()}},
                       {"name", "device"}));
  return schema.dump(2) + "\n";
}

}  // namespace schedlab
