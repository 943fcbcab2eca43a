// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/layer_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>

namespace schedlab {

/// Which kernels attention is made of.
enum class GptAttention : std::uint8_t {
  unfused,  ///< products, softmax; of the keys that a token sees
  masked,   ///< the same of all keys of the window, then a mask, as framework code has it
  fused,    ///< one kernel each way that keeps the weights on chip (Dao et al., arXiv 2205.14135)
};

/// A GPT as a chain of blocks; the defaults are those of system S5, table 4.
struct GptSpec {
  std::int64_t blocks = 2;
  std::int64_t samples = 1;  ///< sequences in one microbatch
  std::int64_t vocabulary = 13312;
  std::int64_t hidden = 1024;
  std::int64_t heads = 16;        ///< divides hidden
  std::int64_t window = 1024;     ///< tokens of a sequence
  std::int64_t stride = 128;      ///< of sparse attention; 0: attention to all tokens before
  std::int64_t expressivity = 8;  ///< tokens of each earlier stride that are looked at
  bool tied = true;               ///< the word vectors are the classifier's weights too
  bool operators = false;         ///< a layer is one operator; else one block
  DataType type = DataType::fp32;
  Optimizer optimizer = Optimizer::adam;
  GptAttention attention = GptAttention::unfused;
  /// The optimizer keeps weights and moments in fp32 beside the weights of `type`.
  bool master_weights = false;
  std::int64_t tensor_parallel = 1;  ///< ranks that share each layer; divides heads
  /// Norms, residuals and what is kept of them are divided among these ranks, too, token by token.
  bool sequence_parallel = false;
};

/// Embedding (words and positions), blocks of normalisation, attention, normalisation and a
/// feed-forward network of four times the width, last normalisation, classifier and loss.
///
///   parameters of a block   12 h^2 + 13 h     (h hidden; weights, biases, two normalisations)
///   of the rest             V h + W h + 2 h, and V h again unless tied (V words, W window)
///   keys of a token         (stride + 1) / 2 of its own stride, and `expressivity` of each stride
///                           before, averaged over the window and rounded up; with stride 0
///                           (window + 1) / 2, rounded up
///
/// Tensor parallelism (Shoeybi et al., Megatron-LM, arXiv 1909.08053): qkv and ffn_up are divided
/// by columns, projection and ffn_down by rows, attention by heads, word vectors and classifier by
/// words. A block has two all-reduces of its state forward and two backward, the embedding one
/// forward, the classifier one backward and three of a number per token for the loss. Sequence
/// parallelism (Korthikanti et al., arXiv 2205.05198) makes each a reduce-scatter and an
/// all-gather, and gathers again what weight gradients read. Not in it: the sums of the gradients
/// of norms and positions that sequence parallelism needs once a batch.
///
/// Errors   InfeasibleError naming the number at fault: sizes that do not divide, a stride longer
///          than the window, more layers than can be numbered.
/// Source   Radford et al., Language Models are Unsupervised Multitask Learners, 2019; fixed
///          sparse attention: Child et al., arXiv 1904.10509, section 4.3.
[[nodiscard]] LayerGraph gpt_layer_graph(const GptSpec& spec);

/// Throws what gpt_layer_graph() throws.
void expect_valid(const GptSpec& spec);

/// Keys that a token looks at on average, rounded up.
[[nodiscard]] std::int64_t mean_keys(const GptSpec& spec);

}  // namespace schedlab
