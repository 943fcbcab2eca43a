// SPDX-License-Identifier: Apache-2.0
#include "studies/training/training_spec.hpp"

#include "policies/registry.hpp"
#include "real_exec/training/idx_samples.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/json_node.hpp"
#include "studies/base/former_keys.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/training/parameter_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

namespace schedlab {
namespace {

using Json = nlohmann::ordered_json;

SampleShape shape_of(const Json& json) {
  if (json.at("kind") == "text") return {json.at("length"), 1, 1};
  return {json.at("shape").at(0), json.at("shape").at(1), json.at("shape").at(2)};
}

TrainingData data_from(const Json& json,
                       const std::filesystem::path& folder,
                       std::uint64_t order_seed) {
  const SampleShape shape = shape_of(json);
  if (json.at("kind") == "synthetic") {
    const LabelledSamples samples = synthetic_samples(shape,
                                                      json.at("classes"),
                                                      json.at("samples"),
                                                      json.value("noise", 0.3),
                                                      json.value("seed", std::uint64_t{1}));
    return split_for_testing(samples, order_seed);
  }
  const std::filesystem::path path = folder / json.at("path").get<std::string>();
  if (json.at("kind") == "text") {
    return split_for_testing(text_samples(read_file(path), path, shape.height), order_seed);
  }
  if (json.at("kind") == "idx") return read_idx_folder(path, shape);
  return split_for_testing(read_labelled_csv(read_file(path), path, shape), order_seed);
}

NetLayerSpec layer_from(const Json& json) {
  NetLayerSpec layer;
  layer.kind = enum_value<NetLayerKind>(json.at("kind").get_ref<const std::string&>());
  layer.name = json.value("name", "");
  layer.units = json.value("units", layer.units);
  layer.kernel = json.value("kernel", layer.kernel);
  layer.window = json.value("window", layer.window);
  layer.rate = json.value("rate", layer.rate);
  layer.relu = json.value("relu", layer.relu);
  layer.sequences = json.value("sequences", layer.sequences);
  layer.per_row = json.value("per_row", layer.per_row);
  layer.vocabulary = json.value("vocabulary", layer.vocabulary);
  layer.heads = json.value("heads", layer.heads);
  layer.shares = json.value("shares", "");
  layer.reads = json.value("reads", "");
  layer.adds = json.value("adds", "");
  return layer;
}

/// Reads one file, whose form the schema has checked.
class TrainingReader {
 public:
  TrainingReader(const std::string& text, const std::string& file)
      : node_(read_checked_json(text, training_spec_schema(), file)) {
    root_ = Json::parse(text);
    spec_.file = file;
    spec_.text = text;
  }

  TrainingSpec read(const std::filesystem::path& folder) {
    spec_.name = root_.value("name", std::filesystem::path{spec_.file}.stem().string());
    read_training();
    read_net();
    read_parameters(folder);
    read_data(folder);
    read_stages();
    read_policy();
    return std::move(spec_);
  }

 private:
  [[noreturn]] void reject(std::string pointer,
                           std::string found,
                           std::string expected,
                           std::string hint = {}) const {
    throw InputError({.file = spec_.file,
                      .pointer = std::move(pointer),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = std::move(hint)});
  }

  void read_training() {
    PipelineTraining& training = spec_.training;
    training.batch = root_.at("batch");
    training.microbatches = root_.value("microbatches", std::int64_t{1});
    training.replicas = root_.value("replicas", 1U);
    training.virtual_stages = root_.value("virtual_stages", 1U);
    const auto seed = root_.value("seed", std::uint64_t{1});
    training.order_seed = seed;
    training.setting.seed = seed;
    training.setting.recompute = root_.value("recompute", false);
    training.by_layer = root_.value("passes", "whole") == "layers";
    training.compression = enum_value<Compression>(root_.value("compression", "none"));
    if (root_.contains("optimizer")) {
      const Json& json = root_.at("optimizer");
      OptimizerSpec& optimizer = training.setting.optimizer;
      optimizer.kind = json.at("kind") == "adam" ? Optimizer::adam : Optimizer::sgd;
      optimizer.learning_rate = json.at("learning_rate");
    }
    spec_.iterations = root_.value("iterations", std::int64_t{20});
    spec_.verified_iterations =
        std::min(spec_.iterations, root_.value("verified_iterations", std::int64_t{1}));
    if (training.batch / training.replicas < training.microbatches) {
      reject("/batch",
             fmt::format("{}", training.batch),
             fmt::format("at least {}, one sample for each of {} micro-batches of {} replicas",
                         training.replicas * training.microbatches,
                         training.microbatches,
                         training.replicas));
    }
    if (training.by_layer && !training.equal_microbatches()) {
      reject("/batch",
             fmt::format("{}", training.batch),
             fmt::format("a multiple of {}: passes by layer need equal micro-batches",
                         training.replicas * training.microbatches));
    }
  }

  void read_net() {
    spec_.training.net.input = shape_of(root_.at("data"));
    for (const Json& json : root_.at("layers"))
      spec_.training.net.layers.push_back(layer_from(json));
    try {
      NetSpec& net = spec_.training.net;
      const SampleShape logits = layer_shapes(net).back();
      if (root_.at("data").at("kind") == "text") {
        net.labels = net.input.height;
        if (logits.height != net.labels) {
          reject("/layers",
                 fmt::format("{} behind the last layer", to_string(logits)),
                 fmt::format("a row for each of the {} characters", net.labels));
        }
      }
      classes_ = logits.elements() / net.labels;
    } catch (const InputError& error) {
      const InputProblem& problem = error.problem();
      reject(problem.pointer, problem.found, problem.expected, problem.hint);
    }
  }

  void read_parameters(const std::filesystem::path& folder) {
    if (!root_.contains("parameters")) return;
    const std::filesystem::path path = folder / root_.at("parameters").get<std::string>();
    spec_.training.setting.parameters = std::make_shared<const std::vector<float>>(
        read_parameters_npz(read_file(path), path.string(), spec_.training.net));
  }

  void read_data(const std::filesystem::path& folder) {
    TrainingData data = data_from(root_.at("data"), folder, spec_.training.order_seed);
    if (data.train.classes > classes_) {
      reject("/layers",
             fmt::format("{} values behind the last layer", classes_),
             fmt::format("one for each of the {} classes of the data", data.train.classes));
    }
    for (std::size_t i = 0; i < spec_.training.net.layers.size(); ++i) {
      const NetLayerSpec& layer = spec_.training.net.layers[i];
      if (layer.kind != NetLayerKind::embedding || layer.vocabulary >= data.train.classes) continue;
      reject(fmt::format("/layers/{}/vocabulary", i),
             fmt::format("{}", layer.vocabulary),
             fmt::format("at least {}, the characters of the text", data.train.classes));
    }
    if (data.train.size() < spec_.training.batch) {
      reject("/batch",
             fmt::format("{}", spec_.training.batch),
             fmt::format("at most {}, the samples that are trained on", data.train.size()));
    }
    spec_.training.data = std::move(data.train);
    spec_.test = std::move(data.test);
  }

  void read_stages() {
    spec_.balance_memory = root_.value("balance", "time") == "memory";
    constexpr double mib = 1024.0 * 1024.0;
    spec_.memory_limit =
        Bytes{static_cast<std::int64_t>(mib * root_.value("memory_limit_mib", 0.0))};
    const auto layers = static_cast<std::int64_t>(spec_.training.net.layers.size());
    const std::uint32_t virtual_stages = spec_.training.virtual_stages;
    if (!root_.contains("stages")) return;
    const Json& json = root_.at("stages");
    if (json.is_number()) {
      spec_.stage_count = json.get<std::uint32_t>();
      if (*spec_.stage_count > layers) {
        reject("/stages", json.dump(), fmt::format("at most {}, one layer in each", layers));
      }
    } else {
      std::int64_t sum = 0;
      for (const Json& count : json) sum += spec_.layers_per_stage.emplace_back(count);
      if (sum != layers) {
        reject("/stages",
               fmt::format("{} layers in all", sum),
               fmt::format("{}, those of the net", layers));
      }
      spec_.stage_count = static_cast<std::uint32_t>(spec_.layers_per_stage.size());
    }
    if (*spec_.stage_count % virtual_stages != 0) {
      reject("/virtual_stages",
             fmt::format("{}", virtual_stages),
             fmt::format("a divisor of the {} stages", *spec_.stage_count));
    }
  }

  void read_policy() {
    const JsonNode* node = node_.find("policy");
    if (node->kind == JsonKind::string) {
      spec_.policy = node->text();
    } else {
      spec_.policy = node->find("name")->text();
      for (std::size_t i = 0; i < node->keys.size(); ++i) {
        if (node->keys[i] != "name") {
          spec_.policy_options.emplace(node->keys[i], node->items[i].scalar);
        }
      }
    }
    try {
      static_cast<void>(make_policy(spec_.policy, spec_.policy_options));
    } catch (const InputError& error) {
      const InputProblem& problem = error.problem();
      reject(problem.pointer == "/name" && node->kind == JsonKind::string
                 ? "/policy"
                 : "/policy" + problem.pointer,
             problem.found,
             problem.expected,
             problem.hint);
    }
    if (!spec_.policy.starts_with("pipeline_") && spec_.policy != "batch_overlap" &&
        spec_.policy != "search") {
      reject("/policy",
             fmt::format("\"{}\"", spec_.policy),
             "a schedule of a pipeline, pipeline_1f1b for instance, or search");
    }
  }

  JsonNode node_;
  Json root_;
  TrainingSpec spec_;
  std::int64_t classes_ = 0;
};

}  // namespace

std::optional<std::uint32_t> TrainingSpec::ranks() const {
  if (!stage_count) return std::nullopt;
  return training.replicas * (*stage_count / training.virtual_stages);
}

TrainingSpec parse_training_spec(const std::string& text,
                                 const std::string& file,
                                 const std::string& folder) {
  return TrainingReader(text, file).read(folder);
}

TrainingSpec load_training_spec(const std::string& path, std::ostream* notes) {
  return parse_training_spec(with_new_keys(read_file(path), "training", path, notes),
                             path,
                             std::filesystem::path{path}.parent_path().string());
}

std::uint32_t stages_for_ranks(const TrainingSpec& spec, std::uint32_t ranks) {
  const PipelineTraining& training = spec.training;
  const auto reject = [](std::string found, std::string expected) {
    throw InputError({.file = "--ranks",
                      .pointer = {},
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = {}});
  };
  const auto needed = spec.ranks();
  if (!needed && ranks == 0) {
    reject("none", fmt::format("a number of ranks, as {} does not say how many stages", spec.file));
  }
  if (needed && ranks != 0 && ranks != *needed) {
    reject(fmt::format("{}", ranks),
           fmt::format("{}: {} replicas of {} stages, {} on each rank",
                       *needed,
                       training.replicas,
                       *spec.stage_count,
                       training.virtual_stages));
  }
  if (needed) return *spec.stage_count;
  if (ranks % training.replicas != 0) {
    reject(fmt::format("{}", ranks),
           fmt::format("a multiple of the {} replicas", training.replicas));
  }
  const std::uint32_t stages = ranks / training.replicas * training.virtual_stages;
  if (stages > training.net.layers.size()) {
    reject(fmt::format("{}", ranks),
           fmt::format("at most {} stages, one layer in each; this would be {}",
                       training.net.layers.size(),
                       stages));
  }
  return stages;
}

}  // namespace schedlab
