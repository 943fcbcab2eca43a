// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/product_fit.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

/// Shapes from which a micro-sweep is chosen: 490 of 1 to 8192 rows, n and k 256 to 16384.
[[nodiscard]] std::vector<MeasuredProduct> sweep_candidates();

/// The shapes that together determine the parameters of `library` best: each next one is where its
/// prediction, after those before it, is least certain (greedy D-optimal design), starting from the
/// uncertainty that prior_width() gives the parameters. The first ones are the most telling.
/// Shapes   at most `count`, in the order of choice.
/// Source   Fedorov, Theory of Optimal Experiments, 1972.
[[nodiscard]] std::vector<MeasuredProduct> micro_sweep(
    const MatrixLibrary& library,
    DataType type,
    const Device& device,
    const std::vector<MeasuredProduct>& candidates,
    std::size_t count);

/// Of sweep_candidates() for the machine's library. Throws InfeasibleError if it has none.
[[nodiscard]] std::vector<MeasuredProduct> micro_sweep_of(const MachineSpec& machine,
                                                          DataType type,
                                                          std::size_t count);

/// CSV of the shapes, as a table without times.
[[nodiscard]] std::string micro_sweep_csv(const std::vector<MeasuredProduct>& shapes,
                                          DataType type);

}  // namespace schedlab
