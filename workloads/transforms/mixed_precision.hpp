// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"
#include "sim/graph/transform.hpp"

#include <string_view>

namespace schedlab {

/// Mixed-precision training: everything computes in a narrow type but updates, which keep theirs,
/// and casts stand where the two meet.
///
/// Kernels of tasks that are neither updates nor transfers get the narrow type, bytes in
/// proportion; kernels of other types than `wide` stay. Of tensors that only such tasks use the
/// bytes shrink. A tensor that also others use, or that outlives the step (parameters, their
/// gradients, inputs), stays, and one task "cast_NAME" makes its narrow copy, or it from the narrow
/// copy that narrow tasks write: parameters are cast once before they are read, each gradient once
/// before its update.
///
/// Keeps FLOPs but those of casts (1 per element), and every dependency.
/// Errors   InfeasibleError if the graph has no tensors, ranks or collectives, or if narrow and
///          other tasks write one tensor; names it.
/// Cost     O(tasks * operations + edges + uses of tensors).
/// Source   Micikevicius et al., Mixed Precision Training, arXiv 1710.03740 (master weights in
///          fp32); swFLOWpro inserts the same nodes. Scaling of the loss is not modelled.
class MixedPrecision final : public Transform {
 public:
  /// `narrow` must have fewer bytes than `wide` (ContractViolation).
  explicit MixedPrecision(DataType narrow = DataType::fp16, DataType wide = DataType::fp32);
  [[nodiscard]] std::string_view name() const override { return "mixed_precision"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  DataType narrow_;
  DataType wide_;
};

}  // namespace schedlab
