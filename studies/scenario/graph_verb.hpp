// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

struct GraphOptions {
  std::string input{};
  std::string machine = "ideal";
  std::string to{};
  std::string out{};
  bool json = false;
};

/// Statistics and lower bounds of a graph, or its conversion.
[[nodiscard]] int run(const GraphOptions& options, const Terminal& terminal);

}  // namespace schedlab
