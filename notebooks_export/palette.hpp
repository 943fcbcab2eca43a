// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Colours that stay apart for colour-blind readers, as "#rrggbb".
/// Source  Okabe, Ito: Color Universal Design (2008), https://jfly.uni-koeln.de/color/
namespace okabe_ito {
inline constexpr std::string_view orange = "#E69F00";
inline constexpr std::string_view sky_blue = "#56B4E9";
inline constexpr std::string_view green = "#009E73";
inline constexpr std::string_view yellow = "#F0E442";
inline constexpr std::string_view blue = "#0072B2";
inline constexpr std::string_view vermillion = "#D55E00";
inline constexpr std::string_view purple = "#CC79A7";
inline constexpr std::string_view grey = "#999999";
}  // namespace okabe_ito

/// A colour per operation name. The operations of the LSTM workload have fixed colours; any other
/// name gets one by its hash, and the next free one if another name of the list has it already. So
/// a name keeps its colour from picture to picture, but for collisions. The order of `names` does
/// not matter.
[[nodiscard]] std::map<std::string, std::string> operation_colors(std::vector<std::string> names);

/// The colour of line or bar `index` of a plot.
[[nodiscard]] std::string_view series_color(std::size_t index);

/// Blue for -1, white for 0, vermillion for 1, and what lies between.
[[nodiscard]] std::string diverging_color(double place);

/// Black or white: what can be read on `background` ("#rrggbb").
[[nodiscard]] std::string_view readable_on(std::string_view background);

}  // namespace schedlab
