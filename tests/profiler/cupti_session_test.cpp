// SPDX-License-Identifier: Apache-2.0
#include "profiler/cupti_session.hpp"

#include "sim/base/error.hpp"
#include "tests/support/skip.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;

TEST_CASE("where the profiler is not available, a session says so with the same reason") {
  const ProfilerStatus status = profiler_available();
  if (status.available) {
    schedlab::testing::skip("there is a driver here");
    return;
  }
  CHECK_FALSE(status.reason.empty());
  const CpuClock clock;
  for (int attempt = 0; attempt < 2; ++attempt) {  // a session that was not made is not counted
    try {
      const CuptiSession session{{}, clock};
      FAIL("a session was made without a driver");
    } catch (const DeviceError& error) {
      CHECK(std::string{error.what()}.find(status.reason) != std::string::npos);
    }
  }
}
