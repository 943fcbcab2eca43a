// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/transforms/tensor_parallel.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace schedlab {

/// Which kernels a layer is made of (docs/workload_format.md lists them).
enum class TransformerOperators : std::uint8_t {
  fused,    ///< norms, rotary embedding, attention and gate as one kernel each: serving engines
  unfused,  ///< kernel by kernel as model code in a framework's own language writes them
};

/// Sizes of a decoder-only transformer of LLaMA's form: RMS norms, rotary embedding, attention with
/// grouped keys and values, gated feed-forward network, no biases.
struct TransformerShape {
  std::int64_t layers = 32;
  std::int64_t hidden = 4096;
  std::int64_t heads = 32;     ///< divides hidden
  std::int64_t kv_heads = 32;  ///< heads of keys and values; divides heads
  std::int64_t ffn = 11008;    ///< width of the feed-forward network
  std::int64_t vocabulary = 32000;

  friend bool operator==(const TransformerShape&, const TransformerShape&) = default;
};

/// A published (or assumed) model of that form.
struct TransformerModel {
  std::string name;
  std::string source;
  TransformerShape shape;
  std::int64_t small_operators = 0;  ///< see TransformerSpec
};
[[nodiscard]] const std::vector<TransformerModel>& transformer_models();

/// One forward pass with a cache of keys and values.
struct TransformerSpec {
  TransformerShape shape;
  std::int64_t batch = 1;    ///< sequences
  std::int64_t context = 0;  ///< tokens of each that are in the cache already
  std::int64_t tokens = 1;   ///< new tokens of each: 1 decodes, more is a prompt
  DataType type = DataType::fp16;
  TransformerOperators operators = TransformerOperators::fused;
  /// Point-wise kernels on the hidden state that each layer has besides (conversions of formats and
  /// types, copies that a compiler puts in).
  std::int64_t small_operators = 0;
  bool tensors = true;
  /// Ranks that the layers are divided among: the pass is the part of one of them. Heads, the
  /// feed-forward network's width and the vocabulary are divided; word vectors, norms and residuals
  /// are on each rank; fewer heads of keys and values than ranks are on several.
  std::int64_t tensor_parallel = 1;
  /// A training step: no cache, logits and loss of all tokens, backward pass and gradient descent
  /// (add_backward()). Without context and tensor parallelism, with tensors.
  bool training = false;
};

/// Operations of such a part whose results have to be joined over the ranks: two sums a layer, and
/// the logits put side by side.
[[nodiscard]] std::vector<TensorParallel::Join> transformer_joins();

/// Embedding, layers, last norm, logits and choice of the next token of each sequence. The cache is
/// written in place. Attention of several new tokens: unfused over all keys with a mask, as eager
/// code does, fused over those that a token may see.
/// Throws InfeasibleError for sizes that cannot be counted or divided, and for training otherwise
/// than TransformerSpec says. ContractViolation for sizes
/// below 1.
[[nodiscard]] TaskGraph transformer_forward(const TransformerSpec& spec);

}  // namespace schedlab
