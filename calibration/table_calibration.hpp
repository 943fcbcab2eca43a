// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/table_fit.hpp"

#include <string>
#include <vector>

namespace schedlab {

/// A machine whose cost models are fitted to tables of measured operators.
struct TableCalibration {
  MachineSpec machine;            ///< `base` with what was fitted
  std::vector<OperatorFit> fits;  ///< by kind and type, in the order of their first rows
};
[[nodiscard]] const Fields<TableCalibration>& table_calibration_fields();

/// Fits each kind and type of operator in the tables by its own procedure.
/// Throws InputError for kinds that no procedure fits, and what OperatorTable and the fits throw.
[[nodiscard]] TableCalibration calibrate_from_tables(const std::vector<OperatorTable>& tables,
                                                     const MachineSpec& base,
                                                     const TableOptions& options);

/// What came out, for a terminal and as a page.
[[nodiscard]] std::string table_calibration_text(const TableCalibration& made,
                                                 const std::string& out);
[[nodiscard]] std::string table_calibration_json(const TableCalibration& made);
[[nodiscard]] std::string table_calibration_markdown(const TableCalibration& made);

}  // namespace schedlab
