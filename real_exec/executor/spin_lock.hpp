// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace schedlab {

/// Tells the core that this thread only waits.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

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
