// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace schedlab::bench {

/// Seconds of processor time of this process. Not of the wall: other programs may run beside.
[[nodiscard]] inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace schedlab::bench
