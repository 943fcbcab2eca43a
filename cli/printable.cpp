// SPDX-License-Identifier: Apache-2.0
#include "cli/printable.hpp"

#include "sim/trace/text_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7F;
    // U+0080 to U+009F are control characters, too.
    const bool control_after_ascii =
        length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || control || control_after_ascii) {
      for (const char part : text.substr(0, std::max<std::size_t>(length, 1))) {
        shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(part));
      }
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::string counted(std::uint64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace schedlab
