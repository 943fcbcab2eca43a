// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/attention.hpp"

#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <algorithm>

namespace schedlab::detail {
namespace {

constexpr TaskClass matmul = TaskClass::critical_matmul;
constexpr TaskClass pointwise = TaskClass::critical_pointwise;

}  // namespace

Attention::Attention(GraphEmitter& out, AttentionKind kind, const AttentionShape& shape)
    : out_(out),
      kind_(kind),
      shape_(shape),
      query_parameter_(make_parameter(out, "attention_query", shape.hidden * shape.hidden)),
      other_parameter_(
          kind == AttentionKind::bahdanau
              ? make_parameter(out, "attention_keys", shape.hidden * shape.hidden)
              : make_parameter(out, "attention_output", 2 * shape.hidden * shape.hidden)) {
  if (kind == AttentionKind::bahdanau) {
    score_parameter_ = make_parameter(out, "attention_score", 2 * shape.hidden + 1);
  }
  const auto targets = static_cast<std::size_t>(shape.target_steps);
  outputs_.resize(targets);
  query_gradients_.resize(targets);
  direct_gradients_.resize(targets);
  values_gradients_.resize(static_cast<std::size_t>(shape.source_steps));
  keys_gradients_.resize(values_gradients_.size());
  chunks_.resize(static_cast<std::size_t>(chunks()));
}

Attention::Range Attention::range(std::int64_t chunk) const {
  Range r;
  r.begin = chunk * shape_.chunk;
  r.end = std::min(r.begin + shape_.chunk, shape_.target_steps);
  r.rows = (r.end - r.begin) * shape_.batch;
  r.tag = chunks() == 1 ? -1 : r.begin;
  return r;
}

Value Attention::make(std::string_view name,
                      TaskClass task_class,
                      const Kernel& kernel,
                      const Range& range,
                      std::string_view tensor,
                      std::int64_t elements) {
  const TaskId task = add_task(out_, name, task_class, kernel, range.tag);
  const TensorId id =
      out_.tensor(tensor, -1, range.tag < 0 ? GraphEmitter::no_step : range.tag, elements, false);
  out_.writes(task, id);
  return {task, id, true};
}

/// The encoder's outputs live from their making to the end of backward, whoever else reads them in
/// between: only the first and the last reader are noted, else there would be a read for every pair
/// of a source and a target step.
void Attention::read_sources(TaskId task) {
  for (const Value& value : *sources_) out_.reads(task, value.tensor);
}

void Attention::need_queries(TaskId task, const Range& range) {
  for (std::int64_t t = range.begin; t < range.end; ++t) {
    out_.needs(task, (*queries_)[static_cast<std::size_t>(t)]);
  }
}

void Attention::add_sources(const Steps* sources, TaskId last) {
  sources_ = sources;
  if (kind_ == AttentionKind::luong) {
    keys_.task = last;
    return;
  }
  const std::int64_t rows = shape_.source_steps * shape_.batch;
  const Kernel kernel = gemm_kernel(rows, shape_.hidden, shape_.hidden, out_.type(), false);
  keys_ = make("attention_keys", matmul, kernel, Range{}, "keys", rows * shape_.hidden);
  for (const Value& value : *sources) out_.needs(keys_.task, value);
  out_.reads(keys_.task, other_parameter_.weights);
}

Value Attention::add_score(const Range& r, const Value& query) {
  const std::int64_t units = weights(r) * shape_.hidden;
  Kernel kernel;
  if (kind_ == AttentionKind::bahdanau) {
    const std::int64_t read = (r.rows + shape_.source_steps * shape_.batch + 2) * shape_.hidden;
    kernel = pointwise_kernel(out_.type(), 5.0 * static_cast<double>(units), read, weights(r));
  } else {
    kernel = batched_gemm_kernel(
        shape_.batch, r.end - r.begin, shape_.source_steps, shape_.hidden, out_.type(), false);
  }
  const TaskClass task_class = kind_ == AttentionKind::bahdanau ? pointwise : matmul;
  const Value score = make("attention_score", task_class, kernel, r, "scores", weights(r));
  out_.needs(score.task, query);
  out_.needs(score.task, keys_);
  out_.reads(score.task, score_parameter_.weights);
  if (kind_ == AttentionKind::luong && r.begin == 0) read_sources(score.task);
  return score;
}

void Attention::set_outputs(const Range& range, const Value& value) {
  for (std::int64_t t = range.begin; t < range.end; ++t) {
    outputs_[static_cast<std::size_t>(t)] = value;
  }
}

void Attention::forward(std::int64_t index) {
  const Range r = range(index);
  const std::int64_t h = shape_.hidden;
  Chunk& chunk = chunks_[static_cast<std::size_t>(index)];
  chunk.query = make(
      "attention_query", matmul, gemm_kernel(r.rows, h, h, out_.type(), false), r, "q", r.rows * h);
  need_queries(chunk.query.task, r);
  out_.reads(chunk.query.task, query_parameter_.weights);
  const Value score = add_score(r, chunk.query);
  const std::int64_t n = weights(r);
  chunk.weights = make("attention_softmax",
                       pointwise,
                       pointwise_kernel(out_.type(), 5.0 * static_cast<double>(n), n, n),
                       r,
                       "p",
                       n);
  out_.needs(chunk.weights.task, score);
  chunk.context =
      make("attention_context",
           matmul,
           batched_gemm_kernel(
               shape_.batch, r.end - r.begin, h, shape_.source_steps, out_.type(), false),
           r,
           "context",
           r.rows * h);
  out_.needs(chunk.context.task, chunk.weights);
  if (kind_ == AttentionKind::bahdanau) {
    set_outputs(r, chunk.context);
    return;
  }
  const Value product = make("attention_output",
                             matmul,
                             gemm_kernel(r.rows, h, 2 * h, out_.type(), false),
                             r,
                             "attended_sum",
                             r.rows * h);
  out_.needs(product.task, chunk.context);
  need_queries(product.task, r);
  out_.reads(product.task, other_parameter_.weights);
  const std::int64_t elements = r.rows * h;
  const Value result =
      make("attention_tanh",
           pointwise,
           pointwise_kernel(out_.type(), static_cast<double>(elements), elements, elements),
           r,
           "attended",
           elements);
  out_.needs(result.task, product);
  set_outputs(r, result);
}

void Attention::add_updates(Optimizer optimizer) {
  add_update(out_, query_parameter_, optimizer);
  add_update(out_, other_parameter_, optimizer);
  if (kind_ == AttentionKind::bahdanau) add_update(out_, score_parameter_, optimizer);
}

std::vector<const Steps*> Attention::query_gradients() const {
  if (kind_ == AttentionKind::bahdanau) return {&query_gradients_};
  return {&query_gradients_, &direct_gradients_};
}

}  // namespace schedlab::detail
