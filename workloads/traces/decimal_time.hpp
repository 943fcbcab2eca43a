// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace schedlab::detail {

/// Microseconds as a profiler writes them, exactly: a double would lose the nanoseconds of a clock
/// that counts from 1970.
struct DecimalTime {
  std::int64_t us = 0;
  std::int64_t ps = 0;  ///< 0 to 999999, added to us
};

/// "4458676522690.655" -> 4458676522690 us, 655000 ps; what is below a picosecond is cut off.
/// nullopt for what is no number, and beyond 9.2e18 us.
[[nodiscard]] inline std::optional<DecimalTime> parse_microseconds(std::string_view text) {
  DecimalTime time;
  const char* const end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data(), end, time.us);
  const bool negative = text.starts_with('-');
  if (error == std::errc{}) {
    const char* at = point;
    if (at != end && *at == '.') {
      std::int64_t unit = 100'000;
      for (++at; at != end && *at >= '0' && *at <= '9'; ++at, unit /= 10)
        time.ps += (*at - '0') * unit;
    }
    if (at == end && time.us != std::numeric_limits<std::int64_t>::min()) {
      if (negative && time.ps > 0) time = {.us = time.us - 1, .ps = 1'000'000 - time.ps};
      return time;
    }
  }
  double us = 0;  // 1.4e+15
  const auto [rest, bad] = std::from_chars(text.data(), end, us);
  if (bad != std::errc{} || rest != end || !(std::abs(us) < 9.2e18)) return std::nullopt;
  const double whole = std::floor(us);
  return DecimalTime{.us = static_cast<std::int64_t>(whole),
                     .ps = static_cast<std::int64_t>((us - whole) * 1e6)};
}

}  // namespace schedlab::detail
