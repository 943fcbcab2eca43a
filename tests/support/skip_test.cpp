// SPDX-License-Identifier: Apache-2.0
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

// Run case by case from CMakeLists.txt, which looks at the exit codes.
TEST_CASE("asks to be skipped") {
  schedlab::testing::skip("only to see the exit code");
}

TEST_CASE("has a result") {
  CHECK(schedlab::testing::skip_count() <= 1);
}
