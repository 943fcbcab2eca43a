// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct PartitionOptions {
  std::string spec{};
  std::string out{};
  bool overwrite = false;
  bool json = false;
};

/// Adds the verb `partition`.
CLI::App* add_to(CLI::App& app, PartitionOptions& options);
/// Stages of a pipeline: a table, and a folder of files.
[[nodiscard]] int run(const PartitionOptions& options, const Terminal& terminal);

}  // namespace schedlab
