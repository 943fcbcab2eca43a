// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>
#include <vector>

namespace schedlab {

struct ImportOptions {
  std::vector<std::string> inputs{};
  std::string out{};                  ///< empty: only the terminal
  std::string execution_trace{};      ///< of the run that the one profile is of
  bool assume_like_siblings = false;  ///< graph launches of profiles that lack nodes
  bool overwrite = false;
  bool json = false;
};

/// What profiles and graphs of other programs hold and what is odd about them; with a folder also
/// as a graph, a plan and tables.
[[nodiscard]] int run(const ImportOptions& options, const Terminal& terminal);

}  // namespace schedlab
