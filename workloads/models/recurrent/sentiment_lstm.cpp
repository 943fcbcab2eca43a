// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/models/recurrent/model_frame.hpp"
#include "workloads/models/recurrent/model_parts.hpp"
#include "workloads/models/recurrent/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {
namespace {

using namespace detail;  // NOLINT(google-build-using-namespace): the parts of models

RecurrentSpec recurrent_part(const SentimentLstmSpec& spec) {
  RecurrentSpec part;
  part.layers = spec.layers;
  part.steps = spec.steps;
  part.batch = spec.batch;
  part.hidden = spec.hidden;
  part.input = spec.embedding;
  part.bidirectional = spec.bidirectional;
  return part;
}

std::int64_t top_directions(const SentimentLstmSpec& spec) {
  return is_bidirectional(spec.bidirectional, spec.layers - 1) ? 2 : 1;
}

Projection::Shape projection_shape(const SentimentLstmSpec& spec) {
  return {.rows = spec.batch, .width = top_directions(spec) * spec.hidden, .outputs = spec.classes};
}

void check(const SentimentLstmSpec& spec) {
  const auto at_least_one = [](std::int64_t value, const char* name) {
    SCHEDLAB_EXPECTS(value >= 1, fmt::format("sentiment_lstm: {} is {}", name, value));
  };
  at_least_one(spec.layers, "layers");
  at_least_one(spec.hidden, "hidden");
  at_least_one(spec.embedding, "embedding");
  at_least_one(spec.steps, "steps");
  at_least_one(spec.batch, "batch");
  at_least_one(spec.vocabulary, "vocabulary");
  at_least_one(spec.classes, "classes");
  check_nodes("sentiment_lstm", chain_count(recurrent_part(spec)), spec.steps);
  const auto h = static_cast<double>(spec.hidden);
  const auto e = static_cast<double>(spec.embedding);
  check_recurrent_tensors({.steps = spec.steps,
                           .batch = spec.batch,
                           .hidden = h,
                           .width = std::max(2 * h, e),
                           .buffers = spec.model.cut.partial_buffers});
  check_elements(
      "sentiment_lstm", static_cast<double>(spec.vocabulary) * e, "the vocabulary over embedding");
  check_elements(
      "sentiment_lstm",
      static_cast<double>(spec.classes) * std::max(2 * h + 1, static_cast<double>(spec.batch)),
      "classes over hidden or batch");
}

}  // namespace

TaskGraph sentiment_lstm(const SentimentLstmSpec& spec) {
  check(spec);
  GraphEmitter out{spec.model.type, spec.model.tensors, true};
  reserve_nodes(out, chain_count(recurrent_part(spec)) * spec.steps);
  Parameter table = make_parameter(out, "embedding", spec.vocabulary * spec.embedding);
  Embedding words{
      out, "word", {.rows = spec.steps * spec.batch, .width = spec.embedding}, spec.steps};
  RecurrentStack stack{out,
                       model_chain(spec.model, spec.batch, spec.hidden, spec.embedding, spec.steps),
                       {.count = spec.layers, .bidirectional = spec.bidirectional},
                       {&words.outputs()}};
  // Only the state after the last step of each direction is used.
  Projection projection{out, projection_shape(spec)};
  std::vector<RecurrentChain*> top = stack.top();
  std::vector<Steps> gradients(top.size(), Steps(static_cast<std::size_t>(spec.steps)));
  for (std::size_t d = 0; d < top.size(); ++d) {
    for (Value& value : gradients[d]) value.present = false;
    top[d]->add_upstream(&gradients[d]);
  }

  stack.add_parameters();
  const Value tokens = add_transfer_in(out, spec.batch * (spec.steps + 1), spec.model.transfers);
  words.forward(table, tokens);
  stack.forward();
  Steps states;
  for (const RecurrentChain* chain : top) states.push_back(chain->final_h());
  projection.forward({&states});
  projection.backward({&states});
  gradients.front().back() = projection.input_gradient();
  if (top.size() > 1) gradients.back().front() = projection.input_gradient();
  stack.add_borders();
  stack.backward();
  words.backward(table, tokens, input_gradients(stack));
  stack.add_reductions();
  add_update(out, projection.parameter(), spec.model.optimizer);
  stack.add_updates(spec.model.optimizer);
  add_update(out, table, spec.model.optimizer);
  if (spec.model.transfers) add_transfer_out(out, projection.loss());
  return std::move(out).build();
}

}  // namespace schedlab
