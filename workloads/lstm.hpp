// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/policy.hpp"

#include <cstdint>

namespace schedlab {

/// Which part of a training step is generated.
enum class LstmPass : std::uint8_t { forward, backward, training };

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

/// An LSTM of `layers` unrolled over `steps`; sizes in elements.
struct LstmSpec {
  std::int64_t layers = 4;
  std::int64_t steps = 50;
  std::int64_t batch = 64;
  std::int64_t hidden = 1024;
  std::int64_t input = 0;  ///< width of the input of layer 0; 0: as hidden
  DataType type = DataType::fp32;
  LstmPass pass = LstmPass::backward;
  Granularity granularity = Granularity::fine;
  Accumulation accumulation = Accumulation::ordered;
  std::int64_t accumulation_steps = 8;  ///< k of `batched`
  std::int64_t partial_buffers = 2;     ///< p of `partial`
  BufferOrder buffer_order = BufferOrder::chained;
  bool transfers = true;     ///< of pass training: copy the batch in and the loss out
  bool tensors = true;       ///< false: dependencies only, for studies that need no memory
  bool tensor_names = true;  ///< 10 bytes a task
};

/// Task graph of the LSTM, cut as TurboLSTM cuts it (system S1).
///
/// A gradient node (l, t), layer l from 0 at the bottom, step t from 0, has these sub-tasks; G = 4
/// * hidden, I = width of the layer's input. FLOPs: 2mnk of each GEMM; the point-wise counts are
/// derived in lstm_kernels.hpp.
///
///   cell      point-wise  gate gradients dG[batch, G] and dc(l, t-1), from dx(l+1, t), dh(l, t),
///   dc(l, t) hidden_1  GEMM        dh(l, t-1)[batch, hidden] = dG * Wh^T hidden_2  GEMM dx(l,
///   t)[batch, I]        = dG * Wx^T weight_1  GEMM        dWx(l)[I, G]      += x(l, t)^T * dG
///   weight_2  GEMM        dWh(l)[hidden, G] += h(l, t-1)^T * dG, with the bias gradient (column
///   sums of dG) fused
///
/// Granularity: `fine` has these five tasks; `matmul` takes the bias gradient out of weight_2 as a
/// task `bias`, so that every matrix product is a task of its own; `coarse` has one task `node`
/// that launches the five kernels in this order; `data_and_weight` has one task `data_node` (cell,
/// hidden_1, hidden_2) and, per layer, one weight_1 and one weight_2 over all steps. FLOPs are the
/// same at every granularity. Where nodes are not cut (`coarse`) or the weight GEMMs take all steps
/// at once (`data_and_weight`) `accumulation` changes nothing: there is one buffer.
///
/// Forward: input_gemm and recurrent_gemm (each [batch, G]), then cell_forward; one task
/// `node_forward` when coarse. Training: transfer_in, forward, loss, backward, update(l) per layer,
/// transfer_out. update(l) waits for all weight gradients of its layer (S1) and for all readers of
/// the weights it overwrites (hidden_1, hidden_2 of the layer).
///
/// Ids are a topological order: backward runs t from steps-1 down, within it l from layers-1 down.
/// Every weight GEMM adds into a buffer that is zero at the start (beta = 1). What the graph reads
/// at its borders (final-state gradients, initial states) is given; what it returns (dx(0, t),
/// dh(l, -1), dc(l, -1)) is persistent.
///
/// Errors  ContractViolation for a size below 1; InfeasibleError if the graph or a tensor would be
/// too large. Cost    O(layers * steps); about 0.3 s for a million tasks with tensors. Source
/// TurboLSTM's partition and task classes; accumulation modes, granularities and borders are ours.
[[nodiscard]] TaskGraph lstm(const LstmSpec& spec);

}  // namespace schedlab
