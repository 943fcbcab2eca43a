// SPDX-License-Identifier: Apache-2.0
#include "workloads/pipeline/gpt_layer_graph.hpp"

#include "sim/base/ceil_div.hpp"
#include "sim/graph/row_kernels.hpp"
#include "workloads/models/update_kernels.hpp"
#include "workloads/pipeline/gpt_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

// FLOP per element besides the products; a sum, product, exponential or root counts as one.
constexpr double gelu_flops = 9;             // cube (2), 2 scales, 2 sums, tanh, product, half
constexpr double gelu_gradient_flops = 16;   // tanh again (6), 1 - t^2 (2), derivative (6), sum, dy
constexpr double router_gradient_flops = 4;  // y (dy - sum of y dy)
constexpr double norm_gradient_flops = 11;   // as batch normalisation: sums 5, data gradient 6

class GptMaker {
 public:
  /// `lane`: which of the ranks that share experts.
  GptMaker(const GptSpec& spec, std::size_t lane)
      : spec_(spec),
        rows_(spec.samples * spec.window),
        ranks_(spec.tensor_parallel),
        own_rows_(spec.sequence_parallel ? rows_ / ranks_ : rows_),
        own_state_(own_rows_ * spec.hidden),
        words_(ceil_div(spec.vocabulary, ranks_)),
        element_(bytes_per_element(spec.type)),
        precision_(spec.type, spec.autocast),
        wide_(precision_.wide()),
        wide_state_(precision_.widened(own_state_)) {
    graph_.name = "gpt";
    graph_.tensor_parallel = static_cast<std::uint32_t>(std::max(ranks_, spec.expert_parallel));
    graph_.expert_parallel = spec.expert_parallel > 1;
    if (spec.experts > 0) {
      const std::vector<std::int64_t> tokens = tokens_of_expert_ranks(spec);
      routed_ = std::max(tokens[lane], std::int64_t{1});
      most_routed_ =
          std::max(*std::max_element(tokens.begin(), tokens.end()), rows_ * spec.experts_per_token);
    }
    graph_.samples = spec.samples;
  }

  LayerGraph run() {
    chain("embedding", prototype("embedding", {embedding()}), spec_.tied ? "words" : "");
    chain("positions", prototype("positions", {positions()}));
    std::vector<GptOperator> block = block_operators();
    std::vector<Layer> layers;
    if (spec_.operators) {
      for (GptOperator& one : block) {
        const std::string name{one.name};
        layers.push_back(prototype(name, {std::move(one)}));
      }
      for (std::int64_t i = 0; i < spec_.blocks; ++i) add_block(i, layers, block);
    } else {
      const Layer whole = prototype("block", std::move(block));
      for (std::int64_t i = 0; i < spec_.blocks; ++i) chain(fmt::format("block_{}", i), whole);
    }
    chain("last_norm", prototype("last_norm", {norm("last_norm")}));
    chain("logits", prototype("logits", {logits()}), spec_.tied ? "words" : "");
    graph_.layers[last()].activation = Bytes{0};
    return std::move(graph_);
  }

 private:
  [[nodiscard]] LayerId last() const {
    return LayerId{static_cast<std::uint32_t>(graph_.layers.size() - 1)};
  }

  [[nodiscard]] Kernel product(std::int64_t m, std::int64_t n, std::int64_t k) const {
    return gemm_kernel(m, n, k, spec_.type, false);
  }
  /// So many products of one head and sequence side by side.
  [[nodiscard]] Kernel heads_product(std::int64_t m, std::int64_t n, std::int64_t k) const {
    Kernel kernel = product(m, n, k);
    const std::int64_t count = spec_.samples * heads();
    kernel.flops = kernel.flops * static_cast<double>(count);
    kernel.bytes_read = kernel.bytes_read * count;
    kernel.bytes_written = kernel.bytes_written * count;
    return kernel;
  }
  [[nodiscard]] Kernel over(std::int64_t elements, std::int64_t inputs, double flops) const {
    return pointwise_kernel(elements, inputs, flops, spec_.type);
  }

  [[nodiscard]] Kernel over_state(std::int64_t inputs, double flops) const {
    return pointwise_kernel(own_state_, inputs, flops, wide_);
  }

  /// Of a result before it is added to the residual; first in backward.
  void drop_result(GptOperator& one) const {
    if (!spec_.dropout) return;
    one.forward.insert(std::prev(one.forward.end()), dropout_kernel(own_state_, spec_.type));
    one.put_first(LayerPass::backward_data, dropout_gradient_kernel(own_state_, spec_.type));
    one.kept += precision_.mask(own_state_);
  }

  [[nodiscard]] std::int64_t heads() const { return spec_.heads / ranks_; }

  /// The state of all tokens summed over the ranks; with sequence parallelism each gets its tokens.
  void sum_state(LayerPass pass, std::uint32_t kernels, DataType type, GptOperator& one) const {
    if (ranks_ == 1) return;
    one.joins.push_back(
        {.pass = pass,
         .kernels = kernels,
         .op = spec_.sequence_parallel ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce,
         .bytes = Bytes{rows_ * spec_.hidden * bytes_per_element(type)}});
  }
  /// With sequence parallelism the tokens of all ranks, before the pass.
  void gather_state(LayerPass pass, GptOperator& one) const {
    if (!spec_.sequence_parallel || ranks_ == 1) return;
    one.joins.push_back({.pass = pass,
                         .kernels = 0,
                         .op = CollectiveOp::all_gather,
                         .bytes = Bytes{rows_ * spec_.hidden * element_}});
  }

  [[nodiscard]] GptOperator norm(std::string_view name) const {
    Kernel gradient = normalization_kernel(own_rows_, spec_.hidden, wide_);
    gradient.flops = Flops{norm_gradient_flops * static_cast<double>(own_state_)};
    gradient.bytes_read += Bytes{wide_state_ * element_};  // x and dy
    return {.name = name,
            .forward = {normalization_kernel(own_rows_, spec_.hidden, wide_)},
            .backward_data = {gradient},
            .parameters = 2 * spec_.hidden,
            .kept = wide_state_,
            .outputs = wide_state_};
  }
  /// y[rows, outputs] = x[rows, hidden] * W + b, each rank with its part of the outputs.
  [[nodiscard]] GptOperator by_columns(std::string_view name, std::int64_t all_outputs) const {
    const std::int64_t inputs = spec_.hidden;
    const std::int64_t outputs = all_outputs / ranks_;
    GptOperator one{.name = name,
                    .forward = {product(rows_, outputs, inputs), over(rows_ * outputs, 1, 1)},
                    .backward_data = {product(rows_, inputs, outputs)},
                    .backward_weight = {product(inputs, outputs, rows_),
                                        row_reduction_kernel(outputs, rows_, spec_.type)},
                    .parameters = inputs * outputs + outputs,
                    .kept = rows_ * outputs,
                    .outputs = rows_ * outputs};
    gather_state(LayerPass::forward, one);
    sum_state(LayerPass::backward_data, 1, spec_.type, one);
    gather_state(LayerPass::backward_weight, one);
    precision_.cast_input(own_state_, one);
    precision_.cast_weights(one);
    return one;
  }
  /// y[rows, hidden] = x[rows, inputs] * W + b, each rank with its part of the inputs, added to
  /// what the block or its middle began with.
  [[nodiscard]] GptOperator by_rows(std::string_view name, std::int64_t all_inputs) const {
    const std::int64_t inputs = all_inputs / ranks_;
    const std::int64_t h = spec_.hidden;
    GptOperator one{.name = name,
                    .forward = {product(rows_, h, inputs),
                                over(own_state_, 1, 1),
                                precision_.residual(own_state_)},
                    .backward_data = {product(rows_, inputs, h),
                                      over_state(2, 1)},  // both gradients of what was read twice
                    .backward_weight = {product(inputs, h, rows_),
                                        row_reduction_kernel(h, own_rows_, spec_.type)},
                    .parameters = inputs * h + h,
                    .kept = wide_state_,
                    .outputs = wide_state_,
                    .reads_block = true};
    sum_state(LayerPass::forward, 1, spec_.type, one);
    gather_state(LayerPass::backward_data, one);
    drop_result(one);
    precision_.cast_output_gradient(own_state_, one);
    precision_.cast_weights(one);
    return one;
  }
  [[nodiscard]] GptOperator attention() const {
    const std::int64_t keys =
        spec_.attention == GptAttention::masked ? spec_.window : mean_keys(spec_);
    const std::int64_t head = spec_.hidden / spec_.heads;
    const std::int64_t pairs = rows_ * heads();
    const std::int64_t width = pairs * head;
    if (spec_.attention == GptAttention::fused) return fused_attention(keys, head);
    const std::int64_t weights = pairs * keys;
    const Kernel to_weights = heads_product(spec_.window, keys, head);
    const Kernel from_weights = heads_product(spec_.window, head, keys);
    const Kernel transposed = heads_product(keys, head, spec_.window);
    GptOperator one{.name = "attention", .forward = {to_weights}, .outputs = width};
    for (Kernel& each : precision_.softmax(pairs, keys, spec_.dropout)) {
      one.forward.push_back(std::move(each));
    }
    one.kept = width;
    if (spec_.recompute_attention) {
      one.backward_data = one.forward;
    } else {
      one.kept += precision_.softmax_kept(weights, spec_.dropout);
    }
    one.forward.push_back(from_weights);
    one.backward_data.insert(one.backward_data.end(), {to_weights, transposed});
    for (Kernel& each : precision_.softmax_gradient(weights, spec_.dropout)) {
      one.backward_data.push_back(std::move(each));
    }
    one.backward_data.insert(one.backward_data.end(), {from_weights, transposed});
    return one;
  }
  /// Two products forward; backward the weights again and four more (Dao et al., arXiv 2205.14135):
  /// per token and head results of `head` elements, each sums over all keys.
  [[nodiscard]] GptOperator fused_attention(std::int64_t keys, std::int64_t head) const {
    const std::int64_t pairs = rows_ * heads();
    const std::int64_t width = pairs * head;
    const auto kernel = [&](std::int64_t products, std::int64_t read, std::int64_t written) {
      Kernel one = product(pairs, head, products * keys);
      one.bytes_read = Bytes{read * width * element_};
      one.bytes_written = Bytes{written * width * element_};
      return one;
    };
    Kernel forward = kernel(2, 3, 1);
    if (spec_.stride == 0) {  // dense
      forward.attention = {.sequences = spec_.samples,
                           .queries = spec_.window,
                           .keys = spec_.window,
                           .heads = heads(),
                           .kv_heads = heads(),
                           .head = head};
    }
    return {.name = "attention",
            .forward = {forward},
            .backward_data = {kernel(5, 5, 3)},
            .kept = width + ceil_div(4 * pairs, element_),  // and a sum in fp32 for each
            .outputs = width};
  }

  [[nodiscard]] std::vector<GptOperator> block_operators() const {
    const std::int64_t h = spec_.hidden;
    if (spec_.experts > 0) {
      return {norm("norm_1"),
              by_columns("qkv", 3 * h),
              attention(),
              by_rows("projection", h),
              norm("norm_2"),
              experts()};
    }
    GptOperator up = by_columns("ffn_up", 4 * h);
    const std::int64_t wide = up.outputs;
    up.forward.push_back(over(wide, 1, gelu_flops));
    up.backward_data.insert(up.backward_data.begin(), over(wide, 2, gelu_gradient_flops));
    for (LayerJoin& join : up.joins) {
      if (join.pass == LayerPass::backward_data) ++join.kernels;
    }
    up.kept = 2 * wide;  // before and behind the activation
    return {norm("norm_1"),
            by_columns("qkv", 3 * h),
            attention(),
            by_rows("projection", h),
            norm("norm_2"),
            std::move(up),
            by_rows("ffn_down", 4 * h)};
  }
  /// The tokens of this rank's experts times the matrices of all of them.
  [[nodiscard]] Kernel grouped_product(std::int64_t m, std::int64_t n, std::int64_t k) const {
    Kernel kernel = product(m, n, k);
    const std::int64_t matrices = spec_.experts / spec_.expert_parallel - 1;
    kernel.bytes_read += Bytes{matrices * n * k * element_};
    return kernel;
  }
  [[nodiscard]] Kernel grouped_gradient(std::int64_t m, std::int64_t n, std::int64_t k) const {
    Kernel kernel = product(m, n, k);
    const std::int64_t matrices = spec_.experts / spec_.expert_parallel - 1;
    kernel.bytes_written += Bytes{matrices * m * n * element_};
    return kernel;
  }
  /// Tokens to the experts' ranks, or back. Inlined twice, g++ 12 -O3 takes the second list for a
  /// shorter one and warns.
  [[gnu::noinline]] void exchange(LayerPass pass, std::uint32_t kernels, GptOperator& one) const {
    if (spec_.expert_parallel == 1) return;
    one.joins.push_back({.pass = pass,
                         .kernels = kernels,
                         .op = CollectiveOp::all_to_all,
                         .bytes = Bytes{most_routed_ * spec_.hidden * element_}});
  }
  /// Router, tokens sorted by expert, dispatch, the experts, combine, weighted sum and residual.
  [[nodiscard]] GptOperator experts() const {
    const std::int64_t h = spec_.hidden;
    const std::int64_t w = spec_.expert_hidden > 0 ? spec_.expert_hidden : 4 * h;
    const std::int64_t own = rows_ * spec_.experts_per_token;
    const std::int64_t here = spec_.experts / spec_.expert_parallel;
    GptOperator one{
        .name = "experts",
        .forward = {product(rows_, spec_.experts, h),
                    softmax_kernel(rows_, spec_.experts, spec_.type),
                    over(own * h, 1, 0),
                    grouped_product(routed_, w, h),
                    over(routed_ * w, 2, 1 + gelu_flops),  // bias
                    grouped_product(routed_, h, w),
                    over(routed_ * h, 1, 1),
                    over(own * h, 2, 2),
                    precision_.residual(own_state_)},
        .backward_data = {over(own * h, 2, 2),
                          grouped_product(routed_, w, h),
                          over(routed_ * w, 2, gelu_gradient_flops),
                          grouped_product(routed_, h, w),
                          over(own * h, 2, 1),
                          over(rows_ * spec_.experts, 2, router_gradient_flops),
                          product(rows_, h, spec_.experts),
                          over_state(2, 1)},
        .backward_weight = {grouped_gradient(h, w, routed_),
                            row_reduction_kernel(w, routed_, spec_.type),
                            grouped_gradient(w, h, routed_),
                            row_reduction_kernel(h, routed_, spec_.type),
                            product(h, spec_.experts, rows_)},
        .parameters = h * spec_.experts + here * (2 * h * w + h + w),
        .expert_parameters = spec_.expert_parallel > 1 ? here * (2 * h * w + h + w) : 0,
        .kept = most_routed_ * (h + 2 * w) + own * h + rows_ * spec_.experts + wide_state_,
        .outputs = wide_state_,
        .reads_block = true};
    exchange(LayerPass::forward, 3, one);
    exchange(LayerPass::forward, 7, one);
    exchange(LayerPass::backward_data, 1, one);
    exchange(LayerPass::backward_data, 4, one);
    drop_result(one);
    precision_.cast_output_gradient(own_state_, one);
    precision_.cast_input(own_state_, one);
    precision_.cast_weights(one);
    return one;
  }
  [[nodiscard]] GptOperator embedding() const {
    const std::int64_t state = rows_ * spec_.hidden;
    GptOperator one{.name = "embedding",
                    .forward = {pointwise_kernel(state, 1, 0, wide_)},
                    // Added to the rows that were read.
                    .backward_weight = {pointwise_kernel(state, 2, 1, wide_)},
                    .parameters = words_ * spec_.hidden,
                    .outputs = wide_state_};
    sum_state(LayerPass::forward, 1, wide_, one);
    gather_state(LayerPass::backward_weight, one);
    return one;
  }
  [[nodiscard]] GptOperator positions() const {
    const std::int64_t row = spec_.window * spec_.hidden;
    GptOperator one{.name = "positions",
                    .forward = {over_state(2, 1)},
                    .backward_weight = {row_reduction_kernel(row, spec_.samples, wide_)},
                    .parameters = row,
                    .kept = wide_state_,
                    .outputs = wide_state_};
    if (spec_.dropout) {
      one.forward.push_back(dropout_kernel(own_state_, wide_));
      one.backward_data = {dropout_gradient_kernel(own_state_, wide_)};
      one.kept += precision_.mask(own_state_);
    }
    return one;
  }
  [[nodiscard]] GptOperator logits() const {
    const std::int64_t v = words_;
    GptOperator one{.name = "logits",
                    .forward = precision_.loss(rows_, v),
                    .backward_data = precision_.loss_gradient(rows_ * v),
                    .backward_weight = {product(spec_.hidden, v, rows_)},
                    .parameters = v * spec_.hidden,
                    .kept = precision_.widened(rows_ * v),
                    .outputs = rows_ * v};
    one.forward.insert(one.forward.begin(), product(rows_, v, spec_.hidden));
    one.backward_data.push_back(product(rows_, spec_.hidden, v));
    const auto gradient = static_cast<std::uint32_t>(one.backward_data.size());
    gather_state(LayerPass::forward, one);
    // The largest logit, the sum of exponentials and the right word's logit of every token.
    for (int i = 0; i < 3 && ranks_ > 1; ++i) {
      one.joins.push_back({.pass = LayerPass::forward,
                           .kernels = 1,
                           .op = CollectiveOp::all_reduce,
                           .bytes = Bytes{rows_ * bytes_per_element(DataType::fp32)}});
    }
    sum_state(LayerPass::backward_data, gradient, spec_.type, one);
    gather_state(LayerPass::backward_weight, one);
    precision_.cast_input(own_state_, one);
    precision_.cast_weights(one);
    return one;
  }

  OperationId operation(const std::string& layer, const char* pass, std::vector<Kernel> kernels) {
    if (kernels.empty()) return OperationId::none();
    const TaskKind kind = kernels.size() == 1 ? kernels.front().kind : TaskKind::composite;
    return graph_.operations.push_back({.name = fmt::format("{}.{}", layer, pass),
                                        .kind = kind,
                                        .task_class = TaskClass::unclassified,
                                        .kernels = std::move(kernels),
                                        .fixed_duration = Duration{0}});
  }

  /// One layer made of operators in their order; backward runs them from the last to the first.
  Layer prototype(const std::string& name, const std::vector<GptOperator>& operators) {
    GptOperator all = in_sequence(name, operators);
    Layer layer;
    layer.forward = operation(name, "forward", std::move(all.forward));
    layer.backward_data = operation(name, "backward_data", std::move(all.backward_data));
    layer.backward_weight = operation(name, "backward_weight", std::move(all.backward_weight));
    if (all.parameters > 0) {
      layer.update = operation(name, "update", {update_kernel(all.parameters)});
    }
    layer.parameters = Bytes{all.parameters * bytes_per_element(wide_)};
    layer.expert_parameters = Bytes{all.expert_parameters * bytes_per_element(wide_)};
    layer.kept = Bytes{all.kept * element_};
    layer.activation = Bytes{all.outputs * element_};
    layer.joins = std::move(all.joins);
    return layer;
  }

  [[nodiscard]] Kernel update_kernel(std::int64_t parameters) const {
    Kernel kernel = detail::optimizer_kernel(spec_.optimizer, parameters, wide_);
    if (!spec_.master_weights) return kernel;
    kernel = detail::optimizer_kernel(spec_.optimizer, parameters, DataType::fp32);
    // The gradient is read, and a copy of the new weights written, in the type of the passes.
    kernel.bytes_read -= Bytes{parameters * (bytes_per_element(DataType::fp32) - element_)};
    kernel.bytes_written += Bytes{parameters * element_};
    return kernel;
  }

  void chain(std::string name, Layer layer, const std::string& tied = {}) {
    layer.name = std::move(name);
    layer.tied = tied;
    if (!graph_.layers.empty()) layer.inputs = {last()};
    graph_.layers.push_back(std::move(layer));
  }

  void add_block(std::int64_t number,
                 const std::vector<Layer>& layers,
                 const std::vector<GptOperator>& operators) {
    LayerId residual_input = last();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      chain(fmt::format("block_{}.{}", number, operators[i].name), layers[i]);
      if (!operators[i].reads_block) continue;
      graph_.layers[last()].inputs.push_back(residual_input);
      residual_input = last();
    }
  }

  const GptSpec& spec_;
  std::int64_t rows_;
  std::int64_t ranks_;
  std::int64_t own_rows_;   // whose norms and residuals a rank does
  std::int64_t own_state_;  // elements of their state
  std::int64_t words_;      // of a rank
  std::int64_t element_;
  GptPrecision precision_;
  DataType wide_;
  std::int64_t wide_state_;       // elements of the type of products that are as long as own_state_
  std::int64_t routed_ = 0;       // tokens of this rank's experts
  std::int64_t most_routed_ = 0;  // that any rank has, before or after an exchange
  LayerGraph graph_;
};

}  // namespace

LayerGraph gpt_layer_graph(const GptSpec& spec) {
  expect_valid(spec);
  LayerGraph graph = GptMaker(spec, 0).run();
  if (spec.experts == 0) return graph;
  const std::vector<std::int64_t> tokens = tokens_of_expert_ranks(spec);
  if (std::all_of(tokens.begin(), tokens.end(), [&](auto t) { return t == tokens.front(); })) {
    return graph;
  }
  for (std::size_t lane = 1; lane < tokens.size(); ++lane) {
    graph.other_operations.push_back(GptMaker(spec, lane).run().operations);
  }
  return graph;
}

}  // namespace schedlab
