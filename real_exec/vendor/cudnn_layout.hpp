// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::detail {

/// Matrices and biases of one pseudo layer (chain) as cuDNN keeps them: by linear layer, first the
/// gates' input products, then their recurrent ones. A matrix is [hidden, width] row-major, so that
/// gate = W x; ours are [width, gates * hidden].
struct CudnnChainWeights {
  std::vector<std::vector<float>> matrices;
  std::vector<std::vector<float>> biases;  ///< empty where cuDNN has none
};

/// LSTM: one bias per gate, of the input products (CUDNN_RNN_SINGLE_INP_BIAS). GRU: two per gate
/// (CUDNN_RNN_DOUBLE_BIAS), of which the recurrent ones of r and z are zero, as sums of two.
[[nodiscard]] CudnnChainWeights to_cudnn(const RecurrentSpec& spec,
                                         const RecurrentChainInputs<float>& chain);

/// The way back, for gradients: fills dwx, dwh and dbias.
void from_cudnn(const RecurrentSpec& spec,
                const CudnnChainWeights& gradients,
                RecurrentChainResults<float>& chain);

}  // namespace schedlab::detail
