// SPDX-License-Identifier: Apache-2.0
#include "studies/partition/partition_spec.hpp"

#include "hw_models/machine_spec.hpp"
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "sim/base/spelling.hpp"
#include "studies/base/former_keys.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/partition/joined_layer_times.hpp"
#include "workloads/pipeline/layer_workloads.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

OptionValue option_value(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

class SpecReader {
 public:
  SpecReader(const Json& root, const std::string& file, const std::filesystem::path& folder)
      : root_(root), folder_(folder) {
    spec_.file = file;
  }

  PartitionSpec read() {
    spec_.name = root_.value("name", std::filesystem::path{spec_.file}.stem().string());
    spec_.description = root_.value("description", "");
    const LayerFile model = read_layers();
    spec_.notes = model.notes;
    read_rules(model);
    read_times();
    read_accelerators(model);
    read_stages();
    read_network();
    return std::move(spec_);
  }

 private:
  [[noreturn]] void refuse(const std::string& pointer,
                           const std::string& found,
                           const std::string& expected,
                           const std::string& hint = {}) const {
    throw InputError({.file = spec_.file,
                      .pointer = pointer,
                      .found = found,
                      .expected = expected,
                      .hint = hint});
  }

  LayerFile read_layers() {
    std::map<std::string, OptionValue> given;
    for (const auto& [key, value] : root_.at("layers").items()) {
      if (key != "kind") given[key] = option_value(value);
    }
    const auto path = given.find("path");
    if (path != given.end()) {
      if (auto* text = std::get_if<std::string>(&path->second)) *text = (folder_ / *text).string();
    }
    try {
      LayerFile model = make_layers(root_.at("layers").at("kind").get<std::string>(), given);
      if (model.graph.expert_parallel) {
        throw InfeasibleError(
            "partition: files of layers have no experts that ranks share\n  leave out "
            "expert_parallel");
      }
      spec_.graph = std::move(model.graph);
      return model;
    } catch (const InputError& error) {
      InputProblem problem = error.problem();
      if (!problem.file.empty()) throw;  // the file of layers
      problem.file = spec_.file;
      problem.pointer = "/layers" + problem.pointer;
      throw InputError(problem);
    }
  }

  void read_rules(const LayerFile& model) {
    PartitionRequest& request = spec_.request;
    StageRules& rules = request.rules;
    const std::string pass = root_.value("pass", model.forward_only ? "forward" : "training");
    if (pass == "training" && model.forward_only) {
      refuse("/pass", "\"training\"", "\"forward\": the layers have no backward pass");
    }
    rules.training = pass == "training";
    if (root_.contains("link")) {
      const Json& link = root_.at("link");
      rules.bandwidth = Bandwidth{1e9 * link.at("bandwidth_gb_per_s").get<double>()};
      rules.latency = from_us(link.value("latency_us", 0.0));
    }
    rules.overlapped = root_.value("transfers", "added") == "overlapped";
    rules.microbatches = root_.value("microbatches", rules.microbatches);
    rules.in_flight = enum_value<InFlight>(root_.value("in_flight", "later_stages"));
    rules.parameter_copies = root_.value("parameter_copies", rules.parameter_copies);
    request.max_replicas = root_.value("max_replicas", request.max_replicas);
    request.use_all = root_.value("use_all", false);
    request.memory_limit =
        root_.contains("memory_limit_gib")
            ? Bytes{static_cast<std::int64_t>(gib * root_.at("memory_limit_gib").get<double>())}
            : model.memory;
    request.objective = root_.value("objective", "load") == "memory" ? PartitionObjective::memory
                                                                     : PartitionObjective::load;
    request.load_slack = root_.value("load_slack", request.load_slack);
    request.tied_together = root_.value("tied", "replicated") == "together";
    if (root_.contains("merge_untimed") && root_.at("merge_untimed").is_boolean()) {
      request.merge_untimed = root_.at("merge_untimed").get<bool>();
    }
    request.max_down_sets = root_.value("max_down_sets", request.max_down_sets);
    if (root_.contains("together")) request.together = layer_lists("/together");
  }

  void read_times() {
    if (!root_.contains("machine")) {
      if (needs_machine(spec_.graph)) {
        refuse("", "no \"machine\"", "a machine: how long these layers take depends on it");
      }
      spec_.times = layer_times(spec_.graph);
      return;
    }
    spec_.machine = root_.at("machine").get<std::string>();
    const bool is_path =
        spec_.machine.ends_with(".json") || spec_.machine.find('/') != std::string::npos;
    const MachineSpec machine =
        load_machine(is_path ? (folder_ / spec_.machine).string() : spec_.machine);
    if (machine.platform.devices.empty()) {
      refuse("/machine", fmt::format("\"{}\"", spec_.machine), "a machine with a device");
    }
    const Device& device = machine.platform.devices[DeviceId{0}];
    const std::unique_ptr<CostModel> model =
        make_cost_model(root_.value("cost_model", std::string{default_cost_model_of(device)}));
    spec_.times = joined_layer_times(spec_.graph, *model, machine.platform);
    platform_ = machine.platform;
    if (spec_.request.memory_limit == Bytes{0}) {
      spec_.request.memory_limit = device.memory_capacity;
    }
  }

  void read_accelerators(const LayerFile& model) {
    const Json given = root_.value("accelerators", Json{});
    if (given.is_array()) {
      spec_.accelerators = given.get<std::vector<std::uint32_t>>();
    } else if (given.is_number()) {
      spec_.accelerators = {given.get<std::uint32_t>()};
    } else if (model.accelerators > 0) {
      spec_.accelerators = {model.accelerators};
    } else if (!root_.contains("stages") || root_.at("stages").is_string()) {
      refuse("", "no \"accelerators\"", "how many there are, or \"stages\"");
    }
    if (root_.contains("stages") && root_.at("stages").is_number()) read_stage_count(given);
  }

  /// So many stages, all with as many replicas.
  void read_stage_count(const Json& accelerators) {
    const auto stages = root_.at("stages").get<std::uint32_t>();
    if (root_.contains("max_replicas")) {
      refuse("/max_replicas", "it beside a number of stages", "\"replicas\": of each of them");
    }
    if (root_.contains("replicas") && !root_.at("replicas").is_number()) {
      refuse("/replicas", "a list", "one number: the replicas of each of the stages");
    }
    std::uint32_t replicas = root_.value("replicas", 1U);
    if (!accelerators.is_null()) {
      if (spec_.accelerators.size() > 1 || spec_.accelerators.front() % stages != 0 ||
          (root_.contains("replicas") && spec_.accelerators.front() != stages * replicas)) {
        refuse("/accelerators",
               accelerators.dump(),
               fmt::format(
                   "{}, or none: {} stages with as many replicas each", stages * replicas, stages));
      }
      replicas = spec_.accelerators.front() / stages;
    }
    spec_.accelerators = {stages * replicas};
    spec_.request.use_all = true;
    spec_.request.min_replicas = replicas;
    spec_.request.max_replicas = replicas;
  }

  /// Without a link of its own the machine's network is used: the slowest way between neighbours,
  /// because any of them may have a cut between them.
  void read_network() {
    if (root_.contains("link") || platform_.network.topology == Topology::none) return;
    const std::uint32_t ranks =
        *std::max_element(spec_.accelerators.begin(), spec_.accelerators.end()) *
        spec_.graph.tensor_parallel;
    if (ranks < 2) return;
    StageRules& rules = spec_.request.rules;
    const Routes routes(platform_.network, ranks);
    for (std::uint32_t rank = 0; rank + 1 < ranks; ++rank) {
      const Bandwidth bandwidth = routes.narrowest(rank, rank + 1);
      if (bandwidth.count() > 0 && (rules.bandwidth.count() <= 0 || bandwidth < rules.bandwidth)) {
        rules.bandwidth = bandwidth;
      }
      rules.latency = std::max(rules.latency, routes.latency(rank, rank + 1));
    }
    spec_.notes.push_back(
        fmt::format("link: {} GB/s and {} us, of the network of {}; \"link\" sets another",
                    rules.bandwidth.count() / 1e9,
                    to_us(rules.latency),
                    spec_.machine));
  }

  /// Lists of names of layers; each name exists.
  [[nodiscard]] std::vector<std::vector<LayerId>> layer_lists(const std::string& pointer) const {
    std::map<std::string, LayerId> by_name;
    std::vector<std::string> names;
    for (const LayerId id : spec_.graph.layers.ids()) {
      names.push_back(spec_.graph.layers[id].name);
      by_name.emplace(names.back(), id);
    }
    std::vector<std::vector<LayerId>> lists;
    const Json& given = root_.at(Json::json_pointer(pointer));
    for (std::size_t i = 0; i < given.size(); ++i) {
      lists.emplace_back();
      for (std::size_t j = 0; j < given[i].size(); ++j) {
        const auto name = given[i][j].get<std::string>();
        const auto found = by_name.find(name);
        if (found == by_name.end()) {
          refuse(fmt::format("{}/{}/{}", pointer, i, j),
                 fmt::format("\"{}\"", name),
                 fmt::format("the name of one of {} layers", names.size()),
                 did_you_mean(name, names));
        }
        lists.back().push_back(found->second);
      }
    }
    return lists;
  }

  void read_stages() {
    if (!root_.contains("stages") || !root_.at("stages").is_array()) return;
    const Json& stages = root_.at("stages");
    if (stages.at(0).is_number()) {
      spec_.stage_of = consecutive_stages(spec_.graph, stages.get<std::vector<std::int64_t>>());
    } else {
      constexpr std::uint32_t none = UINT32_MAX;
      spec_.stage_of = IdVector<LayerId, std::uint32_t>(spec_.graph.layers.size(), none);
      const auto lists = layer_lists("/stages");
      for (std::uint32_t stage = 0; stage < lists.size(); ++stage) {
        for (const LayerId id : lists[stage]) {
          if (spec_.stage_of[id] != none) {
            refuse(fmt::format("/stages/{}", stage),
                   fmt::format("\"{}\" for the second time", spec_.graph.layers[id].name),
                   "each layer on one stage");
          }
          spec_.stage_of[id] = stage;
        }
      }
      for (const LayerId id : spec_.graph.layers.ids()) {
        if (spec_.stage_of[id] != none) continue;
        refuse("/stages",
               fmt::format("no stage of layer \"{}\"", spec_.graph.layers[id].name),
               "each layer on one stage");
      }
    }
    read_replicas(stages.size());
  }

  void read_replicas(std::size_t stages) {
    if (root_.contains("replicas") && root_.at("replicas").is_number()) {
      spec_.replicas.assign(stages, root_.at("replicas").get<std::uint32_t>());
    } else if (root_.contains("replicas")) {
      spec_.replicas = root_.at("replicas").get<std::vector<std::uint32_t>>();
      if (spec_.replicas.size() != stages) {
        refuse("/replicas",
               fmt::format("{} numbers", spec_.replicas.size()),
               fmt::format("one for each of {} stages", stages));
      }
    } else {
      spec_.replicas.assign(stages, 1);
    }
    std::uint32_t sum = 0;
    for (const std::uint32_t replicas : spec_.replicas) sum += replicas;
    spec_.accelerators = {sum};
  }

  const Json& root_;
  const std::filesystem::path& folder_;
  PartitionSpec spec_;
  Platform platform_;  // of the machine; without one: no network
};

}  // namespace

PartitionSpec parse_partition_spec(const std::string& text,
                                   const std::string& file,
                                   const std::filesystem::path& folder) {
  read_checked_json(text, partition_spec_schema(), file);
  const Json root = Json::parse(text);
  return SpecReader(root, file, folder).read();
}

PartitionSpec load_partition_spec(const std::string& path, std::ostream* notes) {
  return parse_partition_spec(with_new_keys(read_file(path), "partition", path, notes),
                              path,
                              std::filesystem::path{path}.parent_path());
}

}  // namespace schedlab
