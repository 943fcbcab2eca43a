// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Positions of axis labels.
struct Ticks {
  std::vector<double> values;
  int decimals = 0;  ///< enough to tell the labels apart
};

/// Round values (1, 2 or 5 times a power of ten apart) in [low, high], about `wanted` of them.
[[nodiscard]] Ticks linear_ticks(double low, double high, int wanted);
/// Powers of ten in [low, high], with their multiples by 2 and 5 when there are few. low > 0.
[[nodiscard]] Ticks logarithmic_ticks(double low, double high);

/// The unit in which a time reads best: "ns", "us", "ms" or "s".
struct TimeUnit {
  std::string_view name;
  double picoseconds = 1;
};
[[nodiscard]] TimeUnit time_unit_for(Duration longest);

/// "1.234 ms": four significant digits in the unit that suits it.
[[nodiscard]] std::string readable(Duration duration);
/// "16 GiB", "1.5 MiB", "12 B".
[[nodiscard]] std::string readable(Bytes bytes);
/// At least three significant digits, no exponent between 0.001 and 10^7, no trailing zeros.
[[nodiscard]] std::string readable(double value);
/// "43 %", "0.4 %".
[[nodiscard]] std::string readable_share(double share);

}  // namespace schedlab
