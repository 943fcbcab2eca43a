// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/pipeline/layer_graph.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <vector>

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
  /// Weights, residuals, norms, softmax and loss in fp32, products in `type`: GptPrecision.
  bool autocast = false;
  /// Softmax and what it reads again in backward, instead of keeping it (Korthikanti et al.).
  bool recompute_attention = false;
  bool dropout = false;              ///< behind embedding, softmax and what is added to residuals
  std::int64_t tensor_parallel = 1;  ///< ranks that share each layer; divides heads
  /// Norms, residuals and what is kept of them are divided among these ranks, too, token by token.
  bool sequence_parallel = false;
  // Mixture of experts.
  std::int64_t experts = 0;  ///< that each block has instead of its feed-forward network; 0: none
  std::int64_t experts_per_token = 2;
  std::int64_t expert_hidden = 0;    ///< width inside an expert; 0: 4 hidden
  std::int64_t expert_parallel = 1;  ///< ranks that share the experts; divides them
  double routing_exponent = 0;    ///< expert e gets tokens like 1 / (e + 1)^exponent; 0: balanced
  std::vector<double> routing{};  ///< shares of the experts instead; empty: by the exponent
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
/// Experts (Lepikhin et al., GShard, arXiv 2006.16668; Rajbhandari et al., DeepSpeed-MoE, arXiv
/// 2201.05596): a router sends each token to `experts_per_token` experts; no token is dropped. Each
/// of `expert_parallel` ranks has sequences of its own, all other layers, and an equal part of the
/// experts, in their order: an all-to-all brings the tokens there (dispatch), another the results
/// back (combine), and likewise backward. Its bytes are those of the rank that holds most before or
/// after it. The experts of a rank are one grouped product. What is kept is that of the rank with
/// most tokens.
///
///   parameters of a block   4 h^2 + 8 h + h E + E (2 h w + h + w)   (E experts of width w)
///
/// Errors   InfeasibleError naming the number at fault: sizes that do not divide, a stride longer
///          than the window, more layers than can be numbered.
/// Source   Radford et al., Language Models are Unsupervised Multitask Learners, 2019; fixed
///          sparse attention: Child et al., arXiv 1904.10509, section 4.3.
[[nodiscard]] LayerGraph gpt_layer_graph(const GptSpec& spec);

/// Throws what gpt_layer_graph() throws.
void expect_valid(const GptSpec& spec);

/// Tokens of one microbatch of all ranks that the experts of each rank get, by their shares, the
/// largest remainders rounded up: they add up to expert_parallel x samples x window x
/// experts_per_token.
[[nodiscard]] std::vector<std::int64_t> tokens_of_expert_ranks(const GptSpec& spec);

/// Keys that a token looks at on average, rounded up.
[[nodiscard]] std::int64_t mean_keys(const GptSpec& spec);

}  // namespace schedlab
