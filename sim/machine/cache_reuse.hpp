// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <optional>

namespace schedlab {

/// The share of the last-level cache that may hold what kernels read again. The rest is for what
/// streams through; devices with a cache in two halves may keep a copy in each. // assumed
inline constexpr double cache_share_for_data = 0.5;

/// What a graph's tasks find on the chip: the weights of a recurrent layer, read at every step, in
/// the last-level cache, and results that are used at once in the buffers that they were made in.
///
/// Weights. A weight tensor is a persistent tensor into which no task adds, whose size is that of a
/// whole operand of a matrix kernel of the operation that reads it (a bias of one row or column on
/// top is allowed), and which has r >= 2 readers. If *all* weight tensors of one rank together fill
/// at most half of a device's last-level cache (the rank with most of them decides), each read of
/// one is credited with (1 - 1 / r) of its bytes: one read of r comes from memory. Else nothing is
/// credited.
///
/// Results. On a device with output_buffer: a tensor that is not persistent, that one task writes
/// and at least two read, and that fills at most half of the buffers of all matrix units stays
/// there for its critical readers, whose matrix kernels do not read it from memory (intermediate
/// gradients of recurrent layers; critical tasks run as soon as they can). Other readers come
/// later, when it is gone, and it is always written to memory for them.
///
/// Conservative: all weights of the rank must fit, although most schedules need only a few layers
/// between two uses; and what a kernel leaves in the cache for the next one is not credited.
/// Graphs without tensors get no credit. Devices without l2_bandwidth neither.
class CacheReuse {
 public:
  /// Cost O(tensors + uses of weights); nothing if no device of the platform has a cache to credit.
  CacheReuse(const TaskGraph& graph, const Platform& platform);

  /// Bytes of all weight tensors of the rank that has most.
  [[nodiscard]] Bytes working_set() const { return working_set_; }
  /// Per task of the operation, on average over its tasks; where the working set fits.
  [[nodiscard]] Bytes reread_per_task(OperationId operation) const {
    return reread_.empty() ? Bytes{0} : reread_[operation];
  }
  [[nodiscard]] bool fits(const Device& device) const;

  /// Per task of the operation, on average over its tasks: results of others that its matrix
  /// kernels find in the output buffers of such a device.
  [[nodiscard]] Bytes buffered_per_task(OperationId operation, const Device& device) const;

  /// The operation with Kernel::bytes_cached filled in: the credit goes to its matrix kernels, the
  /// largest reader first, at most what each reads. nullopt if nothing is credited.
  [[nodiscard]] std::optional<Operation> with_cached_bytes(OperationId id,
                                                           const Operation& operation,
                                                           const Device& device) const;

 private:
  /// Results that an operation reads as soon as they are there.
  struct Results {
    std::int64_t bytes = 0;    // per task
    std::int64_t largest = 0;  // of one tensor
  };

  void find_weights(const TaskGraph& graph);
  void find_results(const TaskGraph& graph);

  Bytes working_set_{0};
  IdVector<OperationId, Bytes> reread_;     // empty: nothing to credit
  IdVector<OperationId, Results> results_;  // empty: no device has buffers
};

}  // namespace schedlab
