// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/checkout.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace schedlab::testing {

/// Checks that `text` is what was reviewed as tests/golden/NAME.txt; with SCHEDLAB_UPDATE_GOLDEN in
/// the environment the file is written first, and its diff is to be reviewed like code.
inline void check_golden(std::string_view name, const std::string& text) {
  const std::string path = (checkout() / fmt::format("tests/golden/{}.txt", name)).string();
  CAPTURE(path);
  if (std::getenv("SCHEDLAB_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream{path} << text;
  }
  std::ifstream file{path};
  REQUIRE(file.good());
  std::ostringstream reviewed;
  reviewed << file.rdbuf();
  CHECK(text == reviewed.str());
}

}  // namespace schedlab::testing
