// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/json_node.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace schedlab {

/// A JSON Schema (draft 7), read once to check any number of files against it: to read the one of
/// specs takes many times as long as to check a spec.
class PreparedSchema {
 public:
  /// `schema`: as text. Throws ContractViolation for a broken one.
  explicit PreparedSchema(const std::string& schema);
  ~PreparedSchema();
  PreparedSchema(const PreparedSchema&) = delete;
  PreparedSchema& operator=(const PreparedSchema&) = delete;

  /// `root` and `text` are the same file, parsed and raw. Several threads may check at once.
  ///
  /// The schema library decides; the message is then worked out from the schema in the form all
  /// input errors have: file, JSON pointer, found, expected, closest valid spelling.
  /// Throws InputError for a file that does not fit.
  void check(const JsonNode& root, std::string_view text, const std::string& file) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// PreparedSchema for one file alone; throws as it does.
void check_schema(const JsonNode& root,
                  std::string_view text,
                  const std::string& schema,
                  const std::string& file);

}  // namespace schedlab
