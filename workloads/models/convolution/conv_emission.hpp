// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "workloads/models/convolution/conv_layers.hpp"
#include "workloads/models/convolution/conv_nets.hpp"

#include <cstdint>

namespace schedlab::detail {

struct ConvEmissionOptions {
  ConvNetPass pass = ConvNetPass::training;
  /// Batch normalisation makes its sums (batch_norm_statistics, batch_norm_sums) in tasks of their
  /// own, so that they can be merged before they are used; else it is one task each way.
  bool separate_statistics = false;
  DataType type = DataType::fp32;
  Optimizer optimizer = Optimizer::sgd;
  bool transfers = true;
};

/// The tasks of all layers for `batch` images; see conv_net.
[[nodiscard]] TaskGraph emit_layers(const ConvLayers& layers,
                                    std::int64_t batch,
                                    bool with_tensors,
                                    const ConvEmissionOptions& options);

}  // namespace schedlab::detail
