// SPDX-License-Identifier: Apache-2.0
#include "sim/base/file.hpp"
#include "workloads/entry_options.hpp"
#include "workloads/pipeline/iteration_options.hpp"
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
constexpr double max_mib = 1e7;

std::vector<OptionSpec> stage_options() {
  const auto time = [](const char* name, double value, const char* doc) {
    return number_option(name, value, doc, 0, longest_us);
  };
  const auto size = [](const char* name, const char* doc) {
    return number_option(name, 0, doc, 0, max_mib);
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
       .doc = "File of stage profiles that gives the stages instead of the numbers below."},
      size_option("stages", 4, "of the pipeline, all alike", 1, 32767),
      size_option("samples", 1, "in a micro-batch, where the batch is left open")};
  const std::vector<OptionSpec> more = stage_options();
  options.insert(options.end(), more.begin(), more.end());
  detail::add_round_options(options);
  return options;
}

Bytes mib(const Options& o, const char* name) {
  return Bytes{std::llround(o.number(name) * 1024.0 * 1024.0)};
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
    detail::refuse_option(
        "tied_mib",
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
  detail::set_round(o, o.integer("samples"), spec);
  return spec;
}

}  // namespace

WorkloadInfo pipeline_workload() {
  return {.name = "pipeline",
          .summary =
              "one iteration of pipeline-parallel training: stages, micro-batches, "
              "data-parallel replicas",
          .options = pipeline_options(),
          .make = [](const Options& o) { return pipeline_graph(pipeline_from(o)); }};
}

}  // namespace schedlab
