// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace schedlab {

/// One value of a JSON text that is not an object or an array, with its JSON pointer. Empty objects
/// and arrays, and null, are leaves without a value.
struct JsonLeaf {
  std::string pointer;
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value;
};

/// All leaves of a JSON text, in the order of the file. Machine files are small and shallow, and
/// read key by key: a flat list is all that their reader needs.
///
/// Errors   as parse_json_node().
/// Cost     O(text).
[[nodiscard]] std::vector<JsonLeaf> json_leaves(std::string_view text, const std::string& file);

/// The last key of a JSON pointer, with ~1 and ~0 turned back into / and ~.
[[nodiscard]] std::string last_key(std::string_view pointer);

}  // namespace schedlab
