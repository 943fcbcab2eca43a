// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace schedlab {

struct PartitionOptions {
  std::string spec{};
  std::string out{};
  bool overwrite = false;
  bool json = false;
};

/// Stages of a pipeline: a table, and a folder of files.
[[nodiscard]] int run(const PartitionOptions& options, const Terminal& terminal);

}  // namespace schedlab
