// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/pipeline_graph.hpp"

#include "sim/base/error.hpp"
#include "workloads/pipeline/pipeline_emitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace schedlab {
namespace {

void expect_samples(const PipelineSpec& spec) {
  const std::int64_t least = spec.batch / spec.replicas;
  if (least < spec.microbatches) {
    throw InfeasibleError(
        fmt::format("pipeline: a batch of {} samples gives a replica {} of them, too few for {} "
                    "micro-batches of at least one\n  raise the batch to {} or lower microbatches",
                    spec.batch,
                    least,
                    spec.microbatches,
                    spec.replicas * spec.microbatches),
        "samples",
        fmt::format("{}", spec.replicas * spec.microbatches),
        fmt::format("{}", spec.batch));
  }
  if (spec.operators && spec.batch % (spec.replicas * spec.microbatches) != 0) {
    throw InfeasibleError(fmt::format(
        "pipeline: {} samples do not divide into {} x {} equal micro-batches, which operators "
        "need\n  use a multiple of {}",
        spec.batch,
        spec.replicas,
        spec.microbatches,
        spec.replicas * spec.microbatches));
  }
}

void expect_sharding(const PipelineSpec& spec) {
  if (spec.zero == 0) return;
  if (spec.profile.tied.empty() && !spec.expert_parallel &&
      spec.placement != StagePlacement::bidirectional) {
    return;
  }
  throw InfeasibleError(
      fmt::format("pipeline: zero {} does not divide {}\n  set zero to 0, or leave that out",
                  spec.zero,
                  spec.expert_parallel         ? "parameters beside expert_parallel"
                  : !spec.profile.tied.empty() ? "parameters that several stages have tied"
                                               : "stages of two directions"));
}

}  // namespace

TaskGraph pipeline_graph(const PipelineSpec& spec) {
  expect_valid(spec.profile);
  const auto stages = static_cast<std::uint32_t>(spec.profile.stages.size());
  SCHEDLAB_EXPECTS(spec.virtual_stages >= 1 && stages % spec.virtual_stages == 0,
                   fmt::format("{} virtual_stages of {} stages", spec.virtual_stages, stages));
  SCHEDLAB_EXPECTS(spec.replicas >= 1 && spec.batch >= 1 && spec.microbatches >= 1,
                   "a pipeline needs replicas, samples and micro-batches");
  SCHEDLAB_EXPECTS(spec.placement != StagePlacement::bidirectional ||
                       (spec.virtual_stages == 1 && stages % 2 == 0 && spec.microbatches >= 2),
                   "what a bidirectional pipeline needs");
  SCHEDLAB_EXPECTS(spec.tensor_parallel >= 1 && (spec.tensor_parallel == 1 || spec.operators),
                   "ranks that share a stage need operators");
  SCHEDLAB_EXPECTS(spec.compression_ratio >= 1, "a compression ratio is at least 1");
  SCHEDLAB_EXPECTS(!spec.operators || spec.operators->stages.size() == stages,
                   "operators of every stage");
  expect_samples(spec);
  expect_sharding(spec);
  detail::PipelineEmitter emitter{spec};
  const std::vector<std::int64_t> shares = equal_parts(spec.batch, spec.replicas);
  for (std::uint32_t line = 0; line < spec.replicas * spec.tensor_parallel; ++line) {
    const std::uint32_t replica = line / spec.tensor_parallel;
    emitter.begin_line(line, equal_parts(shares[replica], spec.microbatches));
    for (std::int64_t m = 0; m < spec.microbatches; ++m) {
      for (std::uint32_t stage = 0; stage < stages; ++stage) emitter.forward(stage, m);
    }
    for (std::int64_t m = 0; m < spec.microbatches; ++m) {
      for (std::uint32_t stage = stages; stage-- > 0;) emitter.backward(stage, m);
    }
  }
  emitter.synchronize();
  emitter.update();
  return std::move(emitter).build();
}

}  // namespace schedlab
