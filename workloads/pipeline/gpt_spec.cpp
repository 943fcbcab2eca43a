// SPDX-License-Identifier: Apache-2.0
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/pipeline/gpt_layer_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {

void expect_valid(const GptSpec& spec) {
  for (const auto& [name, value] : {std::pair{"blocks", spec.blocks},
                                    std::pair{"samples", spec.samples},
                                    std::pair{"vocabulary", spec.vocabulary},
                                    std::pair{"hidden", spec.hidden},
                                    std::pair{"heads", spec.heads},
                                    std::pair{"window", spec.window},
                                    std::pair{"expressivity", spec.expressivity},
                                    std::pair{"tensor_parallel", spec.tensor_parallel}}) {
    SCHEDLAB_EXPECTS(value > 0, fmt::format("gpt: {} {}", name, value));
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
  constexpr std::int64_t max_blocks = 10'000'000;  // layers are numbered with 32 bits
  if (spec.blocks > max_blocks) {
    throw InfeasibleError(fmt::format("gpt: {} blocks, at most {}", spec.blocks, max_blocks));
  }
  const auto rows = static_cast<double>(spec.samples) * static_cast<double>(spec.window);
  const auto width =
      static_cast<double>(std::max({spec.vocabulary, 8 * spec.hidden, spec.heads * spec.window}));
  detail::check_elements("gpt", rows * width, "samples x window x width");
  detail::check_elements(
      "gpt",
      static_cast<double>(spec.hidden) * (12.0 * static_cast<double>(spec.hidden) + width),
      "parameters");
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
