// SPDX-License-Identifier: Apache-2.0
#include "sim/base/wall_clock.hpp"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>

namespace schedlab {

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace schedlab
