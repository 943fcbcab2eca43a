// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/parallel_spec.hpp"

#include "hw_models/registry.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "sim/base/schema_parts.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/partition/partition_spec.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

namespace schedlab {
namespace {

using Json = schema::Json;

constexpr std::int64_t most_devices = 4096;
constexpr std::int64_t most_samples = 10'000'000;

std::string pipeline_of(const std::string& model) {
  return model == "file" ? "layer_file_pipeline" : model + "_pipeline";
}

bool has_workload(const std::string& name) {
  return std::any_of(workloads().begin(), workloads().end(), [&](const WorkloadInfo& info) {
    return info.name == name;
  });
}

constexpr std::string_view pairs = "batch_overlap";

/// Schedules of pipelines in the registry.
std::vector<std::string> pipeline_policies() {
  std::vector<std::string> names;
  for (const PolicyInfo& info : policies()) {
    const bool complete = std::none_of(info.options.begin(),
                                       info.options.end(),
                                       [](const OptionSpec& option) { return option.required; });
    if (info.for_ranks && complete && (info.name.starts_with("pipeline_") || info.name == pairs)) {
      names.push_back(info.name);
    }
  }
  return names;
}

OptionValue option_value_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.get<std::string>();
}

ParallelPolicy policy_of(const Json& value) {
  const auto policy = (value.is_string() ? value : value.at("name")).get<std::string>();
  ParallelPolicy result{.name = policy, .json = value.dump(), .in_pairs = policy == pairs};
  for (const PolicyInfo& info : policies()) {
    if (info.name != policy) continue;
    for (const OptionSpec& option : info.options) {
      if (option.name != "overlap") continue;
      const std::string usual = std::get<std::string>(option.default_value);
      result.overlaps =
          (value.is_object() ? value.value("overlap", Json(usual)) : Json(usual)) == "interleaved";
    }
  }
  if (value.is_object()) result.name = value.value("label", policy);
  return result;
}

/// A value, or a list of them.
template <class Item>
void read_axis(const Json& root, const char* key, std::vector<Item>& axis) {
  const auto found = root.find(key);
  if (found == root.end()) return;
  axis = found->is_array() ? found->get<std::vector<Item>>() : std::vector{found->get<Item>()};
}

void read_model(const Json& layers, ParallelSpec& spec) {
  spec.model = layers.at("kind").get<std::string>();
  spec.workload = pipeline_of(spec.model);
  if (!has_workload(spec.workload)) {
    throw InputError({.file = spec.file,
                      .pointer = "/layers/kind",
                      .found = fmt::format("\"{}\", of which there is no pipeline", spec.model),
                      .expected = "\"gpt\", \"resnet50\", \"mnist_cnn\" or \"file\"",
                      .hint = "`schedlab partition` writes any model's layers.json: a \"file\""});
  }
  for (const auto& [key, value] : layers.items()) {
    if (key != "kind") spec.options[key] = option_value_of(value);
  }
}

Json axis(const Json& item, std::string_view doc) {
  Json either = schema::one_or_more(item);
  either["description"] = doc;
  return either;
}

}  // namespace

ParallelSpec parse_parallel_spec(const std::string& text,
                                 const std::string& file,
                                 const std::filesystem::path& folder) {
  read_checked_json(text, parallel_spec_schema(), file);
  const Json root = Json::parse(text);
  ParallelSpec spec;
  spec.file = file;
  spec.folder = folder;
  spec.name = root.value("name", std::filesystem::path{file}.stem().string());
  spec.description = root.value("description", "");
  read_model(root.at("layers"), spec);
  spec.machine = root.at("machine").dump();
  spec.cost_model = root.value("cost_model", "");
  spec.devices = root.at("devices").get<std::uint32_t>();
  spec.use_all = root.value("use_all", spec.use_all);
  spec.batch = root.at("batch").get<std::int64_t>();
  if (root.contains("memory_limit_gib")) {
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    spec.memory_limit =
        Bytes{static_cast<std::int64_t>(gib * root.at("memory_limit_gib").get<double>())};
  }
  read_axis(root, "replicas", spec.replicas);
  read_axis(root, "stages", spec.stages);
  read_axis(root, "virtual_stages", spec.virtual_stages);
  read_axis(root, "tensor_parallel", spec.tensor_parallel);
  read_axis(root, "microbatches", spec.microbatches);
  read_axis(root, "recompute", spec.recompute);
  read_axis(root, "zero", spec.zero);
  read_axis(root, "placement", spec.placement);
  const OptionSpec* placement = option_of(spec, "placement");
  if (spec.placement.empty()) {
    spec.placement = placement == nullptr ? std::vector<std::string>{"loop"} : placement->allowed;
  }
  std::vector<Json> given;
  read_axis(root, "policy", given);
  if (given.empty()) {
    for (const std::string& name : pipeline_policies()) given.emplace_back(name);
  }
  for (const Json& each : given) spec.policies.push_back(policy_of(each));
  if (root.contains("training")) spec.training = root.at("training").dump();
  spec.rows = root.value("rows", spec.rows);
  spec.simulations = root.value("simulations", spec.simulations);
  return spec;
}

const OptionSpec* option_of(const ParallelSpec& spec, std::string_view name) {
  for (const WorkloadInfo& info : workloads()) {
    if (info.name != spec.workload) continue;
    for (const OptionSpec& option : info.options) {
      if (option.name == name) return &option;
    }
  }
  return nullptr;
}

ParallelSpec load_parallel_spec(const std::string& path) {
  return parse_parallel_spec(read_file(path), path, std::filesystem::path{path}.parent_path());
}

std::string parallel_spec_schema() {
  const Json count = schema::integer(1, most_devices, "");
  const Json name = schema::text("a name");
  const Json any_object{{"type", "object"}};
  const auto named = [&](std::string_view doc) {
    return Json{{"anyOf", Json::array({name, any_object})}, {"description", doc}};
  };
  std::vector<std::string> cost_model_names;
  for (const CostModelInfo& info : cost_models()) cost_model_names.push_back(info.name);
  const Json policy_object{{"type", "object"}, {"required", {"name"}}};
  const Json policy{{"anyOf", Json::array({schema::word(pipeline_policies(), ""), policy_object})}};
  return schema::file(
             "SchedLab plan-parallel",
             "parallel",
             schema::object(
                 {{"name", schema::text("title of the report")},
                  {"description", schema::text("what is asked")},
                  {"layers", layer_models_schema()},
                  {"machine", named("one of the devices and its network, as in a spec")},
                  {"cost_model",
                   schema::word(cost_model_names, "the device's default if left out")},
                  {"devices", schema::integer(1, most_devices, "how many there are")},
                  {"use_all", schema::flag("all of them; else at most; true")},
                  {"batch", schema::integer(1, most_samples, "samples of an iteration")},
                  {"memory_limit_gib",
                   schema::number("of one device; the machine's memory if left out")},
                  {"replicas", axis(count, "data-parallel groups to try; all if left out")},
                  {"stages", axis(count, "to try; all if left out")},
                  {"virtual_stages", axis(count, "of each rank, to try; 1 and 2 if left out")},
                  {"tensor_parallel",
                   axis(count, "ranks that share a stage, to try; all if left out")},
                  {"microbatches",
                   axis(schema::integer(1, most_samples, ""),
                        "of a replica, to try; all divisors of its batch if left out")},
                  {"recompute", axis(schema::flag(""), "to try; both if left out")},
                  {"placement",
                   axis(schema::text(""),
                        "of stages on ranks, to try; all that the workload has if left out")},
                  {"zero", axis(schema::integer(0, 3, ""), "stages of ZeRO to try; 0")},
                  {"policy", axis(policy, "schedules to try; all of pipelines if left out")},
                  {"training",
                   Json{{"type", "object"},
                        {"required", {"data"}},
                        {"description",
                         "data, optimizer, iterations, ... as in a training (schema training): the "
                         "best plan becomes one, where ranks of MPI train the model"}}},
                  {"rows", schema::integer(1, 1000, "that are ranked; 10")},
                  {"simulations", schema::integer(1, 10'000'000, "at most; 2000")}},
                 {"layers", "machine", "devices", "batch"},
                 "how to spread the training of a model over devices"))
      .dump(2);
}

}  // namespace schedlab
