// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace schedlab {

/// 2 of 2.0 or 2e0, which is an integer to JSON Schema; nullopt of 2.5, and beyond 2^53, where
/// doubles do not tell integers apart.
[[nodiscard]] inline std::optional<std::int64_t> whole_number(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (value != std::trunc(value) || std::abs(value) > exact) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace schedlab
