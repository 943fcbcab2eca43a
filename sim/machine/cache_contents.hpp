// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// Data that was used `distance` bytes of other data ago, itself included, is in a cache of
/// `capacity` bytes with this share: all of it up to capacity x (1 - w), nothing from
/// capacity x (1 + w) on, linear in between. w = 0.15: caches are no perfect LRU lists, and tasks
/// side by side are taken one after another. // assumed
inline constexpr double cache_edge = 0.15;
[[nodiscard]] double share_in_cache(double distance, Bytes capacity);

/// What tasks find in the last-level cache, by the order in which they start: all tensors in one
/// list, the least recently used leaves first (reuse distances).
///
/// A task uses each tensor that it reads, writes or adds into once, all at the same moment; where
/// its kernels move fewer bytes than its tensors have, the same part of each. The run is taken to
/// follow an equal one, so that weights may be there from the start.
///
/// Not in it: which worker's own cache holds something, lines that exclude each other, and that a
/// task reads another part of a tensor than the task before (a sequence in one tensor counts as
/// found). Cost O(uses log uses), a use being one task and one of its tensors.
/// Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970, doi 10.1147/sj.92.0078.
class CacheContents {
 public:
  /// `graph` must outlive this.
  CacheContents(const TaskGraph& graph, Bytes capacity);

  /// False where nothing is known: the graph has no tensors, or the cache no size.
  [[nodiscard]] bool known() const { return !uses_.empty() && capacity_ > Bytes{0}; }

  /// For each kernel of each task, the share of its bytes_read that is in the cache when the task
  /// starts: in the order of tasks, first_kernel() apart. `order`: every task once.
  ///
  /// Of several kernels in one task each has the operands that are as large as its sides say; what
  /// is as large as no tensor is made in the task itself, and there.
  [[nodiscard]] std::vector<float> shares(std::span<const TaskId> order) const;

  /// Place of the task's first kernel in shares(); a task without kernels counts as one.
  [[nodiscard]] std::size_t first_kernel(TaskId task) const { return first_kernel_[task.value()]; }
  [[nodiscard]] std::size_t kernel_count(TaskId task) const {
    return first_kernel_[task.value() + 1] - first_kernel_[task.value()];
  }

 private:
  struct Use {
    TensorId tensor;
    float part = 1;        ///< of the tensor that is touched
    bool is_read = false;  ///< or added into
    bool written = false;
  };
  [[nodiscard]] std::span<const Use> uses(TaskId task) const {
    return {uses_.data() + first_use_[task.value()], uses_.data() + first_use_[task.value() + 1]};
  }
  void add_uses();
  void set_parts();
  [[nodiscard]] double bytes(const Use& use) const {
    return static_cast<double>(graph_.tensors().bytes(use.tensor).count()) * use.part;
  }
  void share_out(TaskId task, std::span<const float> found, float* kernels) const;
  [[nodiscard]] double share_of(std::span<const Use> uses,
                                std::span<const float> found,
                                std::span<const std::uint8_t> counted) const;

  const TaskGraph& graph_;
  Bytes capacity_;
  std::vector<std::uint32_t> first_kernel_;
  std::vector<std::uint32_t> first_use_;
  std::vector<Use> uses_;
};

/// The last-level cache of a device whose profile knows what of their operands kernels found in it
/// (Kernel::bytes_cached of the samples); 0 where it does not.
[[nodiscard]] Bytes profiled_cache(const Device& device);

/// Mean of `shares` (of CacheContents) over the tasks of each operation, by kernel.
[[nodiscard]] IdVector<OperationId, std::vector<float>> mean_shares(const TaskGraph& graph,
                                                                    const CacheContents& contents,
                                                                    std::span<const float> shares);

/// mean_shares() of a run in the order of ids, which is what is known of a schedule before there is
/// one; empty where the device has no profiled_cache() or the graph no tensors.
[[nodiscard]] IdVector<OperationId, std::vector<float>> cached_shares(const TaskGraph& graph,
                                                                      const Device& device);
/// Sets bytes_cached of the operation's kernels, to one share each.
void set_cached(std::vector<float>::const_iterator shares, Operation& operation);

}  // namespace schedlab
