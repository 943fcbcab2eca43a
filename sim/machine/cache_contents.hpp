// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/machine/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// A cache, and what is measured of it.
struct CacheLevel {
  Bytes size{};                     ///< 0: not known
  std::vector<CacheShare> curve{};  ///< as KernelProfile::cache_curve; empty: see share_in_cache()

  friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

/// Data that was used `distance` bytes of other data ago, itself included, is in the cache with
/// this share: that of its curve, linear between the points, all before the first one and as the
/// last one beyond it. Without a curve all of it up to size x (1 - w), nothing from size x (1 + w)
/// on, linear in between. w = 0.15: caches are no perfect LRU lists, and tasks side by side are
/// taken one after another. // assumed
inline constexpr double cache_edge = 0.15;
[[nodiscard]] double share_in_cache(double distance, const CacheLevel& cache);

/// The caches that tasks find their operands in.
struct CacheLevels {
  CacheLevel last{};   ///< that all units share
  CacheLevel units{};  ///< the units' own, all together; size 0: nothing is found there

  friend bool operator==(const CacheLevels&, const CacheLevels&) = default;
};

/// Which shares of the bytes that a kernel reads come from caches.
struct CachedShare {
  float cached = 1;       ///< in the last-level cache or nearer
  float unit_cached = 0;  ///< in the units' own caches; at most `cached`

  friend bool operator==(const CachedShare&, const CachedShare&) = default;
};

/// What tasks find in the caches, by the order in which they start: all tensors in one list, the
/// least recently used leaves first (reuse distances).
///
/// The units' own caches are taken as one of their common size: a kernel on all units mostly finds
/// its slices on the unit that used them before. What that ignores: kernels of fewer blocks than
/// units, slices that another unit takes over (a matrix cut by rows here and by columns there), and
/// what several units read at once and each keeps a copy of. // assumed
///
/// A task uses each tensor that it reads, writes or adds into once, all at the same moment; where
/// its kernels move fewer bytes than its tensors have, the same part of each. The run is taken to
/// follow an equal one, so that weights may be there from the start.
///
/// Not in it: lines that exclude each other in caches of several levels, and that a task reads
/// another part of a tensor than the task before (a sequence in one tensor counts as
/// found). Cost O(uses log uses), a use being one task and one of its tensors.
/// Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970, doi 10.1147/sj.92.0078.
class CacheContents {
 public:
  /// `graph` must outlive this.
  CacheContents(const TaskGraph& graph, CacheLevels caches);

  /// False where nothing is known: the graph has no tensors, or the last-level cache no size.
  [[nodiscard]] bool known() const { return !uses_.empty() && caches_.last.size > Bytes{0}; }

  /// For each kernel of each task, the share of its bytes_read that is in the caches when the task
  /// starts: in the order of tasks, first_kernel() apart. `order`: every task once.
  ///
  /// With several kernels in a task each has the operands that are as large as its sides say; what
  /// is as large as no tensor is made in the task itself, and there.
  [[nodiscard]] std::vector<CachedShare> shares(std::span<const TaskId> order) const;

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
  [[nodiscard]] CachedShare found_at(double distance) const;
  [[nodiscard]] CachedShare all() const;
  void share_out(TaskId task, std::span<const CachedShare> found, CachedShare* kernels) const;
  [[nodiscard]] CachedShare share_of(std::span<const Use> uses,
                                     std::span<const CachedShare> found,
                                     std::span<const std::uint8_t> counted) const;

  const TaskGraph& graph_;
  CacheLevels caches_;
  std::vector<std::uint32_t> first_kernel_;
  std::vector<std::uint32_t> first_use_;
  std::vector<Use> uses_;
};

/// The caches of a device whose profile knows what of their operands kernels found in them: sizes
/// of 0 where it does not (no sample has bytes_cached, or none bytes_unit_cached).
[[nodiscard]] CacheLevels profiled_caches(const Device& device);

/// By operation and kernel.
using OperationShares = IdVector<OperationId, std::vector<CachedShare>>;

/// Mean of `shares` (of CacheContents) over the tasks of each operation, by kernel.
[[nodiscard]] OperationShares mean_shares(const TaskGraph& graph,
                                          const CacheContents& contents,
                                          std::span<const CachedShare> shares);

/// mean_shares() of a run in the order of ids, which is what is known of a schedule before there is
/// one; empty where the device has no profiled_caches() or the graph no tensors.
[[nodiscard]] OperationShares cached_shares(const TaskGraph& graph, const Device& device);

/// Sets bytes_cached and bytes_unit_cached of one kernel.
void set_cached(const CachedShare& share, Kernel& kernel);
/// Sets the cached bytes of the operation's kernels, one share each.
void set_cached(std::vector<CachedShare>::const_iterator shares, Operation& operation);

}  // namespace schedlab
