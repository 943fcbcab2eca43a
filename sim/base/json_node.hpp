// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

enum class JsonKind : std::uint8_t { null, boolean, integer, number, string, array, object };

/// One value of a JSON file that remembers where it stood, so that every later message can point at
/// it. Members keep the order of the file.
struct JsonNode {
  JsonKind kind = JsonKind::null;
  OptionValue scalar{};           ///< of boolean, integer, number, string
  std::vector<std::string> keys;  ///< of an object, one per item
  std::vector<JsonNode> items;    ///< values of an object or array
  std::string pointer;            ///< JSON pointer in the user's file; empty: the whole file

  [[nodiscard]] bool is_scalar() const {
    return kind != JsonKind::null && kind != JsonKind::array && kind != JsonKind::object;
  }
  /// The member of an object; nullptr if there is none (or this is no object).
  [[nodiscard]] const JsonNode* find(std::string_view key) const;
  /// The text of a string; ContractViolation for anything else.
  [[nodiscard]] const std::string& text() const;
};

/// The value as a message shows it: `"word"`, `12`, `a list of 3`, `an object`.
[[nodiscard]] std::string describe(const JsonNode& node);

/// `key` as one segment of a JSON pointer: "~" and "/" are escaped (RFC 6901).
[[nodiscard]] std::string pointer_segment(std::string_view key);

/// Reads a whole JSON text. `file` is named in messages.
/// Throws InputError: syntax errors with line and column; a key given twice, nesting deeper than 64
/// and integers beyond 64 bits with their pointer.
[[nodiscard]] JsonNode parse_json_node(std::string_view text, const std::string& file);

}  // namespace schedlab
