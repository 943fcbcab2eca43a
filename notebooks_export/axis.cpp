// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"

#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace schedlab {

namespace {

[[nodiscard]] std::string with_decimals(double value, int decimals) {
  TextBuffer text;
  text.rounded(value, decimals);
  return std::move(text).take();
}

/// Decimals that show `digits` significant ones.
[[nodiscard]] int decimals_for(double value, int digits) {
  if (value == 0) return 0;
  const int before = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return std::clamp(digits - before, 0, 12);
}

}  // namespace

Ticks linear_ticks(double low, double high, int wanted) {
  Ticks ticks;
  if (!(high > low)) {
    ticks.values = {low};
    ticks.decimals = decimals_for(low, 3);
    return ticks;
  }
  const double rough = (high - low) / std::max(wanted, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.75) {
      step = factor * power;
      break;
    }
  }
  ticks.decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; (first + i) * step <= high * (1 + 1e-12) + step * 1e-9; ++i) {
    ticks.values.push_back((first + i) * step);
  }
  return ticks;
}

Ticks logarithmic_ticks(double low, double high) {
  const double decades = std::log10(high / low);
  Ticks ticks;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor != 1.0 && decades > 2.5) continue;
      const double value = factor * power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.values.push_back(value);
    }
  }
  const double smallest = ticks.values.empty() ? low : ticks.values.front();
  ticks.decimals = decimals_for(smallest, 1);
  return ticks;
}

TimeUnit time_unit_for(Duration longest) {
  constexpr std::array<TimeUnit, 4> units{{{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}}};
  for (const TimeUnit& unit : units) {
    if (static_cast<double>(longest.count()) >= unit.picoseconds) return unit;
  }
  return units.back();
}

std::string readable(Duration duration) {
  if (duration == Duration{0}) return "0";
  const TimeUnit unit = time_unit_for(duration);
  const double value = static_cast<double>(duration.count()) / unit.picoseconds;
  return with_decimals(value, decimals_for(value, 4)) + ' ' + std::string{unit.name};
}

std::string readable(Bytes bytes) {
  constexpr std::array<std::string_view, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.count());
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < names.size(); ++unit) value /= 1024;
  return with_decimals(value, decimals_for(value, 3)) + ' ' + std::string{names[unit]};
}

std::string readable(double value) {
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < 1e-3 || magnitude >= 1e7)) return fmt::format("{:.3g}", value);
  return with_decimals(value, decimals_for(value, 4));
}

std::string readable_share(double share) {
  const double percent = 100 * share;
  return with_decimals(percent, percent < 1 ? 1 : 0) + " %";
}

}  // namespace schedlab
