// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/product_fit.hpp"

#include <string>
#include <vector>

namespace schedlab {

// Errors of a library on measured products, all of which count.

[[nodiscard]] RegionError product_error(const std::vector<MeasuredProduct>& products,
                                        const MatrixLibrary& library,
                                        DataType type,
                                        const Device& device,
                                        OperandReading reading,
                                        std::string region);

/// Of all, then by rows of A and by length of time; of all and of up to 64 rows with residuals too.
[[nodiscard]] std::vector<RegionError> product_errors(const std::vector<MeasuredProduct>& products,
                                                      const MatrixLibrary& library,
                                                      DataType type,
                                                      const Device& device);

/// By k (across) and rows of A (up).
[[nodiscard]] std::vector<ErrorCell> product_error_cells(
    const std::vector<MeasuredProduct>& products,
    const MatrixLibrary& library,
    DataType type,
    const Device& device);

/// Nine of ten products of each region of rows lie within, one of twenty beyond either end.
[[nodiscard]] std::vector<ProductInterval> product_intervals(
    const std::vector<MeasuredProduct>& products,
    const MatrixLibrary& library,
    DataType type,
    const Device& device);

/// What the library's intervals hold of the products.
[[nodiscard]] std::vector<IntervalCoverage> product_coverage(
    const std::vector<MeasuredProduct>& products,
    const MatrixLibrary& library,
    DataType type,
    const Device& device);

}  // namespace schedlab
