// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/kernel_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// What a kernel's operands take that are not in the units' own caches: times per byte, of the unit
/// that reads most of them, of which some is hidden behind the kernel's work:
///
///   memory  = seconds_per_cached_byte x bytes that are not in the units' own caches
///           + seconds_per_byte x bytes that are in no cache
///   seconds = (work^overlap + memory^overlap)^(1 / overlap)
///
/// 1: nothing is hidden; the larger, the nearer to the longer of the two.
struct MemoryTime {
  double seconds_per_byte = 0;         ///< on top of the other
  double seconds_per_cached_byte = 0;  ///< 0 also where samples do not know the units' own caches
  double overlap = 1;

  friend bool operator==(const MemoryTime&, const MemoryTime&) = default;
};

/// The one with which the costs of all these classes together, each fitted to its own samples, err
/// least: caches and memory are as fast for all of them, and a single class may hardly ever have
/// missed one. Nothing where the samples do not know what was in the caches (Kernel::bytes_cached,
/// bytes_unit_cached).
[[nodiscard]] MemoryTime fit_memory(const std::vector<std::vector<KernelSample>>& classes);

/// Time of kernels of one class, fitted to samples of it:
///
///   seconds = (sum of costs x features, together with MemoryTime) * 2^(smooth correction)
///
///   features     1; FLOPs, bytes and bytes written of the blocks on the fullest unit; 1 where
///                other units take part. Costs are non-negative and make the relative errors least
///                (hw_models/linear_fit.hpp); features that the samples cannot tell apart are left
///                out.
///   correction   what the costs miss at the samples, as log2, interpolated over log2 of the shape
///                (m, n, k, blocks; of others bytes, their share read, blocks) and of what
///                caches hold: the shares of bytes_read that are not in the last-level cache and
///                not in the units' own, where the samples know them; else, and beside them where
///                kernels are no products, the working set that the kernel runs in. What is beyond
///                those measured counts as the nearest of them, what is not known as their mean.
///                Gaussian process regression with a squared exponential kernel. Its length and
///                noise are those of a small grid that predict left-out samples best. Far from all
///                samples it fades to nothing, and the costs alone decide.
///
/// Valid for: shapes inside the box that the samples span; others are extrapolated.
/// Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, 2.2 and 5.4.2.
class KernelFit {
 public:
  /// `samples`: not empty, one class of kernels (ContractViolation otherwise). Cost O(samples^3).
  explicit KernelFit(const std::vector<KernelSample>& samples, const MemoryTime& memory = {});

  /// A kernel of grid.blocks blocks (0: one) on so many units.
  [[nodiscard]] double seconds(const Kernel& kernel, std::uint32_t units) const;
  /// The parts of the costs that grow with FLOPs, with bytes, and with neither.
  struct Parts {
    double flops = 0;
    double bytes = 0;
    double fixed = 0;
  };
  [[nodiscard]] Parts parts(const Kernel& kernel, std::uint32_t units) const;
  /// Share of seconds() that grows with neither FLOPs nor bytes: latencies, start and end, what the
  /// correction adds. 0 to 1.
  [[nodiscard]] double waiting(const Kernel& kernel, std::uint32_t units) const;

 private:
  friend std::vector<double> held_out_ratios(const std::vector<KernelSample>& samples,
                                             const KernelFit& all);
  friend MemoryTime fit_memory(const std::vector<std::vector<KernelSample>>& classes);
  struct Smoothness {
    double length = 1;  ///< octaves
    double noise = 1;   ///< variance of a sample over variance of the correction
  };
  struct CostsAlone {};  ///< no correction
  /// Where the bytes that a kernel reads come from.
  struct Shares {
    double missing = 0;  ///< in no cache
    double beyond = 0;   ///< not in the units' own caches; as `missing` where that is not known
  };
  KernelFit(const std::vector<KernelSample>& samples,
            const MemoryTime& memory,
            const Smoothness& smoothness);
  KernelFit(const std::vector<KernelSample>& samples, const MemoryTime& memory, CostsAlone);
  [[nodiscard]] Shares shares_of(const Kernel& kernel) const;
  [[nodiscard]] double memory_seconds(const Kernel& kernel, std::uint32_t units) const;
  [[nodiscard]] double work_of(double seconds, double memory) const;
  [[nodiscard]] std::vector<double> contexts_of(const Kernel& kernel) const;
  void set_contexts(const std::vector<KernelSample>& samples);
  [[nodiscard]] std::vector<double> place_of(const Kernel& kernel) const;
  void fit_costs_of(const std::vector<KernelSample>& samples);
  void fit_correction(const std::vector<KernelSample>& samples);
  void choose_smoothness(const std::vector<KernelSample>& samples);
  [[nodiscard]] std::vector<double> log_residuals(const std::vector<KernelSample>& samples) const;

  std::vector<double> costs_;  // per feature, 0 for those left out
  Smoothness smoothness_;
  MemoryTime memory_;
  bool by_cache_ = false;       // the samples know what of their operands was in the cache
  bool by_unit_cache_ = false;  // ... and in the units' own
  Shares usual_shares_;         // mean over the samples
  std::vector<double> usual_contexts_;
  std::vector<double> smallest_contexts_;
  std::vector<double> largest_contexts_;
  std::vector<std::vector<double>> places_;  // of the samples
  std::vector<double> weights_;              // of each sample in the correction
};

/// Where a kernel lies among others of its class: log2 of its sides and blocks.
[[nodiscard]] std::vector<double> shape_place(const Kernel& kernel);

/// Measured over predicted of every sample whose shape (whatever its blocks) was left out of the
/// fit, in their order; empty with fewer than 3 shapes. `all`: the fit of all these samples, whose
/// MemoryTime and smoothness are kept. Cost O(shapes * samples^3).
[[nodiscard]] std::vector<double> held_out_ratios(const std::vector<KernelSample>& samples,
                                                  const KernelFit& all);

}  // namespace schedlab
