// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"
#include "sim/base/units.hpp"
#include "workloads/models/recurrent/recompute.hpp"

#include <cstdint>

namespace schedlab::testing {

/// An unrolled LSTM in fp32 as the closed forms see it: input as wide as the hidden state.
struct UnrolledLstm {
  std::int64_t layers = 1;
  std::int64_t steps = 1;
  std::int64_t batch = 1;
  std::int64_t hidden = 1;
};

/// 2 * {19, 7, 2} B H elements: one cell, values and their gradients, of keep_all, keep_backward
/// and data_drop. Source  system S2 (boundaries.hpp): 19 B H with everything kept, 7 B H and 2 B H
/// in its equations (13) and (14).
inline Bytes lstm_cell_bytes(Recompute kept, const UnrolledLstm& lstm) {
  SCHEDLAB_EXPECTS(kept != Recompute::sqrt && kept != Recompute::optimal, "no closed form");
  std::int64_t values = 7;
  if (kept == Recompute::keep_all) values = 19;
  if (kept == Recompute::data_drop) values = 2;
  return Bytes{2 * values * lstm.batch * lstm.hidden * 4};
}

/// 2 ({19, 7, 2} L N B H + 4 H^2 + H) elements: equation (13) for `keep_backward`, (14) for
/// `data_drop`. They count the parameters of one layer once and nothing outside the cells.
inline Bytes unrolled_lstm_bytes(Recompute kept, const UnrolledLstm& lstm) {
  const std::int64_t parameters = 4 * lstm.hidden * lstm.hidden + lstm.hidden;
  return lstm_cell_bytes(kept, lstm) * (lstm.layers * lstm.steps) + Bytes{2 * parameters * 4};
}

}  // namespace schedlab::testing
