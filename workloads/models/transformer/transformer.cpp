// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/transformer/transformer.hpp"

#include "sim/base/error.hpp"
#include "sim/graph/row_kernels.hpp"
#include "workloads/models/graph_emitter.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/models/recurrent/model_parts.hpp"
#include "workloads/transforms/add_backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using detail::GraphEmitter;
using detail::Value;

constexpr std::int64_t max_kernels_per_layer = 48;  // besides small operators

/// 4 FLOP per element: square, sum, product with the root's inverse, scale.
Kernel rms_norm_kernel(std::int64_t rows, std::int64_t columns, DataType type) {
  Kernel kernel = normalization_kernel(rows, columns, type);
  kernel.flops = Flops{4.0 * static_cast<double>(rows) * static_cast<double>(columns)};
  kernel.bytes_read = Bytes{(rows + 1) * columns * bytes_per_element(type)};  // x and the scale
  return kernel;
}

/// Emits the pass, operator by operator, as one chain wherever data allow no more.
class Emission {
 public:
  explicit Emission(const TransformerSpec& spec)
      : spec_(spec),
        shape_(spec.shape),
        out_(spec.type, spec.tensors, true),
        rows_(spec.batch * spec.tokens),
        head_(shape_.hidden / shape_.heads),
        heads_(shape_.heads / spec.tensor_parallel),
        kv_heads_(std::max<std::int64_t>(shape_.kv_heads / spec.tensor_parallel, 1)),
        q_width_(heads_ * head_),
        kv_width_(kv_heads_ * head_),
        ffn_(shape_.ffn / spec.tensor_parallel),
        keys_(spec.context + spec.tokens) {}

  TaskGraph run() {
    out_.reserve(
        static_cast<std::size_t>(shape_.layers * (max_kernels_per_layer + spec_.small_operators)));
    const std::int64_t h = shape_.hidden;
    const Value ids = given("token_ids", rows_);
    Value x = emit("embedding",
                   gather_kernel(rows_ * h),
                   {ids, weights("W_embedding", shape_.vocabulary * h)},
                   rows_ * h);
    for (layer_ = 0; layer_ < shape_.layers; ++layer_) x = add_layer(x);
    layer_ = -1;
    x = norm("last_norm", x);
    // Only the last token of each sequence is asked what comes next.
    const std::int64_t words = shape_.vocabulary / spec_.tensor_parallel;  // of this rank
    const std::int64_t asked = spec_.training ? rows_ : spec_.batch;
    const Value logits = emit("logits",
                              gemm_kernel(asked, words, h, spec_.type, false),
                              {x, weights("W_logits", words * h)},
                              asked * words);
    if (spec_.training) {
      emit("loss", softmax_kernel(rows_, words, DataType::fp32), {logits}, rows_);
      return std::move(out_).build();
    }
    emit("next_token",
         row_reduction_kernel(spec_.batch, shape_.vocabulary, spec_.type),
         {logits},
         spec_.batch);
    return std::move(out_).build();
  }

 private:
  [[nodiscard]] bool fused() const { return spec_.operators == TransformerOperators::fused; }

  /// A tensor from outside the pass, of this layer if there is one.
  Value given(std::string_view name, std::int64_t elements) {
    return {.task = {}, .tensor = out_.tensor(name, layer_, GraphEmitter::no_step, elements, true)};
  }
  Value weights(std::string_view name, std::int64_t elements) { return given(name, elements); }

  /// One operator: a task of one kernel that needs `inputs`.
  TaskId emit_task(std::string_view name,
                   const Kernel& kernel,
                   std::initializer_list<Value> inputs) {
    const OperationId operation = out_.operation(name, TaskClass::unclassified, {kernel});
    const TaskId task = out_.task(operation, layer_, layer_ < 0 ? -1 : 0);
    for (const Value& input : inputs) out_.needs(task, input);
    return task;
  }
  /// The same with the tensor that it makes.
  Value emit(std::string_view name,
             const Kernel& kernel,
             std::initializer_list<Value> inputs,
             std::int64_t elements) {
    const TaskId task = emit_task(name, kernel, inputs);
    const TensorId tensor =
        out_.tensor(name, layer_, GraphEmitter::no_step, elements, name == "next_token");
    out_.writes(task, tensor);
    return {.task = task, .tensor = tensor};
  }
  Value pointwise(std::string_view name,
                  std::initializer_list<Value> inputs,
                  std::int64_t elements,
                  double flops) {
    const auto count = static_cast<std::int64_t>(inputs.size());
    return emit(name, pointwise_kernel(elements, count, flops, spec_.type), inputs, elements);
  }
  /// Rows of a table: reads and writes each element once.
  [[nodiscard]] Kernel gather_kernel(std::int64_t elements) const {
    return pointwise_kernel(elements, 1, 0, spec_.type);
  }
  Value project(std::string_view name,
                std::string_view parameter,
                const Value& x,
                std::int64_t outputs,
                std::int64_t inputs) {
    return emit(name,
                gemm_kernel(rows_, outputs, inputs, spec_.type, false),
                {x, weights(parameter, outputs * inputs)},
                rows_ * outputs);
  }

  Value norm(std::string_view name, const Value& x);
  Value rotate(std::string_view name, const Value& x, std::int64_t elements);
  Value attend(const Value& q, const Value& k, const Value& v);
  Value append(std::string_view name, const Value& cache, const Value& fresh);
  Value unfused_attention(const Value& q, Value keys, Value values);
  Value add_attention(const Value& x);
  Value add_ffn(const Value& x);
  Value add_layer(const Value& x);

  const TransformerSpec& spec_;
  const TransformerShape& shape_;
  GraphEmitter out_;
  std::int64_t rows_;      // new tokens of all sequences
  std::int64_t head_;      // width of one head
  std::int64_t heads_;     // of this rank
  std::int64_t kv_heads_;  // likewise
  std::int64_t q_width_;   // of the queries of one token
  std::int64_t kv_width_;  // of the keys (or values) of one token
  std::int64_t ffn_;       // of this rank
  std::int64_t keys_;      // tokens that attention reads, of one sequence
  std::int64_t layer_ = -1;
};

/// Unfused: in fp32, as LLaMA's published code and its ports have it.
Value Emission::norm(std::string_view name, const Value& x) {
  const std::int64_t elements = rows_ * shape_.hidden;
  const Value scale = weights(fmt::format("W_{}", name), shape_.hidden);
  if (fused()) {
    return emit(name, rms_norm_kernel(rows_, shape_.hidden, spec_.type), {x, scale}, elements);
  }
  const auto part = [&](std::string_view what) { return fmt::format("{}_{}", name, what); };
  constexpr DataType wide = DataType::fp32;
  const Value cast = emit(part("to_fp32"), cast_kernel(elements, spec_.type, wide), {x}, elements);
  const Value square =
      emit(part("square"), pointwise_kernel(elements, 1, 1, wide), {cast}, elements);
  const Value mean =
      emit(part("mean"), row_reduction_kernel(rows_, shape_.hidden, wide), {square}, rows_);
  const Value shifted = emit(part("epsilon"), pointwise_kernel(rows_, 1, 1, wide), {mean}, rows_);
  const Value root = emit(part("root"), pointwise_kernel(rows_, 1, 1, wide), {shifted}, rows_);
  const Value normed =
      emit(part("product"), pointwise_kernel(elements, 1, 1, wide), {cast, root}, elements);
  const Value back =
      emit(part("from_fp32"), cast_kernel(elements, wide, spec_.type), {normed}, elements);
  return emit(part("scale"), pointwise_kernel(elements, 1, 1, spec_.type), {back, scale}, elements);
}

/// Unfused: x * cos + (-upper half, lower half of x) * sin.
Value Emission::rotate(std::string_view name, const Value& x, std::int64_t elements) {
  const auto part = [&](std::string_view what) { return fmt::format("{}_{}", name, what); };
  const Value negated = pointwise(part("negate"), {x}, elements / 2, 1);
  const Value turned = pointwise(part("join"), {negated}, elements, 0);
  const Value cosines = pointwise(part("cosine"), {x}, elements, 1);
  const Value sines = pointwise(part("sine"), {turned}, elements, 1);
  return pointwise(part("sum"), {cosines, sines}, elements, 1);
}

/// Writes the new tokens' keys or values into the cache; what it returns is the whole cache.
Value Emission::append(std::string_view name, const Value& cache, const Value& fresh) {
  if (spec_.training) return fresh;
  const TaskId task = emit_task(name, gather_kernel(rows_ * kv_width_), {fresh});
  out_.writes(task, cache.tensor);
  return {.task = task, .tensor = cache.tensor};
}

Value Emission::unfused_attention(const Value& q, Value keys, Value values) {
  const std::int64_t pairs = spec_.batch * heads_;
  const std::int64_t cached = spec_.batch * keys_ * q_width_;
  if (kv_heads_ != heads_) {
    // Each query head gets keys and values of its own, as ports to frameworks do it.
    keys = pointwise("repeat_keys", {keys}, cached, 0);
    values = pointwise("repeat_values", {values}, cached, 0);
  }
  const std::int64_t weights = pairs * spec_.tokens * keys_;
  const auto product = [&](std::int64_t n, std::int64_t k) {
    return detail::batched_gemm_kernel(pairs, spec_.tokens, n, k, spec_.type, false);
  };
  const Value scores = emit("scores", product(keys_, head_), {q, keys}, weights);
  const Value scaled = pointwise("score_scale", {scores}, weights, 1);
  const Value masked = pointwise("mask", {scaled}, weights, 1);
  const Value softmax = emit(
      "softmax", softmax_kernel(pairs * spec_.tokens, keys_, DataType::fp32), {masked}, weights);
  const Value narrow =
      emit("weights", cast_kernel(weights, DataType::fp32, spec_.type), {softmax}, weights);
  const std::int64_t elements = rows_ * q_width_;
  const Value result = emit("weighted_values", product(head_, keys_), {narrow, values}, elements);
  return pointwise("join_heads", {result}, elements, 0);
}

/// Fused: one kernel that keeps scores on chip (Dao et al., FlashAttention, arXiv 2205.14135):
/// reads queries, keys and values, writes the result; 2 products over the keys each token sees and
/// 5 FLOP for the softmax of each weight.
Value Emission::attend(const Value& q, const Value& k, const Value& v) {
  const std::int64_t pairs = spec_.batch * heads_ * spec_.tokens;
  const double seen =
      static_cast<double>(spec_.context) + (static_cast<double>(spec_.tokens) + 1) / 2;
  const std::int64_t elements = rows_ * q_width_;
  Kernel kernel = gemm_kernel(pairs, keys_, head_, spec_.type, false);
  kernel.flops = Flops{static_cast<double>(pairs) * seen * (4.0 * static_cast<double>(head_) + 5)};
  kernel.bytes_read = Bytes{out_.bytes(elements + 2 * spec_.batch * keys_ * kv_width_)};
  kernel.bytes_written = Bytes{out_.bytes(elements)};
  kernel.attention = {.sequences = spec_.batch,
                      .queries = spec_.tokens,
                      .keys = keys_,
                      .heads = heads_,
                      .kv_heads = kv_heads_,
                      .head = head_};
  return emit("attention", kernel, {q, k, v}, elements);
}

Value Emission::add_attention(const Value& x) {
  const std::int64_t h = shape_.hidden;
  Value q = project("q_projection", "W_q", x, q_width_, h);
  Value k = project("k_projection", "W_k", x, kv_width_, h);
  const Value v = project("v_projection", "W_v", x, kv_width_, h);
  const std::int64_t cached = spec_.batch * keys_ * kv_width_;
  const auto cache = [&](std::string_view name) {
    return spec_.training ? Value{} : given(name, cached);
  };
  const Value keys = cache("key_cache");
  const Value values = cache("value_cache");
  Value result;
  if (fused() && spec_.training) {
    const std::int64_t turned = rows_ * (q_width_ + kv_width_);
    q = emit("rotary", pointwise_kernel(turned, 1, 3, spec_.type), {q, k}, turned);
    result = attend(q, q, v);
  } else if (fused()) {
    const std::int64_t turned = rows_ * (q_width_ + kv_width_);
    q = emit("rotary", pointwise_kernel(turned, 1, 3, spec_.type), {q, k}, turned);
    const TaskId done = emit_task("cache_append", gather_kernel(2 * rows_ * kv_width_), {q, v});
    out_.writes(done, keys.tensor);
    out_.writes(done, values.tensor);
    result =
        attend(q, {.task = done, .tensor = keys.tensor}, {.task = done, .tensor = values.tensor});
  } else {
    q = rotate("q_rotary", q, rows_ * q_width_);
    k = rotate("k_rotary", k, rows_ * kv_width_);
    result = unfused_attention(q, append("key_append", keys, k), append("value_append", values, v));
  }
  return project("output_projection", "W_o", result, h, q_width_);
}

Value Emission::add_ffn(const Value& x) {
  const std::int64_t f = ffn_;
  const Value gate = project("gate_projection", "W_gate", x, f, shape_.hidden);
  const Value up = project("up_projection", "W_up", x, f, shape_.hidden);
  // silu(x) = x / (1 + exp(-x)): 4 FLOP; then the product with the other half.
  Value inner;
  if (fused()) {
    inner = pointwise("gated_silu", {gate, up}, rows_ * f, 5);
  } else {
    const Value silu = pointwise("silu", {gate}, rows_ * f, 4);
    inner = pointwise("gate", {silu, up}, rows_ * f, 1);
  }
  return project("down_projection", "W_down", inner, shape_.hidden, f);
}

Value Emission::add_layer(const Value& x) {
  const std::int64_t elements = rows_ * shape_.hidden;
  const Value attention = add_attention(norm("attention_norm", x));
  const Value middle = pointwise("attention_residual", {x, attention}, elements, 1);
  const Value ffn = add_ffn(norm("ffn_norm", middle));
  Value y = pointwise("ffn_residual", {middle, ffn}, elements, 1);
  for (std::int64_t i = 0; i < spec_.small_operators; ++i) {
    y = pointwise("small_operator", {y}, elements, 0);
  }
  return y;
}

void check(const TransformerSpec& spec) {
  const TransformerShape& s = spec.shape;
  for (const auto& [value, name] : {std::pair{s.layers, "layers"},
                                    {s.hidden, "hidden"},
                                    {s.heads, "heads"},
                                    {s.kv_heads, "kv_heads"},
                                    {s.ffn, "ffn"},
                                    {s.vocabulary, "vocabulary"},
                                    {spec.batch, "batch"},
                                    {spec.tokens, "tokens"},
                                    {spec.tensor_parallel, "tensor_parallel"}}) {
    SCHEDLAB_EXPECTS(value >= 1, fmt::format("transformer: {} is {}", name, value));
  }
  if (s.hidden % s.heads != 0 || s.heads % s.kv_heads != 0) {
    throw InfeasibleError(
        fmt::format("transformer: {} heads must divide hidden {}, and {} kv_heads the heads\n"
                    "  change heads or kv_heads",
                    s.heads,
                    s.hidden,
                    s.kv_heads));
  }
  const std::int64_t ranks = spec.tensor_parallel;
  const bool shared_keys = s.kv_heads % ranks == 0 || ranks % s.kv_heads == 0;
  if (s.heads % ranks != 0 || s.ffn % ranks != 0 || s.vocabulary % ranks != 0 || !shared_keys) {
    throw InfeasibleError(fmt::format(
        "transformer: {} heads ({} of keys and values), ffn {} and vocabulary {} cannot "
        "be divided among {} ranks\n  change tensor_parallel",
        s.heads,
        s.kv_heads,
        s.ffn,
        s.vocabulary,
        ranks));
  }
  if (spec.training && (ranks != 1 || spec.context != 0 || !spec.tensors)) {
    throw InfeasibleError(
        "transformer: a training step has no context and one rank, and needs include_tensors");
  }
  detail::check_nodes("transformer", s.layers, max_kernels_per_layer + spec.small_operators);
  const auto rows = static_cast<double>(spec.batch) * static_cast<double>(spec.tokens);
  const auto keys = static_cast<double>(spec.context + spec.tokens);
  const auto width = static_cast<double>(s.hidden + s.ffn);
  detail::check_elements(
      "transformer", rows * keys * static_cast<double>(s.heads), "tokens, context and heads");
  detail::check_elements("transformer", rows * width, "tokens and width");
  detail::check_elements(
      "transformer", static_cast<double>(spec.batch) * keys * width, "cache of keys and values");
  detail::check_elements(
      "transformer", static_cast<double>(s.vocabulary) * width, "vocabulary and width");
  detail::check_elements("transformer", static_cast<double>(s.hidden) * width, "hidden and ffn");
}

}  // namespace

const std::vector<TransformerModel>& transformer_models() {
  static const std::vector<TransformerModel> all{
      {"llama_7b", "Touvron et al., LLaMA, 2023, arXiv 2302.13971, table 2; ffn 11008", {}, 0},
      {"llama_2_7b", "Touvron et al., Llama 2, 2023, arXiv 2307.09288: the same sizes", {}, 0},
      {"llama_2_70b",
       "Touvron et al., Llama 2, 2023, arXiv 2307.09288: 80 layers, 8 heads of keys and values",
       {.layers = 80,
        .hidden = 8192,
        .heads = 64,
        .kv_heads = 8,
        .ffn = 28672,
        .vocabulary = 32000},
       0},
      {"pangu_71b_like",
       "assumed: only 71 B parameters, about 6300 nodes and 1600 inputs and outputs are published "
       "(Huawei, CANN model sinking, 2024); Llama 2 70B with 150,000 words, unfused, and 30 small "
       "operators a layer",
       {.layers = 80,
        .hidden = 8192,
        .heads = 64,
        .kv_heads = 8,
        .ffn = 28672,
        .vocabulary = 150000},
       30}};
  return all;
}

TaskGraph transformer_forward(const TransformerSpec& spec) {
  check(spec);
  TaskGraph forward = Emission{spec}.run();
  if (!spec.training) return forward;
  return add_backward(forward, [](std::string_view name) { return name.starts_with("W_"); });
}

std::vector<TensorParallel::Join> transformer_joins() {
  return {{.operation = "output_projection", .op = CollectiveOp::all_reduce},
          {.operation = "down_projection", .op = CollectiveOp::all_reduce},
          {.operation = "logits", .op = CollectiveOp::all_gather}};
}

}  // namespace schedlab
