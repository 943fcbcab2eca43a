// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/model_fit.hpp"
#include "calibration/table_fit.hpp"
#include "hw_models/attention.hpp"

#include <vector>

namespace schedlab {

/// One measured call of attention in 2-byte operands.
struct AttentionRow {
  AttentionShape shape;
  double us = 0;
  RowUse use = RowUse::fit;
  bool prompt = false;  ///< the whole of a prompt; of one token: fits neither model
};

/// The rows of a table (calibrate_attention).
[[nodiscard]] std::vector<AttentionRow> attention_rows(const std::vector<TableRow>& rows);

/// Parameters of a device from rows of RowUse::fit. Query and key tiles and the layout of the heads
/// of a group are those of a small list with which the rows of RowUse::choose err least. Rows of
/// one new token belong to `generation`, others to `context`; fewer than 40 to fit: not known.
[[nodiscard]] FittedParameters fit_context(const std::vector<AttentionRow>& rows,
                                           const AttentionDevice& device);
[[nodiscard]] FittedParameters fit_generation(const std::vector<AttentionRow>& rows,
                                              const AttentionDevice& device);

/// Fits both to a table and gives them to the machine. Columns: batch, heads, kv_heads, head_dim,
/// step, input_length: of a row of more than one new token all of a prompt; else one new token with
/// `step` in the cache before it, or a prompt of one.
[[nodiscard]] OperatorFit calibrate_attention(const std::vector<TableRow>& rows,
                                              DataType type,
                                              const TableOptions& options,
                                              MachineSpec& machine);

/// What the parameters say of a row, us.
[[nodiscard]] double attention_us(const FittedParameters& context,
                                  const FittedParameters& generation,
                                  const AttentionShape& shape,
                                  const AttentionDevice& device);

}  // namespace schedlab
