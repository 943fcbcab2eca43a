// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/collective.hpp"
#include "sim/machine/cost_model.hpp"

namespace schedlab {

/// Roofline: a kernel takes as long as its arithmetic or its memory traffic, whichever is longer,
/// on the whole device; the kernels of an operation run one after another.
///
///   compute = flops / (peak * efficiency)     peak: by data type, of matrix or point-wise kernels
///   memory  = (bytes read + written - cached) / (nominal bandwidth * memory_efficiency)
///   kernel  = max(compute, memory, kernel_floor)
///
/// Valid for: kernels that fill the device; else a lower bound. No waves, no gaps between the
/// kernels of one operation, every operand comes from memory but weights that stay in the cache
/// (sim/machine/cache_reuse.hpp).
///
/// Source: Williams, Waterman, Patterson, CACM 52(4), 2009, doi 10.1145/1498765.1498785.
class Roofline final : public NetworkCostModel {
 public:
  /// `efficiency` in (0, 1]: share of the arithmetic peak that kernels reach.
  explicit Roofline(double efficiency = 1.0) : efficiency_(efficiency) {}

  [[nodiscard]] std::string_view name() const override { return "roofline"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device& device) const override;

 private:
  double efficiency_;
};

}  // namespace schedlab
