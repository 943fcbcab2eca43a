// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/layer_graph.hpp"

#include <cstdint>

namespace schedlab {

/// The same layers for a batch of other size than the file's.
///
/// FLOPs, activations and what is kept are linear in the batch; parameters and updates do not
/// change. Of a product the side grows that stands beside the largest matrix of the layer's
/// parameters that it can read (m beside n * k, or n beside m * k), in gradients of parameters its
/// sum (k beside m * n); that matrix is read, or written, whole whatever the batch. Where there is
/// none (attention) there are more products side by side. Reductions to one or two results a row
/// (m) are assumed to sum over the batch (n), others to have more rows. Other kernels and fixed
/// durations are linear.
/// Errors   InfeasibleError naming the operation, for a product of which neither the number nor such
/// a side is a multiple of the samples.
[[nodiscard]] LayerGraph with_samples(LayerGraph graph, std::int64_t samples);

/// One step of training all layers on one device, or of inference where no layer has a gradient: a
/// task for each pass of each layer, "forward(NAME)", "backward_data(NAME)",
/// "backward_weight(NAME)", "update(NAME)". Layers whose input gradient is no work hand on what
/// they are given. Tied layers sum their gradients into one, which the update of the first one that
/// has an update uses. Tensors: parameters and their gradients persistent, outputs, what backward
/// keeps of a layer, input gradients.
///
/// The batch is LayerGraph::samples. split_batch() can cut the graph, as core groups want it.
/// Errors   InfeasibleError for layers that ranks share, and for layers that form a cycle.
/// Cost     O(layers + edges), but for chains of layers without gradients of inputs.
[[nodiscard]] TaskGraph layer_training(const LayerGraph& graph, bool with_tensors);

}  // namespace schedlab
