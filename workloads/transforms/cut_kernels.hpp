// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/transform.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "sim/machine/platform.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace schedlab {

/// Says of every kernel into how many blocks it is cut (Kernel::grid), for devices without a
/// library that decides it: many-core CPUs.
///
/// Cuts kernels of kind gemm, pointwise, reduction and convolution that have no grid yet, by `rule`
/// for `units` units. Keeps everything else: tasks and their numbers, names, durations, edges,
/// tensors, FLOPs and bytes. Cost O(tasks + edges).
class CutKernels final : public Transform {
 public:
  /// ContractViolation unless the rule's numbers are above 0 and `units` at least 1.
  CutKernels(const CutRule& rule, std::uint32_t units);
  /// With the rule of the device's profile, for the units that its matrix kernels spread over;
  /// nullopt if it has no profile.
  [[nodiscard]] static std::optional<CutKernels> for_device(const Device& device);
  /// How many of the `units` one kernel may spread over (units_per_kernel): with 1 each unit is a
  /// core group of its own. At least 1.
  [[nodiscard]] static std::uint32_t units_for(std::uint32_t units, const Device& device);

  CutKernels(const CutKernels& other) : CutKernels(other.rule_, other.units_) {}
  CutKernels& operator=(const CutKernels&) = delete;
  ~CutKernels() override = default;

  [[nodiscard]] std::string_view name() const override { return "cut_kernels"; }
  [[nodiscard]] TaskGraph apply(const TaskGraph& graph) const override;

 private:
  CutRule rule_;
  std::uint32_t units_;
};

}  // namespace schedlab
