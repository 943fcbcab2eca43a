// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// Round values (1, 2 or 5 times a power of ten apart) in [low, high], about `wanted` of them.
[[nodiscard]] std::vector<double> linear_ticks(double low, double high, int wanted);
/// Powers of ten in [low, high], with their multiples by 2 and 5 when there are few. low > 0.
[[nodiscard]] std::vector<double> logarithmic_ticks(double low, double high);

/// The smallest and the largest of the numbers it is shown; infinities are left out.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value);
  [[nodiscard]] bool empty() const { return low > high; }
  [[nodiscard]] bool spans(double factor) const { return low > 0 && high / low >= factor; }
};

/// Maps values to pixels along one axis, with a little margin around the data. An axis whose data
/// end at zero ends there, too. Values beyond an end of the axis lie at that end.
class Scale {
 public:
  /// From pixel `from` to pixel `to`. A logarithmic axis needs data above 0.
  Scale(Range data, bool logarithmic, double from, double to);

  /// From `low` to `high` without any margin.
  [[nodiscard]] static Scale exact(double low, double high, double from, double to);

  [[nodiscard]] double at(double value) const;
  /// The value at a share of the axis: 0 is its begin, 1 its end.
  [[nodiscard]] double value(double share) const;
  /// Round values, about `wanted` of them on a linear axis.
  [[nodiscard]] std::vector<double> ticks(int wanted) const;

 private:
  double low_;
  double high_;
  bool logarithmic_;
  double from_;
  double to_;
};

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
/// "4.8 %", with its sign: "-4.8 %".
[[nodiscard]] std::string percent(double share, int decimals = 1);
[[nodiscard]] std::string signed_percent(double share, int decimals = 1);
/// "1 task", "12 tasks".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

}  // namespace schedlab
