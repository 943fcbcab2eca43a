// SPDX-License-Identifier: Apache-2.0
#include "studies/parallel/parallel_training.hpp"

#include "sim/base/error.hpp"
#include "studies/training/resolved_training.hpp"
#include "studies/training/training_spec.hpp"
#include "workloads/pipeline/layer_workloads.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

/// A model as a net that ranks train: what each of its layers becomes, in order.
struct TrainedNet {
  std::vector<Json> layers;
  std::vector<std::int64_t> made_of;  ///< so many of `layers` are each layer of the model
  Json data;                          ///< keys that the model decides
  std::string refused{};              ///< why it is not trained; empty: it is

  void add(const std::vector<Json>& all) {
    made_of.push_back(static_cast<std::int64_t>(all.size()));
    layers.insert(layers.end(), all.begin(), all.end());
  }
};

/// All options of the spec's model, given or not.
Options model_options(const ParallelSpec& spec) {
  for (const LayerWorkload& workload : layer_workloads()) {
    if (workload.name == spec.model) {
      return resolve_options("layers", workload.options, spec.options);
    }
  }
  throw ContractViolation(fmt::format("no model \"{}\"", spec.model));
}

Json net_layer(const char* kind, const Json& settings = Json::object()) {
  Json all = Json::object();
  all["kind"] = kind;
  all.update(settings);
  return all;
}
Json dense_layer(std::int64_t units, const char* flag = nullptr) {
  Json all = net_layer("dense", {{"units", units}});
  if (flag != nullptr) all[flag] = true;
  return all;
}

/// As detail::mnist_cnn_layers(), layer by layer.
TrainedNet mnist_cnn_net(const Options& options) {
  TrainedNet net;
  net.add({net_layer("conv2d", {{"units", 32}, {"relu", true}})});
  net.add({net_layer("conv2d", {{"units", 64}, {"relu", true}})});
  net.add({net_layer("max_pool")});
  net.add({net_layer("dropout", {{"rate", 0.25}})});
  net.add({dense_layer(128, "relu")});
  net.add({net_layer("dropout", {{"rate", 0.5}})});
  net.add({dense_layer(options.integer("classes"))});
  net.data["shape"] = {options.integer("image"), options.integer("image"), 1};
  return net;
}

/// As gpt_layer_graph(), operator by operator.
class GptNet {
 public:
  explicit GptNet(const Options& options)
      : hidden_(options.integer("hidden")),
        heads_(options.integer("heads")),
        operators_(options.text("granularity") == "operator") {
    if (options.flag("tied")) net_.refused = "words and classifier share weights (tied)";
    if (options.integer("stride") != 0) net_.refused = "attention is sparse (stride)";
    if (options.integer("experts") != 0) net_.refused = "it has experts";
    net_.add({net_layer(
        "embedding",
        {{"units", hidden_}, {"vocabulary", options.integer("vocabulary")}, {"name", "state0"}})});
    net_.add({});  // positions: of the embedding
    for (std::int64_t block = 0; block < options.integer("blocks"); ++block) add_block(block);
    net_.add({net_layer("layer_norm")});
    net_.add({dense_layer(options.integer("vocabulary"), "per_row")});
    net_.data["length"] = options.integer("window");
  }
  [[nodiscard]] TrainedNet take() { return std::move(net_); }

 private:
  static Json sum(const std::string& with, const std::string& name) {
    return net_layer("add", {{"adds", with}, {"name", name}});
  }

  void add_block(std::int64_t block) {
    const std::string state = fmt::format("state{}", block);
    const std::string middle = fmt::format("middle{}", block);
    const std::string next = fmt::format("state{}", block + 1);
    const auto rows = [](std::int64_t units) { return dense_layer(units, "per_row"); };
    net_.add({net_layer("layer_norm")});
    net_.add({rows(3 * hidden_)});
    net_.add({net_layer("attention", {{"heads", heads_}})});
    net_.add({rows(hidden_), sum(state, middle)});
    net_.add({net_layer("layer_norm")});
    net_.add({rows(4 * hidden_), net_layer("gelu")});
    net_.add({rows(hidden_), sum(middle, next)});
    if (operators_) return;
    constexpr std::size_t operators = 7;  // one layer of the model
    const auto first = net_.made_of.end() - operators;
    const std::int64_t layers = std::accumulate(first, net_.made_of.end(), std::int64_t{0});
    net_.made_of.erase(first, net_.made_of.end());
    net_.made_of.push_back(layers);
  }

  std::int64_t hidden_;
  std::int64_t heads_;
  bool operators_;
  TrainedNet net_;
};

TrainedNet net_of(const ParallelSpec& spec) {
  const Options options = model_options(spec);
  TrainedNet net = spec.model == "gpt" ? GptNet(options).take() : mnist_cnn_net(options);
  if (options.text("data_type") != "fp32") net.refused = "ranks compute in fp32 (data_type)";
  return net;
}

/// Why ranks cannot train so; empty: they can.
std::string refusal(const ParallelChoice& choice) {
  if (choice.tensor_parallel > 1) return "ranks share a stage";
  if (choice.zero > 0) return "optimizer states are divided (ZeRO)";
  if (choice.virtual_stages > 1 && choice.placement != "loop") return "stages are placed otherwise";
  if (choice.copies() > 1) return "ranks have copies of a stage";
  return {};
}

/// Layers of the net in each stage; empty if a stage would have none.
std::vector<std::int64_t> net_cut(const TrainedNet& net, const std::vector<std::int64_t>& cut) {
  std::vector<std::int64_t> layers;
  auto next = net.made_of.begin();
  for (const std::int64_t count : cut) {
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < count; ++i) all += *next++;
    if (all == 0) return {};
    layers.push_back(all);
  }
  return layers;
}

/// The user's data and settings; noisy pictures where there are none.
Json settings_of(const ParallelSpec& spec, const TrainedNet& net) {
  Json settings = spec.training.empty() ? Json::object() : Json::parse(spec.training);
  Json& data = settings["data"];
  if (data.is_null()) {
    data["kind"] = "synthetic";
    data["classes"] = net.layers.back().at("units");
    data["samples"] = std::max<std::int64_t>(1000, 2 * spec.batch);
  }
  for (const auto& [key, value] : net.data.items()) {
    if (key != "length" || data.value("kind", "") == "text") data[key] = value;
  }
  if (!settings.contains("optimizer")) {
    const std::string kind = model_options(spec).text("optimizer");
    // Kingma and Ba, arXiv 1412.6980, section 2, for Adam; that of training specs for SGD.
    settings["optimizer"] = {{"kind", kind}, {"learning_rate", kind == "adam" ? 0.001 : 0.1}};
  }
  return settings;
}

Json training_json(const ParallelSpec& spec,
                   const TrainedNet& net,
                   const ParallelChoice& choice,
                   const std::vector<std::int64_t>& stages,
                   const Json& policy) {
  Json json{{"schedlab", "training"}, {"version", 1}, {"name", spec.name}};
  const Json settings = settings_of(spec, net);
  json["data"] = settings.at("data");
  json["layers"] = net.layers;
  for (const auto& [key, value] : settings.items()) {
    if (key != "data") json[key] = value;
  }
  json["batch"] = spec.batch;
  json["microbatches"] = choice.microbatches;
  json["replicas"] = choice.replicas;
  json["stages"] = stages;
  json["virtual_stages"] = choice.virtual_stages;
  json["recompute"] = choice.recompute;
  json["policy"] = policy;
  if (json["policy"].is_object()) json["policy"].erase("label");
  return json;
}

TrainingSpec checked_training(const ParallelSpec& spec, const Json& json) {
  try {
    return parse_training_spec(json.dump(), spec.file, spec.folder.string());
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    if (problem.file == spec.file) problem.pointer = "/training" + problem.pointer;
    throw InputError(std::move(problem));
  }
}

void move_path(const ParallelSpec& spec,
               const std::filesystem::path& folder,
               Json& json,
               const char* key) {
  if (!json.contains(key)) return;
  json[key] = detail::moved_path(spec, json[key].get<std::string>(), folder);
}

/// The model decides shapes of samples; those of other data would be looked for in vain. Throws
/// InputError.
void expect_samples_of_model(const ParallelSpec& spec) {
  const Json::json_pointer at{"/data/kind"};
  const Json training = spec.training.empty() ? Json::object() : Json::parse(spec.training);
  if (!training.contains(at) || !training[at].is_string()) return;
  const std::string kind = training[at];
  const bool reads = spec.model == "gpt";
  if (reads == (kind == "text")) return;
  throw InputError({.file = spec.file,
                    .pointer = "/training/data/kind",
                    .found = fmt::format("\"{}\" for layers of kind \"{}\"", kind, spec.model),
                    .expected = reads ? "\"text\"" : "pictures: \"file\", \"idx\" or \"synthetic\"",
                    .hint = {}});
}

}  // namespace

bool has_training(const ParallelSpec& spec) {
  return spec.model == "mnist_cnn" || (spec.model == "gpt" && !spec.training.empty());
}

void expect_training(const ParallelSpec& spec) {
  if (!has_training(spec)) {
    if (spec.training.empty()) return;
    throw InputError({.file = spec.file,
                      .pointer = "/training",
                      .found = fmt::format("a training of \"{}\"", spec.model),
                      .expected = "layers of kind \"mnist_cnn\" or \"gpt\" with it",
                      .hint = {}});
  }
  const TrainedNet net = net_of(spec);
  if (!net.refused.empty()) return;
  expect_samples_of_model(spec);
  const auto layers = static_cast<std::int64_t>(net.layers.size());
  static_cast<void>(
      checked_training(spec, training_json(spec, net, {}, {layers}, "pipeline_flush")));
}

PlannedTraining training_of(const ParallelPlan& plan, const std::filesystem::path& folder) {
  const ParallelSpec& spec = *plan.spec;
  const TrainedNet net = net_of(spec);
  PlannedTraining planned{.why = net.refused};
  for (std::size_t i = 0; i < plan.rows.size() && net.refused.empty(); ++i) {
    const ParallelRow& row = plan.rows[i];
    std::string why = refusal(row.choice);
    const std::vector<std::int64_t> stages = net_cut(net, row.layers_per_stage);
    if (why.empty() && stages.empty()) why = "a stage has positions alone";
    if (why.empty()) {
      Json json =
          training_json(spec, net, row.choice, stages, Json::parse(spec.policies[row.policy].json));
      try {
        const TrainingSpec read = checked_training(spec, json);
        expect_plan(read, stages_for_ranks(read, 0));
        move_path(spec, folder, json["data"], "path");
        move_path(spec, folder, json, "parameters");
        planned.json = json.dump(2) + "\n";
        planned.row = i;
        return planned;
      } catch (const InfeasibleError& error) {
        why = error.what();
      }
    }
    if (planned.why.empty()) planned.why = why;
  }
  return planned;
}

}  // namespace schedlab
