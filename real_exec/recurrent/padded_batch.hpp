// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace schedlab {

/// Sequences of different lengths side by side, padded at their end to the steps of the network; or
/// several packed into a row, one after another.
struct PaddedBatch {
  std::vector<float> x;               ///< [steps, batch, input]
  std::vector<float> target;          ///< of the shape of y
  std::vector<std::int64_t> lengths;  ///< [batch], of rows, 0 to steps; 0: no sequence
  /// [steps, batch], 1: the step between two sequences of a row, after which the state is zero;
  /// empty: none
  std::vector<std::uint8_t> breaks{};
  float scale = 0;  ///< the loss is scale / 2 times the sum over what is not
                    ///< padding
};

}  // namespace schedlab
