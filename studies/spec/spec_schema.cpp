// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/spec_schema.hpp"

#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/base/schema_parts.hpp"
#include "sim/launch/launch.hpp"
#include "studies/spec/adaptive.hpp"
#include "studies/spec/auto_split.hpp"
#include "studies/spec/axis_range.hpp"
#include "studies/spec/presets.hpp"
#include "studies/spec/ranks.hpp"
#include "studies/spec/variability.hpp"
#include "workloads/registry.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = schema::Json;

Json words(const std::vector<std::string>& allowed) {
  return Json{{"type", "string"}, {"enum", allowed}};
}

Json scalar_schema(const OptionSpec& option) {
  Json schema = schema::value_of(option);
  if (option.name == auto_split_option) {
    const Json word{{"const", "auto"}};
    return Json{{"anyOf", Json::array({std::move(schema), word})}};
  }
  return schema;
}

Json list_of(Json item) {
  return Json{{"type", "array"}, {"minItems", 1}, {"items", std::move(item)}};
}

/// The value itself, or a list of values: an axis.
Json axis(Json item) {
  Json list = list_of(item);
  return Json{{"anyOf", Json::array({std::move(item), std::move(list)})}};
}

bool is_number(const OptionSpec& option) {
  return std::holds_alternative<std::int64_t>(option.default_value) ||
         std::holds_alternative<double>(option.default_value);
}

Json option_schema(const OptionSpec& option) {
  Json schema = axis(scalar_schema(option));
  if (is_number(option)) schema["anyOf"].push_back(Json{{"$ref", "#/definitions/range"}});
  schema["description"] = option.doc;
  if (!option.required) {
    std::visit([&](const auto& value) { schema["default"] = value; }, option.default_value);
  }
  return schema;
}

Json object_schema(Json properties, const std::vector<std::string>& required) {
  properties["label"] = Json{{"type", "string"}, {"description", "name in results and plots"}};
  return schema::object(properties, required);
}

Json option_properties(const std::vector<OptionSpec>& options) {
  Json properties = Json::object();
  for (const OptionSpec& option : options) properties[option.name] = option_schema(option);
  return properties;
}

template <class Info>
std::vector<std::string> names_of(const std::vector<Info>& infos) {
  std::vector<std::string> names;
  names.reserve(infos.size());
  for (const Info& info : infos) names.push_back(info.name);
  return names;
}

/// `tag` (as in "name": "heft") and the knobs of the one it names.
template <class Info>
Json tagged_objects(const char* tag, const std::vector<Info>& infos) {
  Json choice = Json::array();
  for (const Info& info : infos) {
    Json properties = Json::object();
    properties[tag] = Json{{"type", "string"}, {"const", info.name}};
    properties.update(option_properties(info.options));
    Json object = object_schema(std::move(properties), {tag});
    object["description"] = info.summary;
    choice.push_back(std::move(object));
  }
  return choice;
}

/// `tag` is a list of names: the knobs of all of them are let through here, and those that one of
/// them does not have are refused when the list is expanded.
template <class Info>
Json name_list_object(const char* tag, const std::vector<Info>& infos) {
  std::map<std::string, Json> merged;
  for (const Info& info : infos) {
    for (const OptionSpec& option : info.options) {
      Json& choice = merged[option.name]["anyOf"];
      Json schema = option_schema(option);
      schema.erase("default");
      bool known = false;
      for (const Json& other : choice) known = known || other == schema;
      if (!known) choice.push_back(std::move(schema));
    }
  }
  Json properties = Json::object();
  properties[tag] = list_of(words(names_of(infos)));
  for (auto& [name, schema] : merged) properties[name] = std::move(schema);
  return object_schema(std::move(properties), {tag});
}

Json policy_item() {
  Json choice = Json::array({words(names_of(policies()))});
  for (Json& object : tagged_objects("name", policies())) choice.push_back(std::move(object));
  choice.push_back(name_list_object("name", policies()));
  return Json{{"anyOf", std::move(choice)}};
}

Json cost_model_item() {
  Json choice = Json::array({words(names_of(cost_models()))});
  for (Json& object : tagged_objects("name", cost_models())) choice.push_back(std::move(object));
  choice.push_back(name_list_object("name", cost_models()));
  return Json{{"anyOf", std::move(choice)}};
}

Json launch_item() {
  Json choice = Json::array({words(names_of(launch_infos()))});
  for (Json& object : tagged_objects("name", launch_infos())) choice.push_back(std::move(object));
  choice.push_back(name_list_object("name", launch_infos()));
  return Json{{"anyOf", std::move(choice)}};
}

Json preset_object() {
  Json properties = Json::object();
  properties["preset"] = axis(words(preset_names()));
  for (const WorkloadInfo& info : workloads()) {
    if (info.name == preset_kind()) properties.update(option_properties(info.options));
  }
  Json object = object_schema(std::move(properties), {"preset"});
  object["description"] = "a shipped shape; other keys override its values";
  return object;
}

Json workload_item() {
  Json choice = Json::array({words(preset_names())});
  for (Json& object : tagged_objects("kind", workloads())) choice.push_back(std::move(object));
  choice.push_back(preset_object());
  choice.push_back(name_list_object("kind", workloads()));
  return Json{{"anyOf", std::move(choice)}};
}

Json machine_item() {
  const Json name{{"type", "string"},
                  {"title", "the name of a machine or the path of a machine file"}};
  Json properties = Json::object();
  properties["base"] = axis(name);
  properties["path"] = axis(Json{{"type", "string"}, {"title", "the path of a machine file"}});
  properties.update(option_properties(machine_options()));
  return Json{{"anyOf", Json::array({name, object_schema(std::move(properties), {})})}};
}

Json variability_item() {
  Json object = object_schema(option_properties(variability_options()), {});
  object["description"] = "how the machine scatters from run to run, and how often it is drawn";
  return object;
}

Json ranks_item() {
  Json object = object_schema(option_properties(ranks_options()), {"count"});
  object["description"] =
      "data parallel: the workload on so many ranks, gradients summed over all of them";
  const Json count{{"type", "integer"}, {"minimum", 1}, {"maximum", max_ranks}};
  return Json{{"anyOf", Json::array({count, std::move(object)})}};
}

/// {"from": 16, "to": 256, "points": 61}
Json axis_range() {
  const Json end{{"type", "number"}};
  return {{"type", "object"},
          {"description", "an axis by its ends, which an adaptive sweep refines"},
          {"properties",
           {{"from", end},
            {"to", end},
            {"points", {{"type", "integer"}, {"minimum", 2}, {"maximum", max_axis_points}}},
            {"spacing", {{"type", "string"}, {"enum", {"linear", "geometric"}}}}}},
          {"required", {"from", "to", "points"}},
          {"additionalProperties", false}};
}

/// true or the settings; no axes.
Json adaptive_value() {
  Json properties = Json::object();
  for (const OptionSpec& option : adaptive_options()) {
    Json& schema = properties[option.name] = schema::value_of(option);
    schema["description"] = option.doc;
    std::visit([&](const auto& value) { schema["default"] = value; }, option.default_value);
  }
  return Json{{"anyOf", Json::array({Json{{"type", "boolean"}}, schema::object(properties, {})})}};
}

/// {"$ref": item} or a list of it.
Json reference(const std::string& item) {
  return axis(Json{{"$ref", "#/definitions/" + item}});
}

/// Keys whose schema says nothing of its own.
constexpr std::array<std::pair<const char*, const char*>, 16> top_level_meanings{
    {{"schedlab", "what the file is; may be left out"},
     {"version", "of this layout; may be left out"},
     {"name", "word for titles"},
     {"description", "text for the report"},
     {"workload", "what is run"},
     {"machine", "what it runs on"},
     {"cost_model", "how durations are estimated"},
     {"policy", "who makes the schedule"},
     {"launch", "how the host brings tasks to the device"},
     {"default_stream", "legacy: the lowest stream of a plan is the legacy default stream"},
     {"ranks", "data parallel: the workload on so many ranks"},
     {"variability", "how the machine scatters from run to run"},
     {"seed", "of every part that has a seed and is not given one"},
     {"adaptive", "run no more of the grid than shows where the winner changes"},
     {"baseline", "policy that speed-ups are over"},
     {"zip", "groups of axes that advance together"}}};

Json top_level() {
  Json properties = Json::object();
  properties["schedlab"] = words({"spec"});
  properties["version"] = Json{{"type", "integer"}, {"minimum", 1}, {"maximum", 1}};
  properties["name"] = Json{{"type", "string"}};
  properties["description"] = Json{{"type", "string"}};
  properties["workload"] = reference("workload");
  properties["machine"] = reference("machine");
  properties["cost_model"] = reference("cost_model");
  properties["policy"] = reference("policy");
  properties["launch"] = reference("launch");
  properties["default_stream"] = axis(words(default_stream_names()));
  properties["ranks"] = reference("ranks");
  properties["seed"] = axis(Json{{"type", "integer"}, {"minimum", 0}});
  properties["variability"] = reference("variability");
  properties["adaptive"] = adaptive_value();
  properties["baseline"] = words(names_of(policies()));
  properties["check"] = Json{{"type", "boolean"},
                             {"default", true},
                             {"description", "verify every plan of a sweep with the plan checker"}};
  properties["like_for_like"] =
      Json{{"type", "boolean"},
           {"default", true},
           {"description",
            "where policies of a sweep cut the workload differently: run each at the others' "
            "granularities, too, which tells the gain of the cut from that of the order"}};
  properties["memory"] = words({"check", "ignore"});
  properties["memory"]["default"] = "check";
  properties["memory"]["description"] =
      "check: a run whose tensors do not fit into the memory of a device fails";
  Json pointers = list_of(Json{{"type", "string"}, {"title", "the JSON pointer of an axis"}});
  pointers["minItems"] = 2;
  properties["zip"] = list_of(std::move(pointers));
  for (const auto& [key, meaning] : top_level_meanings) properties[key]["description"] = meaning;
  return properties;
}

}  // namespace

std::string spec_schema() {
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "a SchedLab spec"},
                    {"type", "object"},
                    {"properties", top_level()},
                    {"required", {"workload", "machine", "policy"}},
                    {"additionalProperties", false},
                    {"definitions",
                     {{"workload", workload_item()},
                      {"machine", machine_item()},
                      {"cost_model", cost_model_item()},
                      {"policy", policy_item()},
                      {"variability", variability_item()},
                      {"launch", launch_item()},
                      {"ranks", ranks_item()},
                      {"range", axis_range()}}}};
  return schema.dump(2);
}

}  // namespace schedlab
