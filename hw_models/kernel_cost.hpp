// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"

#include <cstdint>

namespace schedlab {

// What the cost models have in common: rates with their refusals, copies, and how the kernels of
// one operation add up.

/// Longest duration of a kernel or of an operation that is accepted, 11 days: sums of a few stay
/// far from the end of integer time.
inline constexpr Duration longest_operation{1'000'000'000'000'000'000};

/// round_up_seconds, at most longest_operation.
[[nodiscard]] Duration bounded_seconds(double seconds);

/// Peak of matrix kernels (gemm, convolution) or of all others, by the kernel's data type.
/// Throws InfeasibleError if the device has none; names device, data type and the key to give.
[[nodiscard]] FlopRate peak_rate(const Kernel& kernel, const Device& device);

/// Bandwidth of the device's memory as kernels reach it: nominal times efficiency.
/// Throws InfeasibleError if the device has none.
[[nodiscard]] Bandwidth reachable_bandwidth(const Device& device);

[[nodiscard]] bool runs_on_matrix_units(TaskKind kind);
[[nodiscard]] bool is_host_copy(TaskKind kind);
[[nodiscard]] Bytes traffic(const Kernel& kernel);
/// What crosses the device's memory: traffic without what the last-level cache holds.
[[nodiscard]] Bytes memory_traffic(const Kernel& kernel);
/// Time to move a kernel's data, with `more` bytes on top: what misses the cache at the reachable
/// bandwidth of the memory; where something hits, all of it at the bandwidth of the cache, which
/// counts if it is slower. Zero if there is nothing to move. `share` in (0, 1]: of the memory's
/// reachable bandwidth.
[[nodiscard]] Duration memory_time(const Kernel& kernel,
                                   const Device& device,
                                   double more = 0.0,
                                   double share = 1.0);
/// How many of the `units` of a class one kernel may spread over (units_per_kernel).
[[nodiscard]] std::int64_t spread_units(std::int64_t units, const Device& device);
/// Products of the kernel's shape side by side: FLOPs / 2mnk, rounded, at least 1.
[[nodiscard]] std::int64_t product_count(const Kernel& kernel);

/// Copy between host and device: copy_latency + bytes / link bandwidth, on one whole copy engine.
/// bytes is the larger of what is read and written: a copy crosses the link once.
/// Throws InfeasibleError if the device has no such link.
[[nodiscard]] Estimate host_copy_cost(const Kernel& kernel, const Device& device);

/// Throws InfeasibleError for kernels that no model here covers (collectives); names the operation.
void refuse_unmodelled(const Kernel& kernel, const Operation& operation);

/// True if the operation has no kernels to estimate: its fixed duration is all that is known.
[[nodiscard]] bool has_only_a_duration(const Operation& operation);
/// With the grid of its only kernel, if one is given. Its compute share is what the blocks of a
/// unit use when the kernel is alone, spread over the units; as many of them as that allows, and as
/// can reside, run side by side at full rate.
[[nodiscard]] Estimate fixed_cost(const Operation& operation, const Device& device);

/// Blocks of this shape that one unit of the device holds, at least 1 (a shape that does not fit is
/// refused by the CostTable); 1 where shape or limits are not known.
[[nodiscard]] std::uint32_t resident_blocks(const BlockShape& block, const Device& device);

/// Gives an estimate the grid that a kernel says it is launched with; none given: no change.
/// `per_unit` of its blocks run side by side on a unit at full rate.
void set_grid(const KernelGrid& grid, std::uint32_t per_unit, Estimate& estimate);

/// Adds up the kernels of an operation, which run one after another.
///
///   duration   sum, plus `gap` between two kernels
///   share      the largest among the kernels that run on the operation's own class of units
///   bandwidth  all bytes over the whole duration
///   bound      that of the longest kernel
///   blocks     those of a single kernel; 0 (as many as units) where several follow each other
///   compute share  the mean over time
///
/// The share is the largest and not the mean over time: the operation holds its units from
/// beginning to end, and with fewer its widest kernel would not have them in the time that was
/// estimated for it. Kernels on other classes add their time but hold nothing there.
class KernelSum {
 public:
  KernelSum(const Operation& operation, const Device& device, Duration gap);
  /// Throws InfeasibleError once the sum reaches longest_operation; names the operation.
  void add(const Kernel& kernel, const Estimate& estimate);
  [[nodiscard]] Estimate total() const;

 private:
  const Operation& operation_;
  const Device& device_;
  UnitClassId own_class_;
  Duration gap_;
  Duration longest_{-1};
  double share_ = 0.0;
  double bytes_ = 0.0;
  double compute_seconds_ = 0.0;
  Estimate sum_{};
};

}  // namespace schedlab
