// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/model_fit.hpp"
#include "calibration/row_split.hpp"
#include "hw_models/attention.hpp"

#include <vector>

namespace schedlab {

/// One measured call of attention in 2-byte operands.
struct AttentionRow {
  AttentionShape shape;
  double us = 0;
  RowUse use = RowUse::fit;
};

/// Parameters of a device from rows of RowUse::fit. Query and key tiles and the layout of the heads
/// of a group are those of a small list with which the rows of RowUse::choose err least. Rows of
/// one new token belong to `generation`, others to `context`; fewer than 40 to fit: not known.
[[nodiscard]] FittedParameters fit_context(const std::vector<AttentionRow>& rows,
                                           const AttentionDevice& device);
[[nodiscard]] FittedParameters fit_generation(const std::vector<AttentionRow>& rows,
                                              const AttentionDevice& device);

/// What the parameters say of a row, us.
[[nodiscard]] double attention_us(const FittedParameters& context,
                                  const FittedParameters& generation,
                                  const AttentionShape& shape,
                                  const AttentionDevice& device);

}  // namespace schedlab
