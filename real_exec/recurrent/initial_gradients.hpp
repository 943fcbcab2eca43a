// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace schedlab::detail {

/// dh0 and dc0 from what the chain's last step backward has left, [batch, hidden] each: `dh`
/// through the recurrent product, and its `carry`, which is dc of a cell that has a state, else the
/// path of dh around the product.
inline void set_initial_gradients(RecurrentChainResults<float>& results,
                                  std::vector<float> dh,
                                  std::vector<float> carry,
                                  bool cell_state) {
  results.dh0 = std::move(dh);
  if (cell_state) {
    results.dc0 = std::move(carry);
  } else {
    std::transform(
        carry.begin(), carry.end(), results.dh0.begin(), results.dh0.begin(), std::plus<>{});
  }
}

}  // namespace schedlab::detail
