// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

struct EmitOptions {
  std::string input{};
  std::string language{};
  std::string out{};
  std::string plan{};
  std::string precision{};
  bool overwrite = false;
  bool json = false;
};

/// A plan as a program.
[[nodiscard]] int run(const EmitOptions& options, const Terminal& terminal);

}  // namespace schedlab
