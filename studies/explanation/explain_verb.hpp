// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

struct ExplainOptions {
  std::string input{};
  std::string out{};  ///< empty: only the terminal
  std::uint32_t bins = 100;
  std::string within{};  ///< of an imported trace: the annotation that the operator path is of
  std::uint32_t instance = 0;
  bool what_if = false;
  bool assume_like_siblings = false;  ///< graph launches of a profile that lack nodes
  std::string against{};              ///< another run of the same workload; empty: none
  bool overwrite = false;
  bool json = false;
};

/// Why a run took as long as it did: a table, and a folder of files if one is named.
[[nodiscard]] int run(const ExplainOptions& options, const Terminal& terminal);

}  // namespace schedlab
