// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

struct PlanParallelOptions {
  std::string spec{};
  std::string out{};  ///< folder; empty: prints only
  bool overwrite = false;
  bool json = false;
};

/// The fastest ways to spread the training of a model over devices.
[[nodiscard]] int run(const PlanParallelOptions& options, const Terminal& terminal);

}  // namespace schedlab
