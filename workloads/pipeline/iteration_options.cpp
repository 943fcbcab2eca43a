// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/iteration_options.hpp"

#include "sim/base/error.hpp"
#include "workloads/entry_options.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab::detail {

void refuse_option(const char* option, std::string found, std::string expected) {
  throw InputError({.file = {},
                    .pointer = std::string{"/"} + option,
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = {}});
}

void add_round_options(std::vector<OptionSpec>& options) {
  options.push_back(
      size_option("virtual_stages", 1, "stages on each rank; divides their number", 1, 32767));
  options.push_back({.name = "placement",
                     .default_value = std::string{to_string(StagePlacement::loop)},
                     .doc = "loop: stage k on rank k modulo ranks; v: there and back, for "
                            "pipeline_zb_v and pipeline_dualpipe_v; bidirectional: each stage on "
                            "two ranks, the second half of the micro-batches goes the other way, "
                            "for pipeline_dualpipe and pipeline_chimera.",
                     .allowed = enum_names<StagePlacement>()});
  options.push_back(size_option("replicas", 1, "data-parallel replicas, each a pipeline", 1, 1e6));
  options.push_back(size_option("microbatches", 8, "of each replica in an iteration"));
  options.push_back(size_option(
      "batch", 0, "samples of an iteration in all replicas; 0: samples for each micro-batch", 0));
  options.push_back(size_option("zero",
                                0,
                                "stage of ZeRO: replicas divide optimizer state (1), gradients (2) "
                                "and parameters (3, as FSDP)",
                                0,
                                3));
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
                     .allowed = enum_names<CollectiveAlgorithm>()});
}

void set_round(const Options& o, std::int64_t samples, PipelineSpec& spec) {
  const auto stages = static_cast<std::int64_t>(spec.profile.stages.size());
  spec.virtual_stages = static_cast<std::uint32_t>(o.integer("virtual_stages"));
  if (stages % spec.virtual_stages != 0) {
    refuse_option("virtual_stages",
                  fmt::format("{}", spec.virtual_stages),
                  fmt::format("a divisor of {} stages", stages));
  }
  spec.replicas = static_cast<std::uint32_t>(o.integer("replicas"));
  spec.microbatches = o.integer("microbatches");
  spec.placement = *enum_from<StagePlacement>(o.text("placement"));
  if (spec.placement == StagePlacement::bidirectional &&
      (spec.virtual_stages > 1 || stages % 2 != 0 || spec.microbatches < 2)) {
    refuse_option("placement",
                  fmt::format("bidirectional with {} stages, {} virtual_stages, {} microbatches",
                              stages,
                              spec.virtual_stages,
                              spec.microbatches),
                  "an even number of stages, one virtual stage and two microbatches at least");
  }
  const std::int64_t least = spec.replicas * spec.microbatches;
  spec.batch = o.integer("batch") == 0 ? least * samples : o.integer("batch");
  if (spec.batch < least) {
    refuse_option("batch",
                  fmt::format("{}", spec.batch),
                  fmt::format("at least {}: one sample for each of {} micro-batches of {} replicas",
                              least,
                              spec.microbatches,
                              spec.replicas));
  }
  constexpr std::int64_t max_tasks = 100'000'000;  // assumed: 10 GB
  if (stages * 3 > max_tasks / least) {
    throw InfeasibleError(
        fmt::format("pipeline: {} stages x {} micro-batches x {} replicas are too "
                    "many tasks",
                    stages,
                    spec.microbatches,
                    spec.replicas),
        "tasks",
        fmt::format("{} x {} x 3", stages, least),
        fmt::format("{}", max_tasks));
  }

  spec.zero = static_cast<std::uint32_t>(o.integer("zero"));
  spec.recompute = o.flag("recompute");
  spec.compression_ratio = o.number("compression_ratio");
  spec.compression_rate = Bandwidth{o.number("compression_gb_per_s") * 1e9};
  spec.algorithm = *enum_from<CollectiveAlgorithm>(o.text("algorithm"));
}

}  // namespace schedlab::detail
