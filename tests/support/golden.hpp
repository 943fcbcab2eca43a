// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  const std::string path = fmt::format("{}/tests/golden/{}.txt", SCHEDLAB_SOURCE_DIR, name);
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
