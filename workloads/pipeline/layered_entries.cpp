// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/pipeline/iteration_options.hpp"
#include "workloads/pipeline/layer_training.hpp"
#include "workloads/pipeline/layer_workloads.hpp"
#include "workloads/pipeline/layered_pipeline.hpp"
#include "workloads/pipeline/partition_file_json.hpp"
#include "workloads/workload_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace schedlab {
namespace {

using detail::number_option;
using detail::size_option;

const LayerWorkload& model_named(const std::string& name) {
  const auto& all = layer_workloads();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const LayerWorkload& model) { return model.name == name; });
  SCHEDLAB_EXPECTS(found != all.end(), name);
  return *found;
}

std::vector<OptionSpec> layered_options(const LayerWorkload& model) {
  std::vector<OptionSpec> options = model.options;
  options.push_back(size_option(
      "stages", 4, "with layers as equal in number as possible, in the model's order", 1, 32767));
  options.push_back({.name = "layers_per_stage",
                     .default_value = std::string{},
                     .doc = "Layers of each stage, \"3,4,2\", instead of `stages`."});
  options.push_back({.name = "partition_path",
                     .default_value = std::string{},
                     .doc = "partition.json of the verb partition: stages, and as many replicas as "
                            "the partition says, instead of `stages` and `replicas`."});
  options.push_back(size_option(
      "partition_accelerators", 0, "the row of that file for so many; 0: its only row", 0, 1e6));
  options.push_back({.name = "passes",
                     .default_value = std::string{"whole"},
                     .doc = "A pass of a stage is one task, or one for each layer or kernel.",
                     .allowed = {"whole", "layers", "kernels"}});
  options.push_back(
      number_option("gflop_per_s",
                    0,
                    "passes last their FLOPs over this rate; 0: as the machine's cost "
                    "model says",
                    0,
                    1e9));
  options.push_back(number_option("pass_overhead_us",
                                  0,
                                  "with gflop_per_s: of each forward pass and each weight gradient",
                                  0,
                                  1e9));
  options.push_back(
      size_option("labels_bytes", 0, "sent from the first to the last stage, a sample", 0));
  detail::add_round_options(options);
  return options;
}

std::vector<std::int64_t> layers_per_stage(const Options& o, std::int64_t layers) {
  const std::string& text = o.text("layers_per_stage");
  if (text.empty()) {
    const std::int64_t stages = o.integer("stages");
    if (stages > layers) {
      detail::refuse_option("stages",
                            fmt::format("{}", stages),
                            fmt::format("at most {}, one for each layer", layers));
    }
    return equal_parts(layers, stages);
  }
  std::vector<std::int64_t> result;
  const char* next = text.data();
  const char* const end = next + text.size();
  while (true) {
    std::int64_t number = 0;
    const auto [behind, error] = std::from_chars(next, end, number);
    if (error != std::errc{} || number < 1 || (behind != end && *behind != ',')) {
      detail::refuse_option(
          "layers_per_stage", fmt::format("\"{}\"", text), "whole numbers, as \"3,4,2\"");
    }
    result.push_back(number);
    if (behind == end) return result;
    next = behind + 1;
  }
}

/// Samples of a micro-batch: of the whole batch divided where that is given.
std::int64_t samples_of(const Options& o) {
  if (o.integer("batch") == 0) return o.integer("samples");
  const std::int64_t parts = o.integer("replicas") * o.integer("microbatches");
  return std::max<std::int64_t>(1, o.integer("batch") / parts);
}

/// Where the layers go; sets `replicas` if a file says it.
IdVector<LayerId, std::uint32_t> stages_of(const LayerGraph& graph, Options& o) {
  const std::string& path = o.text("partition_path");
  const auto layers = static_cast<std::int64_t>(graph.layers.size());
  if (path.empty()) return consecutive_stages(graph, layers_per_stage(o, layers));
  if (!o.text("layers_per_stage").empty()) {
    detail::refuse_option(
        "layers_per_stage", o.text("layers_per_stage"), "nothing beside partition_path");
  }
  PartitionFile file = read_partition_file(path, o.integer("partition_accelerators"), graph);
  if (file.replicas > 1) {
    if (o.integer("replicas") != 1 && o.integer("replicas") != file.replicas) {
      detail::refuse_option("replicas",
                            fmt::format("{}", o.integer("replicas")),
                            fmt::format("{}, the replicas in {}", file.replicas, path));
    }
    std::map<std::string, OptionValue> values = o.values();
    values["replicas"] = std::int64_t{file.replicas};
    o = Options{std::move(values)};
  }
  return std::move(file.stage_of);
}

TaskGraph layered_graph(const LayerWorkload& model, Options o) {
  std::map<std::string, OptionValue> given;
  for (const OptionSpec& option : model.options) {
    given[option.name] =
        option.name == "samples" ? OptionValue{samples_of(o)} : o.values().at(option.name);
  }
  LayerGraph graph = make_layers(model.name, given).graph;
  const std::int64_t replicas = o.integer("replicas");
  const auto stage_of = stages_of(graph, o);
  if (o.integer("replicas") != replicas && o.integer("batch") != 0) {
    given["samples"] = samples_of(o);  // of a replica's share of the batch
    graph = make_layers(model.name, given).graph;
  }
  const IdVector<LayerId, LayerTimes> no_times(graph.layers.size());
  const Partition partition = make_partition(graph, no_times, stage_of, {}, StageRules{});
  PipelineSpec spec = layered_pipeline(graph,
                                       partition,
                                       {.operators = o.text("passes") != "whole",
                                        .kernels = o.text("passes") == "kernels",
                                        .rate = FlopRate{o.number("gflop_per_s") * 1e9},
                                        .overhead = from_us(o.number("pass_overhead_us")),
                                        .labels = Bytes{o.integer("labels_bytes")},
                                        .optimizer_copies = optimizer_copies(o)});
  detail::set_round(o, graph.samples, spec);
  const std::int64_t parts = spec.replicas * spec.microbatches;
  if (spec.operators && spec.batch != parts * graph.samples) {
    throw InfeasibleError(fmt::format(
        "pipeline: a batch of {} is not {} micro-batches of {} samples, for which the layers' work "
        "is given\n  use {}, or give gflop_per_s",
        spec.batch,
        parts,
        graph.samples,
        parts * graph.samples));
  }
  return pipeline_graph(spec);
}

WorkloadInfo layered_workload(const char* name, const char* model_name) {
  const LayerWorkload& model = model_named(model_name);
  return {.name = name,
          .summary = fmt::format("one iteration of pipeline-parallel training; {}", model.summary),
          .options = layered_options(model),
          .make = [&model](const Options& o) { return layered_graph(model, o); }};
}

}  // namespace

WorkloadInfo layer_file_training_workload() {
  const LayerWorkload& model = model_named("file");
  std::vector<OptionSpec> options = model.options;
  options.push_back(size_option("batch", 32, "samples trained at once", 1, 1 << 16));
  options.push_back({.name = "include_tensors",
                     .default_value = true,
                     .doc = "with tensors, for memory accounting"});
  const auto make = [](const Options& o) {
    LayerGraph graph = read_layer_file(o.text("path")).graph;
    return layer_training(with_samples(std::move(graph), o.integer("batch")),
                          o.flag("include_tensors"));
  };
  return {.name = "layer_file_training",
          .summary = fmt::format(
              "a training step on one device, a task for each pass of a layer; {}", model.summary),
          .options = std::move(options),
          .make = make};
}

double optimizer_copies(const Options& o) {
  const auto value = [&o](const char* name) -> const OptionValue* {
    const auto found = o.values().find(name);
    return found == o.values().end() ? nullptr : &found->second;
  };
  const OptionValue* optimizer = value("optimizer");
  const bool sgd = optimizer != nullptr && *optimizer == OptionValue{std::string{"sgd"}};
  const OptionValue* master = value("master_weights");
  if (master == nullptr || *master != OptionValue{true}) return sgd ? 0.0 : 2.0;
  const auto wide = static_cast<double>(bytes_per_element(DataType::fp32));
  return (sgd ? wide : 3 * wide) /
         static_cast<double>(bytes_per_element(enum_value<DataType>(o.text("data_type"))));
}

WorkloadInfo mnist_cnn_pipeline_workload() {
  return layered_workload("mnist_cnn_pipeline", "mnist_cnn");
}
WorkloadInfo resnet50_pipeline_workload() {
  return layered_workload("resnet50_pipeline", "resnet50");
}
WorkloadInfo gpt_pipeline_workload() {
  return layered_workload("gpt_pipeline", "gpt");
}
WorkloadInfo layer_file_pipeline_workload() {
  return layered_workload("layer_file_pipeline", "file");
}

}  // namespace schedlab
