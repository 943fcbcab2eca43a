// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/table_fit.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// Maps over the fit's cells: measured over predicted time in the median, and the factor within
/// which nine of ten held-out rows are.
[[nodiscard]] std::string residual_picture_svg(const OperatorFit& fit, std::string_view machine);

}  // namespace schedlab
