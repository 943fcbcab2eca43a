// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/text_direction.hpp"

#include <fmt/format.h>

namespace schedlab {

std::size_t direction_control_length(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xE2') return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const auto third = static_cast<unsigned char>(text[2]);
  const bool embedding = second == 0x80 && third >= 0xAA && third <= 0xAE;  // U+202A to U+202E
  const bool isolate = second == 0x81 && third >= 0xA6 && third <= 0xA9;    // U+2066 to U+2069
  return embedding || isolate ? 3 : 0;
}

std::string direction_control_escape(std::string_view character) {
  // All of them are 1110'0010 10bb'bbbb 10cc'cccc: U+2000 and the twelve bits b and c.
  const auto bits = [&](std::size_t i) { return static_cast<unsigned char>(character[i]) & 0x3FU; };
  return fmt::format("\\u{:04X}", 0x2000U | bits(1) << 6U | bits(2));
}

}  // namespace schedlab
