// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/models/recurrent/attention.hpp"
#include "workloads/models/recurrent/model_frame.hpp"
#include "workloads/models/recurrent/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using namespace detail;  // NOLINT(google-build-using-namespace): the parts of models

void check(const OpennmtSpec& spec) {
  const auto at_least = [](std::int64_t value, std::int64_t minimum, const char* name) {
    SCHEDLAB_EXPECTS(value >= minimum, fmt::format("opennmt: {} is {}", name, value));
  };
  at_least(spec.layers, 1, "layers");
  at_least(spec.hidden, 1, "hidden");
  at_least(spec.embedding, 1, "embedding");
  at_least(spec.batch, 1, "batch");
  at_least(spec.source_steps, 1, "source_steps");
  at_least(spec.target_steps, 1, "target_steps");
  at_least(spec.source_vocabulary, 1, "source_vocabulary");
  at_least(spec.target_vocabulary, 1, "target_vocabulary");
  at_least(spec.attention_steps, 0, "attention_steps");
  const std::int64_t steps = std::max(spec.source_steps, spec.target_steps);
  check_nodes("opennmt", 2 * spec.layers, steps);
  const auto h = static_cast<double>(spec.hidden);
  const auto e = static_cast<double>(spec.embedding);
  check_recurrent_tensors({.steps = steps,
                           .batch = spec.batch,
                           .hidden = h,
                           .width = h + e,
                           .buffers = spec.model.cut.partial_buffers});
  const auto b = static_cast<double>(spec.batch);
  const auto t = static_cast<double>(spec.target_steps);
  check_elements("opennmt",
                 static_cast<double>(std::max(spec.source_vocabulary, spec.target_vocabulary)) *
                     std::max({b * t, h + 1, e}),
                 "a vocabulary over hidden, embedding or all steps of a batch");
  check_elements("opennmt",
                 b * t * static_cast<double>(spec.source_steps) * h,
                 "attention over source and target steps");
}

Projection::Shape projection_shape(const OpennmtSpec& spec) {
  return {.rows = spec.target_steps * spec.batch,
          .width = spec.hidden,
          .outputs = spec.target_vocabulary};
}

/// One training step; used once.
class Opennmt {
 public:
  explicit Opennmt(const OpennmtSpec& spec);
  [[nodiscard]] TaskGraph build() &&;

 private:
  [[nodiscard]] std::int64_t chunk() const {
    if (spec_.input_feed) return 1;
    return spec_.attention_steps == 0 ? spec_.target_steps
                                      : std::min(spec_.attention_steps, spec_.target_steps);
  }
  [[nodiscard]] std::vector<const Steps*> decoder_input() const {
    std::vector<const Steps*> parts{&target_.outputs()};
    if (spec_.input_feed) parts.push_back(&feed_);
    return parts;
  }
  void forward(const Value& tokens);
  void forward_decoder();
  void backward(const Value& tokens);
  void backward_decoder();
  [[nodiscard]] std::size_t at(std::int64_t step) const { return static_cast<std::size_t>(step); }

  OpennmtSpec spec_;
  GraphEmitter out_;
  Parameter source_table_;
  Parameter target_table_;
  Embedding source_;
  Embedding target_;
  Steps feed_;  // attention's result of the step before
  Attention attention_;
  RecurrentStack encoder_;
  RecurrentStack decoder_;
  Projection projection_;
  Steps output_gradient_;
  Steps feed_gradient_;  // from the decoder's next step
};

Opennmt::Opennmt(const OpennmtSpec& spec)
    : spec_(spec),
      out_(spec.model.type, spec.model.tensors, true),
      source_table_(
          make_parameter(out_, "source_embedding", spec.source_vocabulary * spec.embedding)),
      target_table_(
          make_parameter(out_, "target_embedding", spec.target_vocabulary * spec.embedding)),
      source_(out_,
              "source",
              {.rows = spec.source_steps * spec.batch, .width = spec.embedding},
              spec.source_steps),
      target_(out_,
              "target",
              {.rows = spec.target_steps * spec.batch, .width = spec.embedding},
              spec.target_steps),
      feed_(static_cast<std::size_t>(spec.target_steps)),
      attention_(out_,
                 AttentionKind::luong,
                 {.batch = spec.batch,
                  .source_steps = spec.source_steps,
                  .target_steps = spec.target_steps,
                  .hidden = spec.hidden,
                  .chunk = chunk()}),
      encoder_(out_,
               model_chain(spec.model, spec.batch, spec.hidden, spec.embedding, spec.source_steps),
               {.count = spec.layers, .first_tag = 0},
               {&source_.outputs()}),
      decoder_(out_,
               model_chain(spec.model,
                           spec.batch,
                           spec.hidden,
                           spec.embedding + (spec.input_feed ? spec.hidden : 0),
                           spec.target_steps),
               {.count = spec.layers, .first_tag = spec.layers},
               decoder_input()),
      projection_(out_, projection_shape(spec)),
      output_gradient_(feed_.size()),
      feed_gradient_(feed_.size()) {
  attention_.set_queries(&decoder_.top().front()->outputs());
  attention_.add_upstream(&output_gradient_);
  if (spec.input_feed) attention_.add_upstream(&feed_gradient_);
  for (const Steps* values : attention_.query_gradients()) decoder_.add_upstream(values);
  for (const Steps* values : attention_.source_gradients()) encoder_.add_upstream(values);
  reserve_nodes(out_, spec.layers * (spec.source_steps + 2 * spec.target_steps));
}

void Opennmt::forward_decoder() {
  if (!spec_.input_feed) {
    decoder_.forward();
    for (std::int64_t c = 0; c < attention_.chunks(); ++c) attention_.forward(c);
    return;
  }
  for (std::int64_t step = 0; step < spec_.target_steps; ++step) {
    if (step > 0) feed_[at(step)] = attention_.outputs()[at(step - 1)];
    decoder_.forward_step(step);
    attention_.forward(step);
  }
}

void Opennmt::forward(const Value& tokens) {
  source_.forward(source_table_, tokens);
  encoder_.forward();
  attention_.add_sources(top_outputs(encoder_).front(), encoder_.top().front()->final_h().task);
  for (std::size_t l = 0; l < decoder_.chain_count(); ++l) {
    decoder_.chain(l).set_initial(encoder_.chain(l).final_h(), encoder_.chain(l).final_c());
  }
  decoder_.add_parameters();
  target_.forward(target_table_, tokens);
  if (spec_.input_feed) {
    feed_.front().tensor =
        out_.tensor("attended", -1, -1, spec_.batch * spec_.hidden, true);  // zero
  }
  forward_decoder();
  projection_.forward({&attention_.outputs()});
}

void Opennmt::backward_decoder() {
  decoder_.add_borders();
  attention_.begin_backward();
  if (!spec_.input_feed) {
    for (std::int64_t c = attention_.chunks(); c-- > 0;) attention_.backward(c);
    decoder_.backward();
  } else {
    const Steps& input_gradients = decoder_.chain(0).input_gradients();
    feed_gradient_.back().present = false;
    for (std::int64_t step = spec_.target_steps; step-- > 0;) {
      if (step + 1 < spec_.target_steps) feed_gradient_[at(step)] = input_gradients[at(step + 1)];
      attention_.backward(step);
      decoder_.backward_step(spec_.target_steps - 1 - step);
    }
  }
  attention_.end_backward();
}

void Opennmt::backward(const Value& tokens) {
  projection_.backward({&attention_.outputs()});
  std::fill(output_gradient_.begin(), output_gradient_.end(), projection_.input_gradient());
  backward_decoder();
  target_.backward(target_table_, tokens, input_gradients(decoder_));
  for (std::size_t l = 0; l < encoder_.chain_count(); ++l) {
    encoder_.chain(l).set_final_gradients(decoder_.chain(l).initial_h_gradient(),
                                          decoder_.chain(l).initial_c_gradient());
  }
  encoder_.add_borders();
  encoder_.backward();
  source_.backward(source_table_, tokens, input_gradients(encoder_));
  decoder_.add_reductions();
  encoder_.add_reductions();
}

TaskGraph Opennmt::build() && {
  encoder_.add_parameters();
  const std::int64_t count = spec_.batch * (spec_.source_steps + spec_.target_steps + 1);
  const Value tokens = add_transfer_in(out_, count, spec_.model.transfers);
  forward(tokens);
  backward(tokens);
  const Optimizer optimizer = spec_.model.optimizer;
  add_update(out_, projection_.parameter(), optimizer);
  attention_.add_updates(optimizer);
  decoder_.add_updates(optimizer);
  encoder_.add_updates(optimizer);
  add_update(out_, target_table_, optimizer);
  add_update(out_, source_table_, optimizer);
  if (spec_.model.transfers) add_transfer_out(out_, projection_.loss());
  return std::move(out_).build();
}

}  // namespace

TaskGraph opennmt(const OpennmtSpec& spec) {
  check(spec);
  return Opennmt{spec}.build();
}

}  // namespace schedlab
