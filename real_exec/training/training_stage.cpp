// SPDX-License-Identifier: Apache-2.0
#include "real_exec/training/training_stage.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

/// Tells the random numbers of one layer and use from all others.
std::uint64_t layer_key(std::uint64_t seed, std::size_t layer, bool dropout) {
  return Rng{Rng{seed}.next() + 2 * layer + (dropout ? 1 : 0)}.next();
}

template <class Element>
std::int64_t bytes_of(const std::vector<Element>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(Element));
}

}  // namespace

/// values[0] is what comes in, one value after the other, values[i + 1] what layer i makes;
/// gradients alike.
struct TrainingStage::MicroBatch {
  SampleRange samples;
  double gradient_scale = 1;
  bool inner_kept = false;  // values behind the first layer and the layers' memory are there
  std::vector<std::vector<float>> values;
  std::vector<std::vector<float>> gradients;
  std::vector<NetLayerMemory> memory;
  // Where more goes out than the last layer's output: all of it, one value after the other.
  std::vector<float> sent;
  std::vector<float> sent_gradients;
  std::vector<bool> has_gradient;  // by array of gradients, those that came in first
  std::vector<std::int32_t> labels;
  std::int64_t counted_bytes = 0;

  void forget_inner() {
    for (std::size_t i = 1; i + 1 < values.size(); ++i) values[i] = {};
    for (NetLayerMemory& one : memory) one = {};
    inner_kept = false;
  }

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = bytes_of(labels) + bytes_of(sent) + bytes_of(sent_gradients);
    for (const auto& one : values) sum += bytes_of(one);
    for (const auto& one : gradients) sum += bytes_of(one);
    for (const NetLayerMemory& one : memory) sum += bytes_of(one.values) + bytes_of(one.indices);
    return sum;
  }
};

TrainingStage::TrainingStage(const NetSpec& net,
                             NetLayerRange layers,
                             const TrainingSetting& setting)
    : range_(layers), setting_(setting), optimizer_(setting.optimizer, 0) {
  const std::vector<SampleShape> shapes = layer_shapes(net);
  const std::vector<SampleShape> made = output_shapes(net);
  const std::vector<LayerReads> reads = layer_reads(net);
  const std::vector<std::size_t> owners = parameter_owners(net);
  SCHEDLAB_EXPECTS(layers.first < layers.last && layers.last <= net.layers.size(),
                   fmt::format("layers {} to {} of {}", layers.first, layers.last, owners.size()));
  is_last_ = layers.last == net.layers.size();
  labels_ = net.labels;
  const auto flow = [&](std::size_t cut) {
    Flow all;
    for (const std::size_t value : live_values(net, cut)) {
      all.values.push_back(value);
      all.offsets.push_back(all.elements);
      all.elements += value == 0 ? net.input.elements() : made[value - 1].elements();
    }
    return all;
  };
  in_ = flow(layers.first);
  out_ = flow(layers.last);
  for (std::size_t i = layers.first; i < layers.last; ++i) {
    layers_.push_back(
        make_net_layer(net.layers[i], shapes[i], made[i], layer_key(setting.seed, i, true)));
    reads_.push_back(reads[i]);
    const auto size = static_cast<std::size_t>(layers_.back()->parameters());
    if (size > 0) trained_.push_back(i - layers.first);
    std::size_t block = 0;
    while (block < blocks_.size() && blocks_[block].owner != owners[i]) ++block;
    block_of_.push_back(block);
    if (size == 0 || block < blocks_.size()) continue;
    blocks_.push_back({.owner = owners[i], .offset = parameters_.size(), .size = size});
    parameters_.resize(parameters_.size() + size);
    const std::span<float> own = std::span{parameters_}.last(size);
    if (setting.parameters == nullptr) {
      layers_.back()->initialize(own, layer_key(setting.seed, owners[i], false));
      continue;
    }
    std::size_t before = 0;
    for (std::size_t k = 0; k < owners[i]; ++k) {
      if (owners[k] == k) {
        before += static_cast<std::size_t>(layer_parameters(net.layers[k], shapes[k]));
      }
    }
    SCHEDLAB_EXPECTS(before + size <= setting.parameters->size(), "parameters of the whole net");
    std::copy_n(
        setting.parameters->begin() + static_cast<std::ptrdiff_t>(before), size, own.begin());
  }
  gradients_.assign(parameters_.size(), 0.0F);
  optimizer_ = ParameterOptimizer(setting.optimizer, parameters_.size());
}

TrainingStage::~TrainingStage() = default;

std::int64_t TrainingStage::input_elements() const {
  return in_.elements;
}

std::int64_t TrainingStage::output_elements() const {
  return out_.elements;
}

TrainingStage::MicroBatch& TrainingStage::at(std::int64_t microbatch) {
  const auto found = under_way_.find(microbatch);
  SCHEDLAB_EXPECTS(found != under_way_.end(),
                   fmt::format("micro-batch {} is not under way in the stage of layers {} to {}",
                               microbatch,
                               range_.first,
                               range_.last));
  return *found->second;
}

const TrainingStage::MicroBatch& TrainingStage::at(std::int64_t microbatch) const {
  return const_cast<TrainingStage*>(this)->at(microbatch);  // NOLINT(*-const-cast): only looks
}

std::span<const float> TrainingStage::parameters_of(std::size_t layer) const {
  if (layers_[layer]->parameters() == 0) return {};
  const Block& block = blocks_[block_of_[layer]];
  return std::span{parameters_}.subspan(block.offset, block.size);
}

void TrainingStage::count_kept(MicroBatch& batch) {
  const std::int64_t bytes = batch.bytes();
  kept_bytes_ += bytes - batch.counted_bytes;
  batch.counted_bytes = bytes;
  peak_kept_bytes_ = std::max(peak_kept_bytes_, kept_bytes_);
}

void TrainingStage::begin(std::int64_t microbatch, SampleRange samples, double gradient_scale) {
  SCHEDLAB_EXPECTS(!under_way_.contains(microbatch),
                   fmt::format("micro-batch {} is under way already", microbatch));
  std::unique_ptr<MicroBatch> batch;
  if (spare_.empty()) {
    batch = std::make_unique<MicroBatch>();
  } else {
    batch = std::move(spare_.back());
    spare_.pop_back();
  }
  batch->samples = samples;
  batch->gradient_scale = gradient_scale;
  batch->inner_kept = false;
  batch->values.resize(layers_.size() + 1);
  batch->gradients.resize(layers_.size() + 1);
  batch->memory.resize(layers_.size());
  batch->values.front().resize(static_cast<std::size_t>(samples.count * input_elements()));
  batch->labels.resize(is_last_ ? static_cast<std::size_t>(samples.count * labels_) : 0);
  MicroBatch& begun = *batch;
  under_way_.emplace(microbatch, std::move(batch));
  count_kept(begun);
}

std::span<float> TrainingStage::input(std::int64_t microbatch) {
  return at(microbatch).values.front();
}

std::span<std::int32_t> TrainingStage::labels(std::int64_t microbatch) {
  return at(microbatch).labels;
}

TrainingStage::Place TrainingStage::place_of(std::size_t value) const {
  if (value > range_.first) return {.array = value - range_.first, .offset = 0};
  const auto found = std::find(in_.values.begin(), in_.values.end(), value);
  SCHEDLAB_EXPECTS(found != in_.values.end(), fmt::format("value {} comes in", value));
  const auto index = static_cast<std::size_t>(found - in_.values.begin());
  return {.array = 0, .index = index, .offset = in_.offsets[index]};
}

NetLayerArrays TrainingStage::arrays(MicroBatch& batch, std::size_t layer) const {
  const auto value = [&](std::size_t number) {
    const Place place = place_of(number);
    return batch.values[place.array].data() + place.offset * batch.samples.count;
  };
  const LayerReads& reads = reads_[layer];
  return {.x = value(reads.first),
          .x2 = reads.second ? value(*reads.second) : nullptr,
          .y = batch.values[layer + 1].data(),
          .dy = batch.gradients[layer + 1].data(),
          .dx = nullptr,
          .memory = &batch.memory[layer]};
}

std::int64_t TrainingStage::elements_of(std::size_t value) const {
  if (value > range_.first) return layers_[value - range_.first - 1]->output().elements();
  const std::size_t index = place_of(value).index;
  const std::int64_t end = index + 1 < in_.offsets.size() ? in_.offsets[index + 1] : in_.elements;
  return end - in_.offsets[index];
}

bool TrainingStage::sends_last_only() const {
  return out_.values.size() == 1 && out_.values.front() == range_.last;
}

void TrainingStage::run_forward(MicroBatch& batch, std::size_t layer) {
  batch.values[layer + 1].resize(
      static_cast<std::size_t>(batch.samples.count * layers_[layer]->output().elements()));
  layers_[layer]->forward(arrays(batch, layer), parameters_of(layer), batch.samples, true);
  batch.inner_kept = layer + 1 == layers_.size();
}

void TrainingStage::forward(std::int64_t microbatch) {
  for (std::size_t i = 0; i < layers_.size(); ++i) forward_layer(microbatch, i);
}

void TrainingStage::forward_layer(std::int64_t microbatch, std::size_t layer) {
  MicroBatch& batch = at(microbatch);
  run_forward(batch, layer);
  if (layer + 1 == layers_.size()) finish_forward(batch);
}

void TrainingStage::finish_forward(MicroBatch& batch) {
  if (is_last_) {
    batch.gradients.back().resize(batch.values.back().size());
    const ClassLoss loss = softmax_cross_entropy(
        batch.values.back(),
        batch.labels,
        output_elements() / labels_,
        static_cast<float>(batch.gradient_scale / static_cast<double>(labels_)),
        batch.gradients.back().data());
    loss_.loss += loss.loss / static_cast<double>(labels_);
    loss_.correct += loss.correct;
  }
  if (!sends_last_only()) {
    const std::int64_t count = batch.samples.count;
    batch.sent.resize(static_cast<std::size_t>(count * out_.elements));
    for (std::size_t i = 0; i < out_.values.size(); ++i) {
      const Place place = place_of(out_.values[i]);
      std::copy_n(batch.values[place.array].data() + place.offset * count,
                  elements_of(out_.values[i]) * count,
                  batch.sent.data() + out_.offsets[i] * count);
    }
  }
  count_kept(batch);
  if (setting_.recompute) {
    batch.forget_inner();
    count_kept(batch);
  }
}

std::span<const float> TrainingStage::output(std::int64_t microbatch) const {
  const MicroBatch& batch = at(microbatch);
  return sends_last_only() ? batch.values.back() : batch.sent;
}

std::span<float> TrainingStage::output_gradient(std::int64_t microbatch) {
  MicroBatch& batch = at(microbatch);
  std::vector<float>& all = sends_last_only() ? batch.gradients.back() : batch.sent_gradients;
  all.resize(static_cast<std::size_t>(batch.samples.count * output_elements()));
  return all;
}

void TrainingStage::recompute(std::int64_t microbatch) {
  if (at(microbatch).inner_kept) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) recompute_layer(microbatch, i);
}

void TrainingStage::recompute_layer(std::int64_t microbatch, std::size_t layer) {
  MicroBatch& batch = at(microbatch);
  run_forward(batch, layer);
  if (batch.inner_kept) count_kept(batch);
}

void TrainingStage::backward_data(std::int64_t microbatch) {
  for (std::size_t i = layers_.size(); i-- > 0;) backward_data_layer(microbatch, i);
}

void TrainingStage::backward_data_layer(std::int64_t microbatch, std::size_t layer) {
  recompute(microbatch);
  MicroBatch& batch = at(microbatch);
  if (layer + 1 == layers_.size()) begin_backward(batch);
  const LayerReads& reads = reads_[layer];
  NetLayerArrays around = arrays(batch, layer);
  const bool wants_dx = reads.first != 0;  // a sample has no gradient
  std::vector<float> more;
  if (wants_dx) {
    around.dx = gradient_of(batch, reads.first);
    if (has_gradient(batch, reads.first)) {
      more.resize(static_cast<std::size_t>(elements_of(reads.first) * batch.samples.count));
      around.dx = more.data();
    }
  }
  layers_[layer]->backward_data(around, parameters_of(layer), batch.samples);
  if (!more.empty()) add_gradient(batch, reads.first, more.data());
  if (wants_dx) has_gradient(batch, reads.first) = true;
  if (reads.second && *reads.second != 0) add_gradient(batch, *reads.second, around.dy);
  if (layer == 0) count_kept(batch);
}

/// What readers behind the stage have given is there.
void TrainingStage::begin_backward(MicroBatch& batch) {
  batch.has_gradient.assign(in_.values.size() + layers_.size(), false);
  if (sends_last_only()) {
    batch.has_gradient.back() = true;
    return;
  }
  for (std::size_t i = 0; i < out_.values.size(); ++i) {
    add_gradient(
        batch, out_.values[i], batch.sent_gradients.data() + out_.offsets[i] * batch.samples.count);
  }
}

std::vector<bool>::reference TrainingStage::has_gradient(MicroBatch& batch,
                                                         std::size_t value) const {
  const Place place = place_of(value);
  return batch.has_gradient[place.array == 0 ? place.index : in_.values.size() + place.array - 1];
}

/// With memory for it.
float* TrainingStage::gradient_of(MicroBatch& batch, std::size_t value) const {
  const Place place = place_of(value);
  const std::int64_t elements = place.array == 0 ? in_.elements : elements_of(value);
  batch.gradients[place.array].resize(static_cast<std::size_t>(elements * batch.samples.count));
  return batch.gradients[place.array].data() + place.offset * batch.samples.count;
}

void TrainingStage::add_gradient(MicroBatch& batch, std::size_t value, const float* more) const {
  float* const to = gradient_of(batch, value);
  const std::int64_t count = elements_of(value) * batch.samples.count;
  if (has_gradient(batch, value)) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += more[i];
  } else {
    std::copy_n(more, count, to);
    has_gradient(batch, value) = true;
  }
}

std::span<const float> TrainingStage::input_gradient(std::int64_t microbatch) const {
  return at(microbatch).gradients.front();
}

void TrainingStage::backward_weight(std::int64_t microbatch) {
  if (trained_.empty()) return forget(microbatch);
  for (std::size_t i = trained_.size(); i-- > 0;) backward_weight_layer(microbatch, trained_[i]);
}

void TrainingStage::backward_weight_layer(std::int64_t microbatch, std::size_t layer) {
  MicroBatch& batch = at(microbatch);
  const Block& block = blocks_[block_of_[layer]];
  layers_[layer]->backward_weight(
      arrays(batch, layer), std::span{gradients_}.subspan(block.offset, block.size), batch.samples);
  if (layer == trained_.front()) forget(microbatch);
}

void TrainingStage::forget(std::int64_t microbatch) {
  kept_bytes_ -= at(microbatch).counted_bytes;
  at(microbatch).counted_bytes = 0;
  const auto found = under_way_.find(microbatch);
  spare_.push_back(std::move(found->second));
  under_way_.erase(found);
}

void TrainingStage::update() {
  optimizer_.update(parameters_, gradients_);
  std::fill(gradients_.begin(), gradients_.end(), 0.0F);
  loss_ = {};
}

double accuracy(const NetSpec& net,
                std::span<const float> parameters,
                std::span<const float> values,
                std::span<const std::int32_t> labels) {
  const std::vector<SampleShape> shapes = layer_shapes(net);
  const std::vector<SampleShape> made = output_shapes(net);
  const std::vector<LayerReads> reads = layer_reads(net);
  const std::vector<std::size_t> owners = parameter_owners(net);
  const auto samples = static_cast<std::int64_t>(labels.size()) / net.labels;
  std::vector<std::vector<float>> all{{values.begin(), values.end()}};
  std::vector<std::span<const float>> blocks;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const auto layer = make_net_layer(net.layers[i], shapes[i], made[i], 0);
    const auto size = static_cast<std::size_t>(layer->parameters());
    std::span<const float> own;
    if (owners[i] != i) {
      own = blocks[owners[i]];
    } else {
      SCHEDLAB_EXPECTS(parameters.size() >= size, "parameters of the whole net");
      own = parameters.first(size);
      parameters = parameters.subspan(size);
    }
    blocks.push_back(own);
    std::vector<float> y(static_cast<std::size_t>(samples * made[i].elements()));
    NetLayerMemory memory;
    layer->forward({.x = all[reads[i].first].data(),
                    .x2 = reads[i].second ? all[*reads[i].second].data() : nullptr,
                    .y = y.data(),
                    .memory = &memory},
                   own,
                   {.first = 0, .count = samples},
                   false);
    all.push_back(std::move(y));
  }
  const ClassLoss result =
      softmax_cross_entropy(all.back(), labels, made.back().elements() / net.labels, 1.0F, nullptr);
  return static_cast<double>(result.correct) /
         static_cast<double>(std::max<std::size_t>(labels.size(), 1));
}

}  // namespace schedlab
