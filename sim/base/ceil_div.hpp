// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace schedlab {

/// a / b, rounded up; a >= 0, b > 0 and a + b fits.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace schedlab
