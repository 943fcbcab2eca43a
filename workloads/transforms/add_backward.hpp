// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"

#include <functional>
#include <string_view>

namespace schedlab {

/// The forward pass of a network, its backward pass and plain gradient descent, operator by
/// operator. `forward` ends in the loss; `is_parameter`: by the name of a persistent tensor that
/// without a writer. Other such tensors (words, masks) get no gradient.
///
/// In reverse order each forward task X has
///   X_data_gradient    one for each factor of a product that was computed, 2mnk FLOP as forward;
///                      reads the result's gradient and the other factor        (critical_matmul)
///   X_weight_gradient  likewise of a parameter                                 (weight_gradient)
///   X_gradient         of anything else, of all inputs at once: twice the FLOPs of X (assumed),
///                      reads what X reads, its result and the gradient of it; of class
///                      weight_gradient if only a parameter is left (a table of word vectors)
///   gradient_sum       of a value that several tasks read
/// and each parameter an `update` after its gradient and all its readers.
///
/// Keeps the tasks and tensors of `forward`, with their ids. Errors: InfeasibleError for a graph
/// without tensors, with ranks or collectives, or a task of several kernels. Cost O(tasks + uses).
[[nodiscard]] TaskGraph add_backward(const TaskGraph& forward,
                                     const std::function<bool(std::string_view)>& is_parameter);

}  // namespace schedlab
