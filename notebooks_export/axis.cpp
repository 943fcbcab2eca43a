// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/axis.hpp"

#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace schedlab {

namespace {

constexpr double linear_margin = 0.04;  // of the data's range, at each end of an axis
constexpr double log_margin = 1.12;

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

std::vector<double> linear_ticks(double low, double high, int wanted) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / std::max(wanted, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.75) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> values;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; (first + i) * step <= high * (1 + 1e-12) + step * 1e-9; ++i) {
    values.push_back((first + i) * step);
  }
  return values;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  const double decades = std::log10(high / low);
  std::vector<double> values;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor != 1.0 && decades > 2.5) continue;
      const double value = factor * power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) values.push_back(value);
    }
  }
  return values;
}

void Range::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Scale::Scale(Range data, bool logarithmic, double from, double to)
    : low_(data.low), high_(data.high), logarithmic_(logarithmic), from_(from), to_(to) {
  if (data.empty()) {
    low_ = logarithmic ? 1 : 0;
    high_ = 10;
  }
  if (logarithmic) {
    low_ /= log_margin;
    high_ *= log_margin;
    return;
  }
  if (low_ == high_) {
    low_ = high_ == 0 ? 0 : high_ - 0.5;
    high_ = low_ + 1;
  }
  const double margin = linear_margin * (high_ - low_);
  if (low_ != 0) low_ -= margin;
  if (high_ != 0) high_ += margin;
}

Scale Scale::exact(double low, double high, double from, double to) {
  Scale scale{{low, high}, false, from, to};
  scale.low_ = low;
  scale.high_ = high;
  return scale;
}

double Scale::at(double value) const {
  const double share = logarithmic_
                           ? std::log(std::max(value, low_) / low_) / std::log(high_ / low_)
                           : (value - low_) / (high_ - low_);
  return from_ + (to_ - from_) * std::clamp(share, 0.0, 1.0);
}

double Scale::value(double share) const {
  return logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + (high_ - low_) * share;
}

std::vector<double> Scale::ticks(int wanted) const {
  constexpr std::size_t few = 3;
  if (logarithmic_) {
    std::vector<double> values = logarithmic_ticks(low_, high_);
    if (values.size() >= few) return values;
  }
  return linear_ticks(low_, high_, wanted);
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

std::string percent(double share, int decimals) {
  return fmt::format("{:.{}f} %", 100 * share, decimals);
}

std::string signed_percent(double share, int decimals) {
  return fmt::format("{:+.{}f} %", 100 * share, decimals);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace schedlab
