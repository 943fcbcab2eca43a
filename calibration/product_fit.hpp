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

/// The same with the library's residuals: products `measured`.
[[nodiscard]] double measured_product_us(const MatrixLibrary& library,
                                         const MeasuredProduct& product,
                                         DataType type,
                                         const Device& device);

/// Residuals of the library on the rows that fit or choose; those that choose have chosen the
/// trees' form and number, trees of the rows that fit alone. Cost: seconds.
[[nodiscard]] std::vector<ResidualTree> fit_product_residuals(
    const MatrixLibrary& library,
    const std::vector<MeasuredProduct>& products,
    DataType type,
    const Device& device);

/// Scatter of the logarithm of a measured time around the model.
inline constexpr double row_scatter = 0.06;  // half of the residuals of a fit are within it
/// Standard deviations of the logarithms of a library's parameters, then of its tiles'
/// efficiencies, from one device to the next, before a row is known.
[[nodiscard]] std::vector<double> prior_widths(const MatrixLibrary& library);

/// `library` moved to what some rows say, all of them used, and held to where it was by
/// prior_widths() where they say nothing. For tables of too few rows for fit_products.
[[nodiscard]] MatrixLibrary refine_products(const MatrixLibrary& library,
                                            const std::vector<MeasuredProduct>& products,
                                            DataType type,
                                            const Device& device);

inline constexpr std::size_t min_fitted_products = 200;
/// A library of pipelined kernels fitted to the rows that fit, its tiles those that are chosen for
/// them. Deterministic.
/// Throws InfeasibleError for fewer than min_fitted_products, and if the device has no units or
/// rate. Cost: about half a minute for ten thousand rows.
[[nodiscard]] MatrixLibrary fit_products(const std::vector<MeasuredProduct>& products,
                                         DataType type,
                                         const Device& device,
                                         OperandReading reading = OperandReading::as_measured);

/// Fits, reports, and gives the machine the library in the place of one for the same type. With
/// fewer than min_fitted_products that fit, the machine's own library is refined by all rows, and
/// no error on held-out rows is reported.
[[nodiscard]] OperatorFit calibrate_products(const std::vector<TableRow>& rows,
                                             DataType type,
                                             const TableOptions& options,
                                             MachineSpec& machine);

}  // namespace schedlab
