// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/json_node.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// Checks a file against a JSON Schema (draft 7, as text). `root` and `text` are the same file,
/// parsed and raw.
///
/// The schema library decides; the message is then worked out from the schema in the form all input
/// errors have: file, JSON pointer, found, expected, closest valid spelling.
/// Throws InputError for a file that does not fit, ContractViolation for a broken schema.
void check_schema(const JsonNode& root,
                  std::string_view text,
                  const std::string& schema,
                  const std::string& file);

}  // namespace schedlab
