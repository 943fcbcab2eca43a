// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace schedlab {

inline constexpr std::size_t most_legend_entries = 14;

/// A colour for each operation. Where there are more than the palette has colours, the ones that
/// run longest (`running`) have one of their own each, and the rest are light grey. `others`: named
/// elsewhere in the same figure, so that colours agree.
[[nodiscard]] std::vector<std::string> colors_by_time(const std::vector<std::string>& operations,
                                                      const std::vector<Duration>& running,
                                                      const std::vector<std::string>& others);

/// Each name as far as it fits into `width`. Of names that would be cut to the same text, the part
/// in which they differ is shown, too.
[[nodiscard]] std::vector<std::string> fitted_apart(const std::vector<std::string>& names,
                                                    double width,
                                                    double size);

}  // namespace schedlab
