// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "studies/base/terminal.hpp"

#include <cstdint>
#include <string>

namespace schedlab {

struct ServeOptions {
  std::string folder{};
  std::uint16_t port = 8000;  ///< 0: any that is free
  bool json = false;
};

/// Shows the results in a folder to a browser of this computer, until it is interrupted.
[[nodiscard]] int run(const ServeOptions& options, const Terminal& terminal);

}  // namespace schedlab
