// SPDX-License-Identifier: Apache-2.0
#include "python/module/interrupt_guard.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace schedlab::python {
namespace {

// A signal handler can reach nothing but globals; only the main thread changes them.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<StopFlag*> current_stop{nullptr};
std::atomic<void (*)(int)> handler_of_python{nullptr};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void on_signal(int signal) {
  if (StopFlag* stop = current_stop.load()) stop->store(true);
  if (auto* handler = handler_of_python.load()) handler(signal);
}

bool on_main_thread() {
  return ::syscall(SYS_gettid) == ::getpid();
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (!on_main_thread() || ::sigaction(SIGINT, nullptr, &before_) != 0) return;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-union-access): sigaction is made of one
  const auto handler = before_.sa_handler;
  if ((before_.sa_flags & SA_SIGINFO) != 0 || handler == SIG_DFL || handler == SIG_IGN) return;
  outer_ = current_stop.exchange(&stop_);
  if (handler == on_signal) return;  // within another call
  handler_of_python.store(handler);
  struct sigaction ours = before_;
  ours.sa_handler = on_signal;
  installed_ = ::sigaction(SIGINT, &ours, nullptr) == 0;
  // NOLINTEND(cppcoreguidelines-pro-type-union-access)
}

InterruptGuard::~InterruptGuard() {
  if (current_stop.load() != &stop_) return;
  if (outer_ != nullptr && stop_.load()) outer_->store(true);
  current_stop.store(outer_);
  if (installed_) static_cast<void>(::sigaction(SIGINT, &before_, nullptr));
}

pybind11::object InterruptGuard::pending() const {
  if (PyErr_CheckSignals() == 0) return pybind11::none();
  return pybind11::error_already_set().value();
}

void InterruptGuard::raise_pending() const {
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

}  // namespace schedlab::python
