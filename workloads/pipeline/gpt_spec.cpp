// SPDX-License-Identifier: Apache-2.0
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/pipeline/gpt_layer_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace schedlab {

namespace {

/// Shares of the experts, not normalised.
std::vector<double> shares_of_experts(const GptSpec& spec) {
  if (!spec.routing.empty()) return spec.routing;
  std::vector<double> shares;
  for (std::int64_t e = 1; e <= spec.experts; ++e) {
    shares.push_back(std::pow(static_cast<double>(e), -spec.routing_exponent));
  }
  return shares;
}

void expect_valid_experts(const GptSpec& spec) {
  if (spec.experts == 0) {
    if (spec.expert_parallel == 1) return;
    throw InfeasibleError(
        fmt::format("gpt: {} ranks share no experts\n  give experts", spec.expert_parallel));
  }
  if (spec.experts % spec.expert_parallel != 0 || spec.experts_per_token > spec.experts) {
    throw InfeasibleError(fmt::format(
        "gpt: {} experts, {} for each token, cannot be divided among {} ranks\n  change "
        "expert_parallel or experts",
        spec.experts,
        spec.experts_per_token,
        spec.expert_parallel));
  }
  if (spec.expert_parallel > 1 && spec.tensor_parallel > 1) {
    throw InfeasibleError(
        "gpt: ranks share all layers or the experts\n  set tensor_parallel or "
        "expert_parallel to 1");
  }
  if (!spec.routing.empty() && static_cast<std::int64_t>(spec.routing.size()) != spec.experts) {
    throw InfeasibleError(fmt::format(
        "gpt: shares of {} experts, the model has {}", spec.routing.size(), spec.experts));
  }
}

}  // namespace

void expect_valid(const GptSpec& spec) {
  for (const auto& [name, value] : {std::pair{"blocks", spec.blocks},
                                    std::pair{"samples", spec.samples},
                                    std::pair{"vocabulary", spec.vocabulary},
                                    std::pair{"hidden", spec.hidden},
                                    std::pair{"heads", spec.heads},
                                    std::pair{"window", spec.window},
                                    std::pair{"expressivity", spec.expressivity},
                                    std::pair{"tensor_parallel", spec.tensor_parallel},
                                    std::pair{"experts_per_token", spec.experts_per_token},
                                    std::pair{"expert_parallel", spec.expert_parallel}}) {
    SCHEDLAB_EXPECTS(value > 0, fmt::format("gpt: {} {}", name, value));
  }
  if (spec.autocast && (spec.master_weights || bytes_per_element(spec.type) > 2)) {
    throw InfeasibleError(
        "gpt: autocast has its weights in fp32 and products in a narrower type\n  set data_type to "
        "bf16 or fp16 and master_weights to false, or leave out autocast");
  }
  if (spec.recompute_attention && spec.attention == GptAttention::fused) {
    throw InfeasibleError(
        "gpt: fused attention keeps no weights to make again\n  leave out recompute_attention");
  }
  if (spec.hidden % spec.heads != 0) {
    throw InfeasibleError(
        fmt::format("gpt: hidden {} is not a multiple of heads {}", spec.hidden, spec.heads));
  }
  const std::int64_t ranks = spec.tensor_parallel;
  if (spec.heads % ranks != 0 ||
      (spec.sequence_parallel && spec.samples * spec.window % ranks != 0)) {
    throw InfeasibleError(fmt::format(
        "gpt: {} heads{} cannot be divided among {} ranks\n  change tensor_parallel",
        spec.heads,
        spec.sequence_parallel ? fmt::format(" and {} tokens", spec.samples * spec.window) : "",
        ranks));
  }
  if (spec.stride < 0 || spec.stride > spec.window || spec.expressivity > spec.window) {
    throw InfeasibleError(
        fmt::format("gpt: stride {} and expressivity {} do not suit a window of {}",
                    spec.stride,
                    spec.expressivity,
                    spec.window));
  }
  expect_valid_experts(spec);
  constexpr std::int64_t max_blocks = 10'000'000;  // layers are numbered with 32 bits
  if (spec.blocks > max_blocks) {
    throw InfeasibleError(fmt::format("gpt: {} blocks, at most {}", spec.blocks, max_blocks));
  }
  const auto rows = static_cast<double>(spec.samples) * static_cast<double>(spec.window);
  const auto width =
      static_cast<double>(std::max({spec.vocabulary, 8 * spec.hidden, spec.heads * spec.window})) +
      static_cast<double>(spec.experts) *
          static_cast<double>(std::max(spec.expert_hidden, 4 * spec.hidden));
  detail::check_elements("gpt", rows * width, "samples x window x width");
  detail::check_elements(
      "gpt",
      static_cast<double>(spec.hidden) * (12.0 * static_cast<double>(spec.hidden) + width),
      "parameters");
}

std::vector<std::int64_t> tokens_of_expert_ranks(const GptSpec& spec) {
  const auto ranks = static_cast<std::size_t>(spec.expert_parallel);
  const std::int64_t all =
      spec.expert_parallel * spec.samples * spec.window * spec.experts_per_token;
  const std::vector<double> shares = shares_of_experts(spec);
  std::vector<double> exact(ranks, 0);
  for (std::size_t e = 0; e < shares.size(); ++e) exact[e * ranks / shares.size()] += shares[e];
  const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
  std::vector<std::int64_t> tokens;
  for (double& share : exact) {
    share *= static_cast<double>(all) / sum;
    tokens.push_back(static_cast<std::int64_t>(std::floor(share)));
    share -= std::floor(share);
  }
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return exact[a] > exact[b]; });
  std::int64_t left = all - std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; i = (i + 1) % ranks, --left) ++tokens[order[i]];
  return tokens;
}

std::int64_t mean_keys(const GptSpec& spec) {
  if (spec.stride == 0) return ceil_div(spec.window + 1, 2);
  // Summed over the tokens: i mod l + 1 of the own stride, and c of each of i / l strides before.
  std::int64_t sum = 0;
  for (std::int64_t token = 0; token < spec.window; ++token) {
    sum += token % spec.stride + 1 + token / spec.stride * std::min(spec.expressivity, spec.stride);
  }
  return ceil_div(sum, spec.window);
}

}  // namespace schedlab
