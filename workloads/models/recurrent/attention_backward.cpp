// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/attention.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <algorithm>

namespace schedlab::detail {
namespace {

constexpr TaskClass matmul = TaskClass::critical_matmul;
constexpr TaskClass pointwise = TaskClass::critical_pointwise;

}  // namespace

/// Sums over steps go into one tensor each, chunk after chunk.
void Attention::begin_backward() {
  const std::int64_t elements = shape_.source_steps * shape_.batch * shape_.hidden;
  const auto sum = [&](std::string_view name) {
    return out_.tensor(name, -1, GraphEmitter::no_step, elements, false, true);
  };
  values_gradient_.tensor = sum("dvalues");
  keys_gradient_.tensor = sum("dkeys");
}

/// The gradient of the context: the sum of what arrives, for luong through tanh and Wo.
Value Attention::context_gradient(const Range& r, Chunk& chunk) {
  const std::int64_t elements = r.rows * shape_.hidden;
  std::vector<Value> arrived;
  std::int64_t parts = 0;
  for (const Steps* values : upstream_) {
    bool any = false;
    for (std::int64_t t = r.begin; t < r.end; ++t) {
      const Value& value = (*values)[static_cast<std::size_t>(t)];
      if (!value.present) continue;
      arrived.push_back(value);
      any = true;
    }
    parts += any ? 1 : 0;
  }
  const std::int64_t more = kind_ == AttentionKind::luong ? 3 : 0;  // tanh
  const Kernel kernel = pointwise_kernel(out_.type(),
                                         static_cast<double>((parts - 1 + more) * elements),
                                         (parts + (more > 0 ? 1 : 0)) * elements,
                                         elements);
  const bool luong = kind_ == AttentionKind::luong;
  const Value sum = make(luong ? "attention_tanh_gradient" : "attention_context_gradient",
                         pointwise,
                         kernel,
                         r,
                         luong ? "dattended" : "dcontext",
                         elements);
  for (const Value& value : arrived) out_.needs(sum.task, value);
  if (!luong) return sum;
  out_.reads(sum.task, outputs_[static_cast<std::size_t>(r.begin)].tensor);
  chunk.result_gradient = sum;
  const Value both = make("attention_output_gradient",
                          matmul,
                          gemm_kernel(r.rows, 2 * shape_.hidden, shape_.hidden, out_.type(), false),
                          r,
                          "dcontext",
                          2 * elements);
  out_.needs(both.task, sum);
  out_.reads(both.task, other_parameter_.weights);
  other_parameter_.readers.push_back(both.task);
  for (std::int64_t t = r.begin; t < r.end; ++t) {
    direct_gradients_[static_cast<std::size_t>(t)] = both;
  }
  return both;
}

void Attention::add_values_gradient(const Range& r, const Chunk& chunk, const Value& gradient) {
  const TaskId task = add_task(
      out_,
      "attention_values_gradient",
      matmul,
      batched_gemm_kernel(
          shape_.batch, shape_.source_steps, shape_.hidden, r.end - r.begin, out_.type(), true),
      r.tag);
  out_.needs(task, gradient);
  out_.needs(task, chunk.weights);
  out_.edge(values_gradient_.task, task);
  out_.writes(task, values_gradient_.tensor);
  values_gradient_.task = task;
}

/// From the gradient of the scores to those of the query and, summed over chunks, of the keys.
void Attention::add_score_gradient(const Range& r, Chunk& chunk, const Value& score_gradient) {
  const std::int64_t h = shape_.hidden;
  const std::int64_t source = shape_.source_steps * shape_.batch * h;
  TaskId keys;
  if (kind_ == AttentionKind::bahdanau) {
    const Kernel kernel = pointwise_kernel(out_.type(),
                                           12.0 * static_cast<double>(weights(r) * h),
                                           r.rows * h + 2 * source + 2 * h + weights(r),
                                           r.rows * h + source + 2 * h);
    chunk.query_gradient = make("attention_score_gradient", pointwise, kernel, r, "dq", r.rows * h);
    keys = chunk.query_gradient.task;
    out_.needs(keys, chunk.query);
    out_.needs(keys, keys_);
    out_.reads(keys, score_parameter_.weights);
    out_.writes(keys, score_parameter_.gradient);
    score_parameter_.gradient_tasks.assign(1, keys);  // after all earlier ones
  } else {
    chunk.query_gradient =
        make("attention_score_gradient",
             matmul,
             batched_gemm_kernel(
                 shape_.batch, r.end - r.begin, h, shape_.source_steps, out_.type(), false),
             r,
             "dq",
             r.rows * h);
    out_.needs(chunk.query_gradient.task, score_gradient);
    last_reader_ = chunk.query_gradient.task;
    keys = add_task(out_,
                    "attention_keys_gradient",
                    matmul,
                    batched_gemm_kernel(
                        shape_.batch, shape_.source_steps, h, r.end - r.begin, out_.type(), true),
                    r.tag);
    out_.needs(keys, chunk.query);
  }
  out_.needs(keys, score_gradient);
  out_.edge(keys_gradient_.task, keys);
  out_.writes(keys, keys_gradient_.tensor);
  keys_gradient_.task = keys;
}

void Attention::backward(std::int64_t index) {
  const Range r = range(index);
  const std::int64_t h = shape_.hidden;
  Chunk& chunk = chunks_[static_cast<std::size_t>(index)];
  const Value gradient = context_gradient(r, chunk);
  const std::int64_t n = weights(r);
  const Value weights_gradient =
      make("attention_weights_gradient",
           matmul,
           batched_gemm_kernel(
               shape_.batch, r.end - r.begin, shape_.source_steps, h, out_.type(), false),
           r,
           "dp",
           n);
  out_.needs(weights_gradient.task, gradient);
  last_reader_ = weights_gradient.task;
  add_values_gradient(r, chunk, gradient);
  const Value score_gradient =
      make("attention_softmax_gradient",
           pointwise,
           pointwise_kernel(out_.type(), 4.0 * static_cast<double>(n), 2 * n, n),
           r,
           "dscores",
           n);
  out_.needs(score_gradient.task, weights_gradient);
  out_.needs(score_gradient.task, chunk.weights);
  add_score_gradient(r, chunk, score_gradient);
  const Value query_gradient = make("attention_query_gradient",
                                    matmul,
                                    gemm_kernel(r.rows, h, h, out_.type(), false),
                                    r,
                                    "dquery",
                                    r.rows * h);
  out_.needs(query_gradient.task, chunk.query_gradient);
  out_.reads(query_gradient.task, query_parameter_.weights);
  query_parameter_.readers.push_back(query_gradient.task);
  for (std::int64_t t = r.begin; t < r.end; ++t) {
    query_gradients_[static_cast<std::size_t>(t)] = query_gradient;
  }
}

TaskId Attention::add_weight(std::string_view name, const Kernel& kernel, Parameter& parameter) {
  const TaskId task = add_task(out_, name, TaskClass::weight_gradient, kernel);
  out_.writes(task, parameter.gradient);
  parameter.gradient_tasks.push_back(task);
  return task;
}

/// One product per matrix over all target steps.
void Attention::add_weight_gradients() {
  const std::int64_t h = shape_.hidden;
  const std::int64_t rows = shape_.target_steps * shape_.batch;
  const TaskId query = add_weight(
      "attention_query_weight", gemm_kernel(h, h, rows, out_.type(), true), query_parameter_);
  for (const Value& value : *queries_) out_.needs(query, value);
  for (const Chunk& chunk : chunks_) out_.needs(query, chunk.query_gradient);
  if (kind_ == AttentionKind::luong) {
    const TaskId output = add_weight("attention_output_weight",
                                     gemm_kernel(2 * h, h, rows, out_.type(), true),
                                     other_parameter_);
    for (const Value& value : *queries_) out_.needs(output, value);
    for (const Chunk& chunk : chunks_) {
      out_.needs(output, chunk.context);
      out_.needs(output, chunk.result_gradient);
    }
    return;
  }
  const std::int64_t source_rows = shape_.source_steps * shape_.batch;
  const TaskId keys = add_weight(
      "attention_keys_weight", gemm_kernel(h, h, source_rows, out_.type(), true), other_parameter_);
  out_.needs(keys, keys_gradient_);
  read_sources(keys);
}

void Attention::end_backward() {
  add_weight_gradients();
  std::fill(values_gradients_.begin(), values_gradients_.end(), values_gradient_);
  if (kind_ == AttentionKind::luong) {
    read_sources(last_reader_);
    std::fill(keys_gradients_.begin(), keys_gradients_.end(), keys_gradient_);
    return;
  }
  const std::int64_t rows = shape_.source_steps * shape_.batch;
  const Value gradient = make("attention_keys_gradient",
                              matmul,
                              gemm_kernel(rows, shape_.hidden, shape_.hidden, out_.type(), false),
                              Range{},
                              "dsources",
                              rows * shape_.hidden);
  out_.needs(gradient.task, keys_gradient_);
  out_.reads(gradient.task, other_parameter_.weights);
  other_parameter_.readers.push_back(gradient.task);
  std::fill(keys_gradients_.begin(), keys_gradients_.end(), gradient);
}

}  // namespace schedlab::detail
