// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace schedlab {

/// Kernels of one name, grid and block: how long those take that run alone on their device, and
/// those beside what other streams do. A grid of as many blocks as the device has units may stand
/// for products of several shapes, which the profile does not tell apart.
struct KernelOverlap {
  TextId name;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::vector<Duration> alone;   ///< by length: at most 5 % of them beside another stream
  std::vector<Duration> beside;  ///< by length: at least 95 % of them

  /// Of the middle one; 0 without any.
  [[nodiscard]] static Duration median(const std::vector<Duration>& sorted);
  /// How long it takes alone: the median, if two or more are within 10 % of each other and none
  /// beside others is more than 10 % faster, which is then of another shape; else 0.
  [[nodiscard]] Duration known_alone() const;
};

/// By device row: the share of its time in which another stream of its device does something.
/// Cost  O(rows log rows).
[[nodiscard]] std::vector<double> shares_beside(const ImportedTrace& trace);

/// Those that run both alone and beside others, what runs longest beside others first.
[[nodiscard]] std::vector<KernelOverlap> kernel_overlaps(const ImportedTrace& trace);

/// By device row: how long such a kernel takes alone, of those that run beside others for more than
/// 5 % of their time and whose time alone is known (KernelOverlap::known_alone); else its own.
[[nodiscard]] std::vector<Duration> durations_alone(const ImportedTrace& trace);

}  // namespace schedlab
