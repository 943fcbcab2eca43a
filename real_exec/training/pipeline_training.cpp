// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/pipeline_training.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace schedlab {
namespace {

constexpr std::int64_t float_bytes = 4;

/// Floats of one sample that are gathered to be sent; none if that is the last layer's output.
std::int64_t sent_elements(const NetSpec& net, NetLayerRange range) {
  const std::vector<std::size_t> live = live_values(net, range.last);
  return live.size() == 1 && live.front() == range.last ? 0 : live_elements(net, range.last);
}

/// Floats of one sample that a stage keeps for its backward pass: what comes in, what each layer
/// makes, and what layers keep themselves.
std::int64_t kept_floats(const NetSpec& net,
                         const std::vector<SampleShape>& shapes,
                         NetLayerRange range) {
  const std::vector<SampleShape> made = output_shapes(net);
  std::int64_t sum = live_elements(net, range.first) + sent_elements(net, range);
  for (std::size_t i = range.first; i < range.last; ++i) {
    const NetLayerSpec& layer = net.layers[i];
    sum += made[i].elements();
    if (layer.kind == NetLayerKind::max_pool) sum += made[i].elements();
    if (layer.kind == NetLayerKind::layer_norm) sum += 2 * made[i].height;
    if (layer.kind == NetLayerKind::attention) sum += layer.heads * made[i].height * made[i].height;
    // Gates, c, h and the gates' gradients of every step.
    if (net.layers[i].kind == NetLayerKind::lstm)
      sum += 10 * shapes[i].height * net.layers[i].units;
  }
  return sum;
}

/// Floats of one sample from the data gradient's pass to the weight gradient's.
std::int64_t gradient_floats(const NetSpec& net, NetLayerRange range) {
  const std::vector<SampleShape> made = output_shapes(net);
  std::int64_t sum = range.first == 0 ? 0 : live_elements(net, range.first);
  sum += sent_elements(net, range);
  for (std::size_t i = range.first; i < range.last; ++i) sum += made[i].elements();
  return sum;
}

/// Owners whose parameters several stages use, with those stages.
std::map<std::size_t, std::vector<std::uint32_t>> tied_owners(const PipelineTraining& training) {
  const std::vector<std::size_t> owners = parameter_owners(training.net);
  std::map<std::size_t, std::vector<std::uint32_t>> stages_of;
  for (std::uint32_t stage = 0; stage < training.stage_count(); ++stage) {
    const NetLayerRange range = training.stages[stage];
    for (std::size_t i = range.first; i < range.last; ++i) {
      auto& stages = stages_of[owners[i]];
      if (stages.empty() || stages.back() != stage) stages.push_back(stage);
    }
  }
  std::erase_if(stages_of, [](const auto& entry) { return entry.second.size() < 2; });
  return stages_of;
}

std::int64_t stage_parameters(const NetSpec& net,
                              const std::vector<SampleShape>& shapes,
                              NetLayerRange range) {
  const std::vector<std::size_t> owners = parameter_owners(net);
  std::map<std::size_t, std::int64_t> counted;
  for (std::size_t i = range.first; i < range.last; ++i) {
    counted[owners[i]] = layer_parameters(net.layers[i], shapes[i]);
  }
  std::int64_t sum = 0;
  for (const auto& [owner, count] : counted) sum += count;
  return sum;
}

void expect_all_layers(const PipelineTraining& training) {
  std::size_t next = 0;
  for (const NetLayerRange& range : training.stages) {
    SCHEDLAB_EXPECTS(range.first == next && range.last > range.first,
                     fmt::format("stage of layers {} to {}", range.first, range.last));
    next = range.last;
  }
  SCHEDLAB_EXPECTS(next == training.net.layers.size(), "stages of all layers");
}

StageProfile stage_profile(const PipelineTraining& training,
                           const std::vector<SampleShape>& shapes,
                           NetLayerRange range,
                           const StageCosts* costs) {
  const bool adam = training.setting.optimizer.kind == Optimizer::adam;
  StageProfile stage = costs == nullptr ? StageProfile{} : costs->whole;
  stage.name = fmt::format("layers {} to {}", range.first, range.last - 1);
  stage.parameters = Bytes{float_bytes * stage_parameters(training.net, shapes, range)};
  stage.optimizer_state = adam ? Bytes{2 * stage.parameters.count()} : Bytes{0};
  stage.kept_activations = Bytes{float_bytes * kept_floats(training.net, shapes, range)};
  stage.kept_gradients = Bytes{float_bytes * gradient_floats(training.net, range)};
  return stage;
}

/// Adds one operation per layer to a pass: those of `layers`, in this order.
void add_layer_operations(StageOperators& operators,
                          std::vector<OperationId>& pass,
                          const char* name,
                          const std::vector<std::size_t>& layers,
                          const std::vector<Duration>& durations) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    pass.push_back(operators.operations.push_back(
        {.name = fmt::format("{} of layer {}", name, layers[i]),
         .kind = TaskKind::fixed,
         .task_class = TaskClass::unclassified,
         .kernels = {},
         .fixed_duration = durations.empty() ? Duration{0} : durations.at(i)}));
  }
}

/// A task for each layer of a pass.
StageOperators layer_operators(const PipelineTraining& training,
                               const std::vector<SampleShape>& shapes,
                               const PipelineCosts& costs) {
  StageOperators operators;
  for (std::size_t number = 0; number < training.stages.size(); ++number) {
    const NetLayerRange range = training.stages[number];
    const StageCosts known = costs.stages.empty() ? StageCosts{} : costs.stages.at(number);
    std::vector<std::size_t> rising;
    for (std::size_t i = range.first; i < range.last; ++i) rising.push_back(i);
    const std::vector<std::size_t> falling(rising.rbegin(), rising.rend());
    std::vector<std::size_t> trained = falling;
    std::erase_if(trained, [&](std::size_t i) {
      return layer_parameters(training.net.layers[i], shapes[i]) == 0;
    });
    StageOperators::Passes& passes = operators.stages.emplace_back();
    add_layer_operations(operators, passes.forward, "forward", rising, known.forward);
    add_layer_operations(
        operators, passes.backward_data, "backward_data", falling, known.backward_data);
    add_layer_operations(
        operators, passes.backward_weight, "backward_weight", trained, known.backward_weight);
    passes.update.push_back(operators.operations.push_back({.name = "update",
                                                            .kind = TaskKind::fixed,
                                                            .task_class = TaskClass::update,
                                                            .kernels = {},
                                                            .fixed_duration = known.whole.update}));
  }
  return operators;
}

}  // namespace

SampleRange PipelineTraining::samples(std::int64_t step,
                                      std::uint32_t replica,
                                      std::int64_t microbatch) const {
  const std::vector<std::int64_t> shares = equal_parts(batch, replicas);
  const std::vector<std::int64_t> parts = equal_parts(shares[replica], microbatches);
  const auto before_replica =
      std::accumulate(shares.begin(), shares.begin() + replica, std::int64_t{0});
  const auto before = std::accumulate(parts.begin(), parts.begin() + microbatch, before_replica);
  return {step * batch + before, parts[static_cast<std::size_t>(microbatch)]};
}

std::vector<NetLayerRange> layer_ranges(const std::vector<std::int64_t>& counts) {
  std::vector<NetLayerRange> ranges;
  std::size_t next = 0;
  for (const std::int64_t count : counts) {
    ranges.push_back({next, next + static_cast<std::size_t>(count)});
    next = ranges.back().last;
  }
  return ranges;
}

PipelineSpec pipeline_spec(const PipelineTraining& training, const PipelineCosts& costs) {
  expect_all_layers(training);
  const std::vector<SampleShape> shapes = layer_shapes(training.net);
  PipelineSpec spec;
  for (std::size_t i = 0; i < training.stages.size(); ++i) {
    const NetLayerRange range = training.stages[i];
    spec.profile.stages.push_back(stage_profile(
        training, shapes, range, costs.stages.empty() ? nullptr : &costs.stages.at(i)));
    if (i == 0) continue;
    const std::int64_t elements = live_elements(training.net, range.first);
    const PackCosts& packing = costs.links.empty() ? PackCosts{} : costs.links.at(i - 1);
    spec.profile.links.push_back({.from = static_cast<std::uint32_t>(i - 1),
                                  .to = static_cast<std::uint32_t>(i),
                                  .bytes = Bytes{float_bytes * elements},
                                  .encoded = encoded_bytes(training.compression, elements),
                                  .pack = packing.pack,
                                  .unpack = packing.unpack});
  }
  for (const auto& [owner, stages] : tied_owners(training)) {
    const std::int64_t count = layer_parameters(training.net.layers[owner], shapes[owner]);
    spec.profile.tied.push_back({.name = training.net.layers[owner].name,
                                 .bytes = Bytes{float_bytes * count},
                                 .stages = stages});
  }
  spec.profile.labels = Bytes{float_bytes * training.net.labels};  // a class is an int32
  spec.virtual_stages = training.virtual_stages;
  spec.replicas = training.replicas;
  spec.batch = training.batch;
  spec.microbatches = training.microbatches;
  spec.recompute = training.setting.recompute;
  spec.packs = true;
  if (training.by_layer) spec.operators = layer_operators(training, shapes, costs);
  return spec;
}

void SampleStream::values(SampleRange samples, std::span<float> into) {
  auto to = into.begin();
  for (std::int64_t i = 0; i < samples.count; ++i) {
    const auto from = data_.sample(order_.at(samples.first + i));
    to = std::copy(from.begin(), from.end(), to);
  }
}

void SampleStream::labels(SampleRange samples, std::span<std::int32_t> into) {
  for (std::int64_t i = 0; i < samples.count; ++i) {
    const auto from = data_.labels_of(order_.at(samples.first + i));
    std::copy(from.begin(), from.end(), into.begin() + i * data_.labels_per_sample);
  }
}

UnsplitTraining::UnsplitTraining(const PipelineTraining& training)
    : training_(training),
      stream_(training),
      stage_(training.net, {0, training.net.layers.size()}, training.setting) {}

double UnsplitTraining::step() {
  const SampleRange samples{step_++ * training_.batch, training_.batch};
  const auto count = static_cast<double>(training_.batch);
  stage_.begin(0, samples, 1.0 / count);
  stream_.values(samples, stage_.input(0));
  stream_.labels(samples, stage_.labels(0));
  stage_.forward(0);
  stage_.backward_data(0);
  stage_.backward_weight(0);
  gradients_.assign(stage_.gradients().begin(), stage_.gradients().end());
  const double loss = stage_.loss().loss / count;
  stage_.update();
  return loss;
}

double gradient_difference(const TrainingStage& whole,
                           std::span<const float> a,
                           std::span<const float> b) {
  SCHEDLAB_EXPECTS(a.size() == b.size(), fmt::format("{} and {} gradients", a.size(), b.size()));
  double worst = 0;
  for (const TrainingStage::Block& block : whole.blocks()) {
    double apart = 0;
    double length = 0;
    for (std::size_t i = block.offset; i < block.offset + block.size; ++i) {
      const double expected = b[i];
      apart += (a[i] - expected) * (a[i] - expected);
      length += expected * expected;
    }
    worst = std::max(worst, apart == 0 ? 0.0 : std::sqrt(apart / length));
  }
  return worst;
}

}  // namespace schedlab
