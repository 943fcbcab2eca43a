// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/terminal.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct PlotOptions {
  std::string input{};
  std::string out{};
  double width = 1200;
  bool json = false;
};

/// Adds the verb `plot`.
CLI::App* add_to(CLI::App& app, PlotOptions& options);
/// Draws a trace again: other width, other format.
[[nodiscard]] int run(const PlotOptions& options, const Terminal& terminal);

}  // namespace schedlab
