// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace schedlab {

/// A request to stop that long work looks at between steps; owned by the caller (main sets it on Ctrl-C).
using StopFlag = std::atomic<bool>;

[[nodiscard]] inline bool stop_requested(const StopFlag* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

}  // namespace schedlab
