// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/interrupt.hpp"

#include <pybind11/pybind11.h>

#include <csignal>

namespace schedlab::python {

/// While it lives on the main thread, Ctrl-C sets stop(), at which long work ends; Python's own
/// handler hears of it, too. On other threads, which Python gives no signals, it does nothing.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  [[nodiscard]] const StopFlag* stop() const { return &stop_; }
  /// Needs the interpreter's lock. What the signal's handler raises, if it was called; None.
  [[nodiscard]] pybind11::object pending() const;
  /// Needs the interpreter's lock. Throws what the signal's handler raises, if it was called.
  void raise_pending() const;

 private:
  StopFlag stop_{false};
  StopFlag* outer_ = nullptr;  // of the call that this one is made within
  bool installed_ = false;
  struct sigaction before_ {};
};

/// `work(stop)` without the interpreter's lock.
template <class Work>
auto without_lock(const Work& work) {
  InterruptGuard guard;
  try {
    const pybind11::gil_scoped_release released;
    return work(guard.stop());
  } catch (const Interrupted&) {
    guard.raise_pending();
    throw;
  }
}

}  // namespace schedlab::python
