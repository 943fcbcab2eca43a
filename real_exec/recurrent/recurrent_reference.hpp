// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/recurrent_values.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

namespace schedlab {

[[nodiscard]] RecurrentInputs<double> to_double(const RecurrentInputs<float>& inputs);

/// The network of `spec` by the textbook in double precision: forward, and unless the pass is
/// `forward` back-propagation through time, and in pass `training` loss and update. Shares no code
/// with RecurrentWork and knows nothing of tasks, so that it can tell whether those are right;
/// slow.
///
/// LSTM   i, f, o = sigmoid(.), g = tanh(.), c = f c(t-1) + i g, h = o tanh(c);
///        with projection h = (o tanh(c)) Wp;
///        Hochreiter and Schmidhuber with the forget gate of Gers et al., as frameworks have it
/// GRU    r, z = sigmoid(.), n = tanh(x Wx + bx + r (h(t-1) Wh + bh)), h = (1 - z) n + z h(t-1);
///        reset before: n = tanh(x Wx + b + (r h(t-1)) Wh); Cho et al., arXiv 1406.1078
///
/// Errors  ContractViolation if the inputs are not of the spec's shapes.
[[nodiscard]] RecurrentResults<double> recurrent_reference(const RecurrentSpec& spec,
                                                           const RecurrentInputs<double>& inputs);

}  // namespace schedlab
