// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/vendor/library_rnn.hpp"

#include <memory>
#include <string>
#include <vector>

namespace schedlab::detail {

/// The words for cudnnRNNAlgo_t, in its order.
[[nodiscard]] const std::vector<std::string>& cudnn_algorithm_names();

/// "9.19.0"; loads the library, for which no device is needed. DeviceError if it is not there or
/// lacks a function that is used, or if this was built without it.
[[nodiscard]] std::string cudnn_version();

/// "cuDNN 9.19.0 on NVIDIA H200"; DeviceError if this was built without it or there is no device.
[[nodiscard]] std::string describe_cudnn();

/// DeviceError if the device does not answer, or as describe_cudnn().
void synchronize_cudnn();

/// cuDNN's network: forward, backward_data and backward_weights are its three calls, backward is
/// the last two one after the other. With launch "graph_launch" each is captured into a CUDA graph
/// once and launched as such.
///
/// Math  fp32: FMA instructions only; tf32: what cuDNN does by default with fp32 data; bf16 and
///       fp16: data of that type, sums in fp32.
/// Errors  InfeasibleError for what cuDNN does not do: a GRU whose reset gate comes before the
///         product, one bidirectional layer among others, int8 and fp64, an algorithm that does not
///         support the shape, a call that cannot be captured.
[[nodiscard]] std::unique_ptr<LibraryRnn> make_cudnn_rnn(const RecurrentSpec& spec,
                                                         const RecurrentInputs<float>& inputs,
                                                         const RnnVariant& variant);

}  // namespace schedlab::detail
