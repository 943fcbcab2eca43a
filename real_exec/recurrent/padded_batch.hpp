// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace schedlab {

/// Sequences of different lengths side by side, padded at their end to the steps of the network.
struct PaddedBatch {
  std::vector<float> x;               ///< [steps, batch, input]
  std::vector<float> target;          ///< of the shape of y
  std::vector<std::int64_t> lengths;  ///< [batch], 0 to steps; 0: no sequence in this row
  float scale = 0;                    ///< the loss is scale / 2 times the sum over what is not
                                      ///< padding
};

}  // namespace schedlab
