// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "calibration/microbenchmarks.hpp"
#include "hw_models/profile_fits.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab {

/// Equal products in a row in each of several streams.
struct ProductsBeside {
  MeasuredKernel product;  ///< with its grid
  std::size_t streams = 2;
  double alone_us = 0;   ///< what one more takes in one stream, the gap after it included
  double beside_us = 0;  ///< what one more in each of the streams takes
};

/// KernelProfile::hidden_latency with which products keep as many units busy as they were seen to:
/// n of them that take `beside_us` leave no unit idle, so that each has `beside_us / (n * its
/// time)` of them. The median over products that wait for a tenth of their time or more, have
/// blocks for all units and slow each other down; 0 without any.
///
/// Shapes  kernels of a class of `fits`; others are left out. gap_us: after each of a stream.
[[nodiscard]] double fit_hidden_latency(const ProfileFits& fits,
                                        const std::vector<ProductsBeside>& measured,
                                        std::uint32_t units,
                                        double gap_us);

/// Products of 64 to 1152 rows in each arithmetic that `profile` has samples of, four beside each
/// other in a device graph, then fitted. Those that last have too little to hide. 0 for a device
/// whose kernels cannot be timed in graphs (between single launches the host would decide) or run
/// on one unit.
/// Throws what the bench throws.
[[nodiscard]] double measure_hidden_latency(DeviceBench& bench,
                                            const BenchEffort& effort,
                                            const KernelProfile& profile,
                                            const ProfileFits& fits,
                                            double node_gap_us);

}  // namespace schedlab
