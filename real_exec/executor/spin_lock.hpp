// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace schedlab {

/// A lock for sections of well under a microsecond. Gives way after a few looks: its holder may
/// share the core.
class SpinLock {
 public:
  void lock() {
    constexpr int looks = 64;
    while (locked_.exchange(true, std::memory_order_acquire)) {
      int look = 0;
      while (locked_.load(std::memory_order_relaxed)) {
        if (++look == looks) {
          std::this_thread::yield();
          look = 0;
        }
      }
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace schedlab
