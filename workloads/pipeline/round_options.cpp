// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/round_options.hpp"

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
      size_option("chunks", 1, "stages on each rank; divides their number", 1, 32767));
  options.push_back(size_option("groups", 1, "data-parallel groups, each a pipeline", 1, 1e6));
  options.push_back(size_option("microbatches", 8, "of each group in a round"));
  options.push_back(size_option(
      "batch", 0, "samples of a round in all groups; 0: samples for each micro-batch", 0));
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
  spec.chunks = static_cast<std::uint32_t>(o.integer("chunks"));
  if (stages % spec.chunks != 0) {
    refuse_option(
        "chunks", fmt::format("{}", spec.chunks), fmt::format("a divisor of {} stages", stages));
  }
  spec.groups = static_cast<std::uint32_t>(o.integer("groups"));
  spec.microbatches = o.integer("microbatches");
  const std::int64_t least = spec.groups * spec.microbatches;
  spec.batch = o.integer("batch") == 0 ? least * samples : o.integer("batch");
  if (spec.batch < least) {
    refuse_option("batch",
                  fmt::format("{}", spec.batch),
                  fmt::format("at least {}: one sample for each of {} micro-batches of {} groups",
                              least,
                              spec.microbatches,
                              spec.groups));
  }
  constexpr std::int64_t max_tasks = 100'000'000;  // assumed: 10 GB
  if (stages * 3 > max_tasks / least) {
    throw InfeasibleError(fmt::format("pipeline: {} stages x {} micro-batches x {} groups are too "
                                      "many tasks",
                                      stages,
                                      spec.microbatches,
                                      spec.groups),
                          "tasks",
                          fmt::format("{} x {} x 3", stages, least),
                          fmt::format("{}", max_tasks));
  }

  spec.recompute = o.flag("recompute");
  spec.compression_ratio = o.number("compression_ratio");
  spec.compression_rate = Bandwidth{o.number("compression_gb_per_s") * 1e9};
  spec.algorithm = *enum_from<CollectiveAlgorithm>(o.text("algorithm"));
}

}  // namespace schedlab::detail
