// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_reader.hpp"
#include "sim/machine/matrix_library.hpp"

#include <vector>

namespace schedlab {

/// The list "device/matrix_libraries" of a machine file. A tile takes its thread block from the
/// tile of the same sides in `known`. The numbers of a library share one origin, its key "source".
[[nodiscard]] std::vector<MatrixLibrary> read_matrix_libraries(MachineReader& reader,
                                                               const std::vector<GemmTile>& known);

}  // namespace schedlab
