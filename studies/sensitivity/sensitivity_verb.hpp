// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

struct SensitivityOptions {
  std::string spec{};
  std::string out{};  ///< folder; empty: prints only
  double step = 1;    ///< in percent
  double range = 2;
  bool overwrite = false;
  bool json = false;
};

/// What each number of a machine means for a case, and which would turn the order of its policies.
[[nodiscard]] int run(const SensitivityOptions& options, const Terminal& terminal);

/// JSON Schema (draft 7) of sensitivity.json.
[[nodiscard]] std::string sensitivity_schema();

}  // namespace schedlab
