// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/pipeline/pipeline_graph.hpp"
#include "workloads/pipeline/stage_profiles_json.hpp"
#include "workloads/workload_entries.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace schedlab {
namespace {

using detail::number_option;
using detail::size_option;

constexpr double longest_us = 1e10;
constexpr double most_mib = 1e7;

std::vector<OptionSpec> cut_options() {
  return {size_option("stages", 4, "of the pipeline, all alike", 1, 32767),
          size_option("chunks", 1, "stages on each rank; divides their number", 1, 32767),
          size_option("groups", 1, "data-parallel groups, each a pipeline", 1, 1e6),
          size_option("microbatches", 8, "of each group in a round"),
          size_option("batch", 0, "samples of a round in all groups; 0: one a micro-batch", 0)};
}

std::vector<OptionSpec> stage_options() {
  const auto time = [](const char* name, double value, const char* doc) {
    return number_option(name, value, doc, 0, longest_us);
  };
  const auto size = [](const char* name, const char* doc) {
    return number_option(name, 0, doc, 0, most_mib);
  };
  return {time("forward_us", 1000, "forward pass of a stage over a micro-batch"),
          time("backward_data_us", 1000, "gradient of its input"),
          time("backward_weight_us", 1000, "gradients of its parameters"),
          time("forward_per_sample_us", 0, "more for each sample"),
          time("backward_data_per_sample_us", 0, "more for each sample"),
          time("backward_weight_per_sample_us", 0, "more for each sample"),
          time("update_us", 0, "update of a stage's parameters"),
          size("activation_mib", "sent from stage to stage for each sample, gradients likewise"),
          size("kept_activations_mib", "held for backward for each sample"),
          size("kept_gradients_mib", "held from backward_data to backward_weight, a sample"),
          size("parameters_mib", "of a stage"),
          size("optimizer_state_mib", "of a stage"),
          size("tied_mib", "of its parameters shared by the first and the last stage"),
          size_option("labels_bytes", 0, "sent from the first to the last stage, a sample", 0)};
}

std::vector<OptionSpec> pipeline_options() {
  std::vector<OptionSpec> options{
      {.name = "path",
       .default_value = std::string{},
       .doc = "File of stage profiles that gives the stages instead of the numbers below."}};
  for (const auto& more : {cut_options(), stage_options()}) {
    options.insert(options.end(), more.begin(), more.end());
  }
  options.push_back({.name = "recompute",
                     .default_value = false,
                     .doc = "Keep the input of a stage only and do forward again in backward."});
  options.push_back(number_option(
      "compression_ratio", 1, "activations and gradients are sent so much smaller", 1, 1e6));
  options.push_back(number_option(
      "compression_gb_per_s", 0, "rate of compressing and decompressing them; 0: at once", 0, 1e6));
  options.push_back({.name = "algorithm",
                     .default_value = std::string{to_string(CollectiveAlgorithm::automatic)},
                     .doc = "How gradients are summed over ranks.",
                     .allowed = collective_algorithm_names()});
  return options;
}

Bytes mib(const Options& o, const char* name) {
  return Bytes{std::llround(o.number(name) * 1024.0 * 1024.0)};
}

[[noreturn]] void refuse(const char* option, std::string found, std::string expected) {
  throw InputError({.file = {},
                    .pointer = std::string{"/"} + option,
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = {}});
}

PipelineProfile equal_stages(const Options& o) {
  const auto cost = [&](const std::string& pass) {
    return PassCost{.fixed = from_us(o.number(pass + "_us")),
                    .per_sample = from_us(o.number(pass + "_per_sample_us"))};
  };
  StageProfile stage{.name = {},
                     .forward = cost("forward"),
                     .backward_data = cost("backward_data"),
                     .backward_weight = cost("backward_weight"),
                     .update = from_us(o.number("update_us")),
                     .parameters = mib(o, "parameters_mib"),
                     .optimizer_state = mib(o, "optimizer_state_mib"),
                     .kept_activations = mib(o, "kept_activations_mib"),
                     .kept_gradients = mib(o, "kept_gradients_mib")};
  const auto stages = static_cast<std::uint32_t>(o.integer("stages"));
  PipelineProfile profile;
  profile.links = chain_links(stages, mib(o, "activation_mib"));
  profile.labels = Bytes{o.integer("labels_bytes")};
  const Bytes tied = mib(o, "tied_mib");
  if (tied > stage.parameters) {
    refuse("tied_mib",
           fmt::format("{} MiB", o.number("tied_mib")),
           fmt::format("at most the {} MiB of parameters_mib", o.number("parameters_mib")));
  }
  if (tied > Bytes{0} && stages > 1) profile.tied.push_back({"tied", tied, {0, stages - 1}});
  profile.stages.assign(stages, stage);
  return profile;
}

PipelineSpec pipeline_from(const Options& o) {
  const std::string& path = o.text("path");
  PipelineSpec spec;
  spec.profile = path.empty() ? equal_stages(o) : read_stage_profiles(read_file(path), path);
  const auto stages = static_cast<std::int64_t>(spec.profile.stages.size());
  spec.chunks = static_cast<std::uint32_t>(o.integer("chunks"));
  if (stages % spec.chunks != 0) {
    refuse("chunks", fmt::format("{}", spec.chunks), fmt::format("a divisor of {} stages", stages));
  }
  spec.groups = static_cast<std::uint32_t>(o.integer("groups"));
  spec.microbatches = o.integer("microbatches");
  const std::int64_t least = spec.groups * spec.microbatches;
  spec.batch = o.integer("batch") == 0 ? least : o.integer("batch");
  if (spec.batch < least) {
    refuse("batch",
           fmt::format("{}", spec.batch),
           fmt::format("at least {}: one sample for each of {} micro-batches of {} groups",
                       least,
                       spec.microbatches,
                       spec.groups));
  }
  constexpr std::int64_t most_tasks = 100'000'000;  // assumed: 10 GB
  if (stages * 3 > most_tasks / least) {
    throw InfeasibleError(fmt::format("pipeline: {} stages x {} micro-batches x {} groups are too "
                                      "many tasks",
                                      stages,
                                      spec.microbatches,
                                      spec.groups),
                          "tasks",
                          fmt::format("{} x {} x 3", stages, least),
                          fmt::format("{}", most_tasks));
  }
  spec.recompute = o.flag("recompute");
  spec.compression_ratio = o.number("compression_ratio");
  spec.compression_rate = Bandwidth{o.number("compression_gb_per_s") * 1e9};
  spec.algorithm = *collective_algorithm_from(o.text("algorithm"));
  return spec;
}

}  // namespace

WorkloadInfo pipeline_workload() {
  return {.name = "pipeline",
          .summary =
              "one round of pipeline-parallel training: stages, micro-batches, "
              "data-parallel groups",
          .options = pipeline_options(),
          .make = [](const Options& o) { return pipeline_graph(pipeline_from(o)); }};
}

}  // namespace schedlab
