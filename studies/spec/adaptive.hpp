// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace schedlab {

/// What changes at a border of a map.
enum class BorderOf : std::uint8_t { automatic, winner, limit, probability };
template <>
struct EnumNames<BorderOf> {
  static constexpr auto names = name_list("automatic", "winner", "limit", "probability");
};

/// The key `adaptive` of a spec: a sweep runs only as much of its grid as it takes to find where
/// the winner changes.
struct AdaptiveChoice {
  BorderOf border = BorderOf::automatic;
  std::string policy;  ///< one of the two that are compared; empty: all are
  std::string over;    ///< the other one
  std::uint32_t coarse_cells = 8;
  double border_width = 0.01;  ///< share of an axis
  bool interpolate = true;
};

/// What the object form of the key may hold.
[[nodiscard]] const std::vector<OptionSpec>& adaptive_options();
[[nodiscard]] AdaptiveChoice adaptive_choice(const Options& options);

}  // namespace schedlab
