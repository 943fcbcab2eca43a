// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>
#include <vector>

namespace schedlab {

struct ReplayOptions {
  std::vector<std::string> traces{};  ///< one per rank
  std::string mode = "copied_launches";
  std::vector<std::string> what_if{};
  bool despite_error = false;         ///< changes of a replay that is far off, too
  bool assume_like_siblings = false;  ///< graph launches that lack nodes
  std::string execution_trace{};  ///< whose dependencies policies plan with; empty: the streams'
  std::string out{};              ///< empty: only the terminal
  bool overwrite = false;
  bool json = false;
};

/// Simulates profiles again, says how far that is from them, and what changes would give.
[[nodiscard]] int run(const ReplayOptions& options, const Terminal& terminal);

}  // namespace schedlab
