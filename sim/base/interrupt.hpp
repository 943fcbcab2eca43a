// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <stdexcept>

namespace schedlab {

/// A request to stop that long work looks at between steps; owned by the caller (main sets it on
/// Ctrl-C).
using StopFlag = std::atomic<bool>;

/// Thrown by long work that was asked to stop; what it had finished before is kept by the caller.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] inline bool stop_requested(const StopFlag* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

}  // namespace schedlab
