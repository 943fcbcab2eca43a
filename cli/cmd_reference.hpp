// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct ReferenceOptions {
  std::string format{};
  std::string out{};
  bool json = false;
  const CLI::App* program = nullptr;  ///< whose verbs are described; set by add_to()
};

/// Adds the verb `reference`, which describes `app` with all verbs that it has when it runs.
CLI::App* add_to(CLI::App& app, ReferenceOptions& options);
/// Reference pages, manual page and shell completion, made of what the program itself declares.
[[nodiscard]] int run(const ReferenceOptions& options, const Terminal& terminal);

}  // namespace schedlab
