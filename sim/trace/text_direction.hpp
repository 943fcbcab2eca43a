// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace schedlab {

/// Bytes of the character that `text` starts with if it changes the direction of what follows
/// (U+202A to U+202E, U+2066 to U+2069: in a foreign name they make a line read as another); else
/// 0.
[[nodiscard]] std::size_t direction_control_length(std::string_view text);

/// \u202E for such a character.
[[nodiscard]] std::string direction_control_escape(std::string_view character);

}  // namespace schedlab
