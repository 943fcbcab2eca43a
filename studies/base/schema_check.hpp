// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/json_node.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace schedlab {

/// A JSON Schema, read once to check any number of files against it: to read the one of specs takes
/// many times as long as to check a spec.
///
/// Knows the part of draft 7 that our schemas use: $ref to definitions, type, const and enum of
/// single values, anyOf (with nothing but descriptions beside it), oneOf, the limits of numbers,
/// texts (in bytes) and lists, items, properties, required, additionalProperties, dependencies on
/// keys.
class PreparedSchema {
 public:
  /// `schema`: as text. Throws ContractViolation for one that is broken or uses other keywords.
  explicit PreparedSchema(const std::string& schema);
  ~PreparedSchema();
  PreparedSchema(const PreparedSchema&) = delete;
  PreparedSchema& operator=(const PreparedSchema&) = delete;

  /// Throws InputError for the first thing that does not fit: file, JSON pointer, found, expected,
  /// closest valid spelling. Several threads may check at once. Cost O(values * alternatives).
  void check(const JsonNode& root, const std::string& file) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Reads a JSON text that must fit a schema; throws as parse_json_node and PreparedSchema do.
JsonNode read_checked_json(std::string_view text,
                           const std::string& schema,
                           const std::string& file);

}  // namespace schedlab
