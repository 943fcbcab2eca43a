// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/matrix_library.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Where residuals are looked up, by ResidualFeature.
using ResidualPlace = std::array<double, residual_feature_count>;

struct ResidualFeatureInfo {
  char letter;  ///< in the text of a tree
  std::string_view meaning;
};
/// In the order of the enumerators.
[[nodiscard]] std::span<const ResidualFeatureInfo> residual_features();

/// "m16 -3 k512 2.5 0.1": of up to 16 rows -3 %, of more 2.5 % with k up to 512, else 0.1 %.
[[nodiscard]] std::string tree_text(const ResidualTree& tree);
/// The tree of such a text; nothing if it is none.
[[nodiscard]] std::optional<ResidualTree> tree_of(std::string_view text);

/// Per cent, of one tree.
[[nodiscard]] double residual_percent(const ResidualTree& tree, const ResidualPlace& place);
/// Measured over model: exp of the sum of all trees. 1 without any. Cost: some 20 ns a tree.
[[nodiscard]] double residual_factor(const std::vector<ResidualTree>& trees,
                                     const ResidualPlace& place);

}  // namespace schedlab
