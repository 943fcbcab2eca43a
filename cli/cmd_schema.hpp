// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct SchemaOptions {
  std::string which = "spec";
  bool json = false;
};

/// Adds the verb `schema`.
CLI::App* add_to(CLI::App& app, SchemaOptions& options);
/// Prints a JSON Schema.
[[nodiscard]] int run(const SchemaOptions& options, const Terminal& terminal);

}  // namespace schedlab
