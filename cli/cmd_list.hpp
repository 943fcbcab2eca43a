// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct ListOptions {
  std::string what = "all";
  std::string name{};
  bool json = false;
  bool file = false;  ///< print the machine's file
};

/// Adds the verb `list`.
CLI::App* add_to(CLI::App& app, ListOptions& options);
/// Prints what specs may name, with options.
[[nodiscard]] int run(const ListOptions& options, const Terminal& terminal);

}  // namespace schedlab
