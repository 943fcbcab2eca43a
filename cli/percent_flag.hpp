// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace schedlab {

/// "2%" or "2 %" as CLI11 reads a number.
[[nodiscard]] inline std::string without_percent_sign(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace schedlab
