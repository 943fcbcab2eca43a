// SPDX-License-Identifier: Apache-2.0
#include "studies/base/progress.hpp"

#include "studies/base/terminal.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

namespace schedlab {
namespace {

/// The line that a screen gets for `done` of `total` after a pause long enough to be shown.
std::string line_of(std::uint64_t total, std::uint64_t done) {
  std::ostringstream out;
  std::ostringstream err;
  const Terminal terminal{.out = out, .err = err, .interactive = true};
  Progress progress{terminal, total, 0, "stages"};
  std::this_thread::sleep_for(std::chrono::milliseconds{210});
  progress.update(done);
  return err.str();
}

}  // namespace

TEST_CASE("progress of an unknown total promises no time, and never more than all") {
  CHECK(line_of(10, 5).find("\r5 of 10 stages, ") == 0);
  CHECK(line_of(10, 5).find(" s left") != std::string::npos);
  CHECK(line_of(0, 5).find("\r5 stages, ") == 0);
  CHECK(line_of(0, 5).find("left") == std::string::npos);
  CHECK(line_of(4, 5).find(", 0 s left") != std::string::npos);
}

}  // namespace schedlab
