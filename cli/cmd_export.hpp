// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls it that
class App;
}

namespace schedlab {

struct ExportOptions {
  std::string format{};
  std::string input{};
  std::string out{};
  std::int64_t scenario = -1;
  bool overwrite = false;
  bool json = false;
};

/// Adds the verb `export`.
CLI::App* add_to(CLI::App& app, ExportOptions& options);
/// Results or traces in formats of other programs.
[[nodiscard]] int run(const ExportOptions& options, const Terminal& terminal);

}  // namespace schedlab
