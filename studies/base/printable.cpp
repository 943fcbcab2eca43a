// SPDX-License-Identifier: Apache-2.0
#include "studies/base/printable.hpp"

#include "sim/trace/text_buffer.hpp"
#include "sim/trace/text_direction.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F are control characters, too.
    const bool control_after_ascii =
        length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (direction_control_length(text) > 0) {
      shown += direction_control_escape(text);
    } else if (length == 0 || control || control_after_ascii) {
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

bool PrintableBuffer::flush_line(std::size_t size) {
  const std::string shown = printable(std::string_view{pending_}.substr(0, size));
  pending_.erase(0, size);
  const auto length = static_cast<std::streamsize>(shown.size());
  return target_.sputn(shown.data(), length) == length;
}

std::streambuf::int_type PrintableBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char letter = traits_type::to_char_type(c);
  return xsputn(&letter, 1) == 1 ? c : traits_type::eof();
}

std::streamsize PrintableBuffer::xsputn(const char* text, std::streamsize size) {
  pending_.append(text, static_cast<std::size_t>(size));
  const std::size_t end = pending_.rfind('\n');  // a character may come in two pieces, a line not
  if (end == std::string::npos) return size;
  return flush_line(end + 1) ? size : 0;
}

int PrintableBuffer::sync() {
  const bool passed = flush_line(pending_.size());
  return target_.pubsync() == 0 && passed ? 0 : -1;
}

}  // namespace schedlab
