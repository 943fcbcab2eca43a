// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/policy.hpp"
#include "workloads/models/recurrent/recompute.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <cstdint>

namespace schedlab {

/// Which part of a training step is generated.
enum class RecurrentPass : std::uint8_t { forward, backward, training };

/// How the weight gradients of the steps of one layer are summed into one matrix.
enum class Accumulation : std::uint8_t {
  ordered,  ///< one buffer per matrix; the task of step t adds into it
  partial,  ///< several buffers per matrix (step t adds into buffer t mod p), then a reduction
  batched,  ///< one GEMM over k steps, as soon as the last of them has its gate gradients
};

/// Who decides in which order tasks add into one buffer.
enum class BufferOrder : std::uint8_t {
  chained,  ///< the graph: an edge from each task to the next one, over falling steps
  by_plan,  ///< the policy: any order, but its plan must order them (the plan checker verifies it)
};

/// Which layers have two directions.
enum class Bidirectional : std::uint8_t { none, first, all };

/// What an update of the parameters costs.
enum class Optimizer : std::uint8_t { sgd, adam };

/// How gradient nodes are cut into tasks.
struct RecurrentCut {
  Granularity granularity = Granularity::fine;
  Accumulation accumulation = Accumulation::ordered;
  std::int64_t accumulation_steps = 8;  ///< k of `batched`
  std::int64_t partial_buffers = 2;     ///< p of `partial`
  BufferOrder buffer_order = BufferOrder::chained;
  /// Steps of a layer whose input products are one product; 0: all. Backward, where cell and
  /// products are tasks that follow each other (`kernel_and_weight`), of the products for the layer
  /// below.
  std::int64_t input_steps = 1;
  /// Steps of a layer whose products for the layer below (hidden_2) are one product, where they are
  /// tasks; 0: all. 1: as input_steps says.
  std::int64_t hidden_2_steps = 1;
  std::int64_t hidden_1_slices = 1;  ///< parts of k of hidden_1, which the next cell sums
  std::int64_t weight_units = 0;     ///< that a product for weight gradients may use; 0: all
  bool k_major = false;              ///< of the factors of products for weight gradients
};

/// A stack of recurrent layers, unrolled over `steps`; sizes in elements.
struct RecurrentSpec {
  std::int64_t layers = 4;
  std::int64_t steps = 50;
  std::int64_t batch = 64;
  std::int64_t hidden = 1024;   ///< of each direction
  std::int64_t input = 0;       ///< width of the input of layer 0; 0: as hidden
  std::int64_t projection = 0;  ///< of an LSTM: width of h, which is projected; 0: hidden
  DataType type = DataType::fp32;
  RecurrentPass pass = RecurrentPass::backward;
  Granularity granularity = Granularity::fine;
  Accumulation accumulation = Accumulation::ordered;
  std::int64_t accumulation_steps = 8;  ///< k of `batched`
  std::int64_t partial_buffers = 2;     ///< p of `partial`
  BufferOrder buffer_order = BufferOrder::chained;
  std::int64_t input_steps = 1;  ///< this and the next four as in RecurrentCut
  std::int64_t hidden_2_steps = 1;
  std::int64_t hidden_1_slices = 1;
  std::int64_t weight_units = 0;
  bool k_major = false;
  /// k of `batched` in the lowest layer, whose weight gradients come last; 0: as in the others.
  std::int64_t last_accumulation_steps = 0;
  /// A task for each gradient of `matmul`'s cells (separate_gates.hpp); LSTMs, pass backward.
  bool separate_gates = false;
  bool transfers = true;     ///< of pass training: copy the batch in and the loss out
  bool pageable = false;     ///< the host's side of these copies is pageable memory
  bool tensors = true;       ///< false: dependencies only, for studies that need no memory
  bool tensor_names = true;  ///< 10 bytes a task
  RecurrentCell cell = RecurrentCell::lstm;
  Bidirectional bidirectional = Bidirectional::none;
  Optimizer optimizer = Optimizer::sgd;            ///< of pass training
  Recompute recompute = Recompute::keep_backward;  ///< of pass training
  std::int64_t checkpoints = 0;  ///< states that `optimal` keeps; 0: as many as `sqrt`
  /// Of pass training: gradients do not pass from one segment of so many steps to the one before;
  /// 0: they flow through all steps.
  std::int64_t truncate_steps = 0;
};

/// Steps of a segment of truncated back-propagation; all, where nothing is truncated.
[[nodiscard]] inline std::int64_t segment_steps(const RecurrentSpec& spec) {
  const bool cut = spec.truncate_steps > 0 && spec.truncate_steps < spec.steps;
  return cut ? spec.truncate_steps : spec.steps;
}
[[nodiscard]] inline bool truncated(const RecurrentSpec& spec) {
  return segment_steps(spec) < spec.steps;
}

/// Number of chains: one per layer, two per bidirectional layer. Chains count from the bottom, the
/// forward direction of a layer before its reverse one; their number is the `layer` tag of tasks.
[[nodiscard]] std::int64_t chain_count(const RecurrentSpec& spec);

/// Task graph of a stack of recurrent layers, cut as TurboLSTM cuts an LSTM (system S1).
///
/// A gradient node (l, t), layer l from 0 at the bottom, step t from 0, has these sub-tasks; G =
/// gates of the cell * hidden, I = width of the layer's input. FLOPs: 2mnk of each GEMM; the
/// point-wise counts are derived in recurrent_kernels.hpp.
///
///   cell      point-wise  gate gradients dG[batch, G] and what goes to (l, t-1) without a product
///   hidden_1  GEMM        dh(l, t-1)[batch, hidden] = dG * Wh^T
///   hidden_2  GEMM        dx(l, t)[batch, I]        = dG * Wx^T
///   weight_1  GEMM        dWx(l)[I, G]      += x(l, t)^T * dG
///   weight_2  GEMM        dWh(l)[hidden, G] += h(l, t-1)^T * dG, with the bias gradient (column
///                         sums of dG) fused
///
/// A GRU whose reset gate comes before the product has a second point-wise task and two more GEMMs,
/// each a third of hidden_1's or weight_2's work, which shrink by as much: candidate_cell (dn, dz),
/// candidate_hidden (d(r * h) = dn * Wh^T), then cell (dr); weight_3 (dWh += (r * h)^T * dn).
///
/// An LSTM with projection (`projection` P) has h[batch, P] = m * Wp, m = o * tanh(c): what the
/// next step and the next layer read. Forward projection_gemm follows cell_forward; backward the
/// cell is given dm alone:
///
///   projection_sum     point-wise  dp[batch, P] = dh(l, t) + gradients from above
///   projection_hidden  GEMM        dm[batch, hidden] = dp * Wp^T
///   cell, hidden_1, hidden_2, weight_1, weight_2 as above, with P for the width of h
///   weight_3           GEMM        dWp(l)[hidden, P] += m(l, t)^T * dp
///
/// Data drop computes m again with the activations, and keeps h and c.
///
/// A bidirectional layer is two chains: one from step 0 up, one from the last step down. Both write
/// their half of the layer's output of width 2 * hidden (2 * P) in place, so there is no task that
/// joins them; the layer above reads both, and each of its directions writes a dx of its own, which
/// the cells below sum. Layer tags count chains (chain_count), so that policies, which give layers
/// streams of their own, give them to directions.
///
/// Granularity: `fine` has these five tasks; `matmul` takes the bias gradient out of weight_2 as a
/// task `bias`, so that every matrix product is a task of its own; `coarse` has one task `node`
/// that launches the kernels in this order; `data_and_weight` has one task `data_node` (cell,
/// hidden_1, hidden_2) and, per chain, one weight_1 and one weight_2 over all steps;
/// `kernel_and_weight` is that with cell, hidden_1 and hidden_2 as tasks. FLOPs are the same at
/// every granularity. Where nodes are not cut (`coarse`) or the weight GEMMs take all steps at once
/// (`..._and_weight`) `accumulation` changes nothing: there is one buffer.
///
/// Forward: input_gemm and recurrent_gemm (each [batch, G]), then cell_forward (of the second GRU
/// gates_forward, candidate_gemm, cell_forward); one task `node_forward` when coarse. With
/// `input_steps` k other than 1 one input_gemm[k * batch, G] stands for those of k steps, is a task
/// of its own whatever the granularity, and waits for all k inputs; backward at `kernel_and_weight`
/// one hidden_2[k * batch, width] waits for the k cells (the published program is a forward pass;
/// that a library does the same backward is an inference). Training:
/// transfer_in, forward, loss, backward, update(l) per chain, transfer_out. update(l) waits for all
/// weight gradients of its chain (S1) and for all readers of the weights it overwrites (hidden_1,
/// hidden_2 of the chain).
///
/// Recomputation (pass training): tasks recompute_input_gemm, recompute_recurrent_gemm,
/// recompute_cell_forward, ... (recompute_node_forward) compute a step once more, no sooner than
/// the gradient node before it in its chain has run its cell, so that one cell's values (data drop)
/// or one segment's are there at a time. Data drop computes the values alone, as the state is kept;
/// `sqrt` and `optimal` state and values. What is kept is what a task still reads: memory follows
/// from the life times of tensors. `optimal` may compute a step several times: tasks of equal name.
/// `keep_all` adds tensors "unfused" (sums before the activations, tanh(c)) and keeps the products:
/// 19 values per hidden element of an LSTM in all, as system S2 counts them; `keep_backward` has 6,
/// as the backward kernel computes tanh(c) anew.
///
/// Truncated back-propagation (`truncate_steps` k, pass training): steps go k at a time through
/// forward, a loss of these steps, and backward; h and c go on to the next segment, no gradient
/// comes back from it, and hidden_1 of a segment's first step is left out. The next segment's
/// products wait for the cell of that step, so one segment's values are there at a time. All
/// segments add into one gradient of the weights, which are updated once.
///
/// Cuts of the backward pass that trade products for others of equal results, but for the order of
/// sums:
///   hidden_2_steps k   one hidden_2[k * batch, width] for k steps, as one task after their cells:
///                      the layer below begins later, and Wx is read once for k steps
///   hidden_1_slices s  hidden_1 is s products side by side, each over 1/s of k, into a dh[s,
///   batch,
///                      hidden] that the next cell sums: more blocks, and no kernel that adds up.
///                      The last one, whose result the graph returns, stays whole
///   weight_units n     weight_1, weight_2, weight_3 are launched as n blocks, one to a unit
///   k_major            a task transpose copies x, h(t-1) and dG of the steps of one weight_1 and
///   one
///                      weight_2 as x^T, h^T, dG^T, each row along the sum (K-major), for these
///                      two: weight_1_k_major and weight_2_k_major, which compute what the others
///                      do. Not where nodes are one task, of cells with a third product (weight_3),
///                      with recomputation or in segments
///
/// Ids are a topological order: backward runs t from steps-1 down, within it l from layers-1 down;
/// with bidirectional layers l from layers-1 down, within it both directions step by step. Every
/// weight GEMM adds into a buffer that is zero at the start (beta = 1). What the graph reads at its
/// borders (final-state gradients, initial states) is given; what it returns (dx(0, t), dh and dc
/// of the initial states) is persistent.
///
/// Errors  ContractViolation for a size below 1; InfeasibleError for a projection that is wider than
/// the hidden state, of a GRU, or with separate_gates; InfeasibleError if the graph or a tensor
/// would be too large, for recomputation in another pass than training or with input_steps or
/// hidden_2_steps other than 1, for slices that do not divide k of hidden_1, for separate_gates of
/// anything but an LSTM's backward pass at `matmul` with tensors, for `sqrt` and `optimal` of
/// bidirectional layers, which do not advance by steps, and for truncation of bidirectional layers,
/// in another pass than training, with `sqrt` or `optimal`, or with a cut of the backward pass.
/// Cost    O(layers * steps); about 0.3 s for a million tasks with tensors.
/// Source  TurboLSTM's partition and task classes; accumulation modes, granularities, cuts and
/// borders are ours; input_steps: Appleyard, Kocisky, Blunsom, arXiv 1604.01946 (their program: 2);
/// GRU: Cho et al., arXiv 1406.1078; projection: Sak, Senior, Beaufays, arXiv 1402.1128 (without
/// peepholes and the part that does not recur); truncation: Williams and Peng, Neural Computation
/// 2(4), 1990, doi 10.1162/neco.1990.2.4.490 (their BPTT(h; h') with h = h'); bidirectional layers:
/// Schuster and Paliwal, IEEE Trans. Signal Processing 45(11), 1997, doi 10.1109/78.650093.
[[nodiscard]] TaskGraph recurrent(const RecurrentSpec& spec);

}  // namespace schedlab
