// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/terminal.hpp"

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct BucketsOptions {
  std::string spec{};
  std::string out{};
  bool memory_time = true;
  bool overwrite = false;
  bool json = false;
};

/// Adds the verb `buckets`.
CLI::App* add_to(CLI::App& app, BucketsOptions& options);
/// Passes over sequences of different lengths: a table, and a folder of files.
[[nodiscard]] int run(const BucketsOptions& options, const Terminal& terminal);

}  // namespace schedlab
