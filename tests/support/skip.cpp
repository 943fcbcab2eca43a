// SPDX-License-Identifier: Apache-2.0
#include "tests/support/skip.hpp"

#include <iostream>

namespace schedlab::testing {
namespace {

int& counter() {
  static int skipped = 0;
  return skipped;
}

}  // namespace

void skip(std::string_view reason) {
  ++counter();
  std::cout << "skipped: " << reason << '\n';
}

int skip_count() {
  return counter();
}

}  // namespace schedlab::testing
