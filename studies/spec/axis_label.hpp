// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/json_node.hpp"
#include "sim/sweep/table.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// The keys that say which policy, machine or workload an object is ("name", "base", "kind", ...).
[[nodiscard]] bool is_identity_key(std::string_view key);

/// One cell per element of a list: numbers and words as they are; an object by its "label", else by
/// what it names, with its other values in parentheses where the name alone is not unique.
[[nodiscard]] std::vector<Cell> axis_labels(const JsonNode& list);

/// Throws InputError if two alternatives have one name: their rows could not be told apart.
void expect_told_apart(const JsonNode& list, const std::string& file);

/// As axis_labels(), but a machine file is called by the name in it (paths start from `folder`),
/// unless two machines of the list would have one name then.
[[nodiscard]] std::vector<Cell> machine_labels(const JsonNode& list,
                                               const std::filesystem::path& folder);

/// The same for one value outside of a list.
[[nodiscard]] std::string component_label(const JsonNode& node);

/// A cell as text; missing: empty.
[[nodiscard]] std::string to_string(const Cell& cell);

}  // namespace schedlab
