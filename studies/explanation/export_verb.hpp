// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

struct ExportOptions {
  std::string format{};
  std::string input{};
  std::string out{};
  std::int64_t scenario = -1;
  bool overwrite = false;
  bool json = false;
};

/// Results or traces in formats of other programs.
[[nodiscard]] int run(const ExportOptions& options, const Terminal& terminal);

}  // namespace schedlab
