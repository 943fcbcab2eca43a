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

void check(const GnmtSpec& spec) {
  const auto at_least = [](std::int64_t value, std::int64_t minimum, const char* name) {
    SCHEDLAB_EXPECTS(value >= minimum, fmt::format("gnmt: {} is {}", name, value));
  };
  at_least(spec.layers, 2, "layers");
  at_least(spec.hidden, 1, "hidden");
  at_least(spec.batch, 1, "batch");
  at_least(spec.source_steps, 1, "source_steps");
  at_least(spec.target_steps, 1, "target_steps");
  at_least(spec.vocabulary, 1, "vocabulary");
  at_least(spec.attention_steps, 0, "attention_steps");
  const std::int64_t steps = std::max(spec.source_steps, spec.target_steps);
  check_nodes("gnmt", 2 * spec.layers + 1, steps);
  const auto h = static_cast<double>(spec.hidden);
  check_recurrent_tensors({.steps = steps,
                           .batch = spec.batch,
                           .hidden = h,
                           .width = 2 * h,
                           .buffers = spec.model.cut.partial_buffers});
  const auto b = static_cast<double>(spec.batch);
  const auto t = static_cast<double>(spec.target_steps);
  check_elements("gnmt",
                 static_cast<double>(spec.vocabulary) * std::max(b * t, h + 1),
                 "the vocabulary over hidden or all steps of a batch");
  check_elements("gnmt",
                 b * t * static_cast<double>(spec.source_steps) * h,
                 "attention over source and target steps");
}

Projection::Shape projection_shape(const GnmtSpec& spec) {
  return {.rows = spec.target_steps * spec.batch, .width = spec.hidden, .outputs = spec.vocabulary};
}

/// One training step; used once. Members in the order of the data's way.
class Gnmt {
 public:
  explicit Gnmt(const GnmtSpec& spec);
  [[nodiscard]] TaskGraph build() &&;

 private:
  [[nodiscard]] ChainSpec chain(std::int64_t steps) const {
    return model_chain(spec_.model, spec_.batch, spec_.hidden, spec_.hidden, steps);
  }
  void forward(const Value& tokens);
  void backward(const Value& tokens);

  static constexpr std::int64_t first_residual = 2;

  GnmtSpec spec_;
  GraphEmitter out_;
  Parameter table_;
  Embedding source_;
  Embedding target_;
  Attention attention_;
  RecurrentStack encoder_;
  RecurrentStack decoder_;
  Projection projection_;
  Steps output_gradient_;
};

Gnmt::Gnmt(const GnmtSpec& spec)
    : spec_(spec),
      out_(spec.model.type, spec.model.tensors, true),
      table_(make_parameter(out_, "embedding", spec.vocabulary * spec.hidden)),
      source_(out_,
              "source",
              {.rows = spec.source_steps * spec.batch, .width = spec.hidden},
              spec.source_steps),
      target_(out_,
              "target",
              {.rows = spec.target_steps * spec.batch, .width = spec.hidden},
              spec.target_steps),
      attention_(
          out_,
          AttentionKind::bahdanau,
          {.batch = spec.batch,
           .source_steps = spec.source_steps,
           .target_steps = spec.target_steps,
           .hidden = spec.hidden,
           .chunk = spec.attention_steps == 0 ? spec.target_steps
                                              : std::min(spec.attention_steps, spec.target_steps)}),
      encoder_(out_,
               chain(spec.source_steps),
               {.count = spec.layers,
                .first_tag = 0,
                .residual_from = first_residual,
                .bidirectional = Bidirectional::first},
               {&source_.outputs()}),
      decoder_(out_,
               chain(spec.target_steps),
               {.count = spec.layers,
                .first_tag = spec.layers + 1,
                .residual_from = first_residual,
                .context = &attention_.outputs()},
               {&target_.outputs()}),
      projection_(out_, projection_shape(spec)),
      output_gradient_(static_cast<std::size_t>(spec.target_steps)) {
  attention_.set_queries(&decoder_.chain(0).outputs());
  for (std::int64_t layer = 1; layer < spec.layers; ++layer) {
    attention_.add_upstream(&decoder_.layer(layer).front()->input_gradients());
  }
  // Besides layer 1, whose dx holds the path into it, the first layer's output is the query.
  for (const Steps* values : attention_.query_gradients()) decoder_.chain(0).add_upstream(values);
  for (const Steps* values : attention_.source_gradients()) encoder_.add_upstream(values);
  decoder_.add_upstream(&output_gradient_);
  reserve_nodes(out_, (spec.layers + 1) * spec.source_steps + spec.layers * spec.target_steps);
}

void Gnmt::forward(const Value& tokens) {
  source_.forward(table_, tokens);
  encoder_.forward();
  attention_.add_sources(top_outputs(encoder_).front(), encoder_.top().front()->final_h().task);
  target_.forward(table_, tokens);
  decoder_.forward_layer(0);
  for (std::int64_t chunk = 0; chunk < attention_.chunks(); ++chunk) attention_.forward(chunk);
  for (std::int64_t layer = 1; layer < spec_.layers; ++layer) decoder_.forward_layer(layer);
  projection_.forward(top_outputs(decoder_));
}

void Gnmt::backward(const Value& tokens) {
  projection_.backward(top_outputs(decoder_));
  std::fill(output_gradient_.begin(), output_gradient_.end(), projection_.input_gradient());
  decoder_.add_borders();
  attention_.begin_backward();
  for (std::int64_t layer = spec_.layers; layer-- > 1;) decoder_.backward_layer(layer);
  for (std::int64_t chunk = attention_.chunks(); chunk-- > 0;) attention_.backward(chunk);
  attention_.end_backward();
  decoder_.backward_layer(0);
  target_.backward(table_, tokens, input_gradients(decoder_));
  encoder_.add_borders();
  encoder_.backward();
  source_.backward(table_, tokens, input_gradients(encoder_));
  decoder_.add_reductions();
  encoder_.add_reductions();
}

TaskGraph Gnmt::build() && {
  encoder_.add_parameters();
  decoder_.add_parameters();
  const std::int64_t count = spec_.batch * (spec_.source_steps + spec_.target_steps + 1);
  const Value tokens = add_transfer_in(out_, count, spec_.model.transfers);
  forward(tokens);
  backward(tokens);
  const Optimizer optimizer = spec_.model.optimizer;
  add_update(out_, projection_.parameter(), optimizer);
  decoder_.add_updates(optimizer);
  attention_.add_updates(optimizer);
  encoder_.add_updates(optimizer);
  add_update(out_, table_, optimizer);
  if (spec_.model.transfers) add_transfer_out(out_, projection_.loss());
  return std::move(out_).build();
}

}  // namespace

TaskGraph gnmt(const GnmtSpec& spec) {
  check(spec);
  return Gnmt{spec}.build();
}

}  // namespace schedlab
