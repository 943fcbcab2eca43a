// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/table_fit.hpp"
#include "hw_models/pipelined_product.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

/// A measured product C[m, n] = A[m, k] * B[k, n].
struct MeasuredProduct {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  double us;
  RowUse use;  ///< by row_use("MxNxK")
};
[[nodiscard]] std::vector<MeasuredProduct> products_of(const std::vector<TableRow>& rows);

/// Predicted time in us.
[[nodiscard]] double product_us(const MatrixLibrary& library,
                                const MeasuredProduct& product,
                                DataType type,
                                const Device& device,
                                OperandReading reading = OperandReading::as_measured);

/// A library of pipelined kernels fitted to the rows that fit, its tiles those that are chosen for
/// them. Deterministic.
/// Throws InfeasibleError for fewer than 200 rows, and if the device has no units or rate.
/// Cost: about half a minute for ten thousand rows.
[[nodiscard]] MatrixLibrary fit_products(const std::vector<MeasuredProduct>& products,
                                         DataType type,
                                         const Device& device,
                                         OperandReading reading = OperandReading::as_measured);

/// Fits, reports, and gives the machine the library in the place of one for the same type.
[[nodiscard]] OperatorFit calibrate_products(const std::vector<TableRow>& rows,
                                             DataType type,
                                             const TableOptions& options,
                                             MachineSpec& machine);

}  // namespace schedlab
