// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"
#include "studies/base/leftovers.hpp"

#include <atomic>
#include <functional>
#include <thread>

namespace schedlab {

/// Ctrl-C, SIGTERM, SIGHUP and SIGUSR1. The first sets `stop`, at which long work ends and keeps
/// what it has, and `from` to its number; the second ends the process.
void catch_interrupts(StopFlag& stop, std::atomic<int>& from);

/// While it lives, the first interrupt ends the process too, soon: of a verb that has nothing to
/// keep, whatever it is doing. What is unfinished is removed before.
class InterruptWatch {
 public:
  /// `end` ends the process; called on a thread of its own.
  InterruptWatch(Leftovers& leftovers, std::function<void()> end);
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();

 private:
  std::thread thread_;
};

}  // namespace schedlab
