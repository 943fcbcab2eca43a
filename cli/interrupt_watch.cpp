// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt_watch.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

/// Long enough for work that looks at the stop flag to end by itself and say what it has kept.
constexpr int grace_ms = 500;

constexpr char interrupted = 'i';
constexpr char ended = 'e';

// A signal handler can reach nothing but globals.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
StopFlag* stop_flag = nullptr;
std::atomic<int>* stop_signal = nullptr;
std::array<int, 2> wires{-1, -1};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(StopFlag::is_always_lock_free);

void tell(char what) {
  const int error = errno;
  while (::write(wires[1], &what, 1) < 0 && errno == EINTR) {
  }
  errno = error;
}

extern "C" void on_interrupt(int signal) {
  stop_signal->store(signal);
  stop_flag->store(true);
  std::signal(signal, SIG_DFL);  // the second one ends the process
  tell(interrupted);
}

/// The next byte; `ended` after `timeout_ms` (-1: never).
char heard(int timeout_ms, char otherwise) {
  pollfd waiting{.fd = wires[0], .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  char what = otherwise;
  return ready > 0 && ::read(wires[0], &what, 1) == 1 ? what : otherwise;
}

void watch(Leftovers& leftovers, const std::function<void()>& end) {
  if (heard(-1, ended) == ended || heard(grace_ms, interrupted) == ended) return;
  leftovers.remove_for_good();
  constexpr std::string_view message = "error: interrupted; nothing was kept\n";
  static_cast<void>(::write(STDERR_FILENO, message.data(), message.size()) < 0);
  end();
}

}  // namespace

void catch_interrupts(StopFlag& stop, std::atomic<int>& from) {
  stop_flag = &stop;
  stop_signal = &from;
  SCHEDLAB_EXPECTS(::pipe2(wires.data(), O_CLOEXEC) == 0, "no pipe for signals");
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGUSR1, on_interrupt);  // of schedulers, some time before they end a job
  if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
}

InterruptWatch::InterruptWatch(Leftovers& leftovers, std::function<void()> end)
    : thread_([&leftovers, end = std::move(end)] { watch(leftovers, end); }) {}

InterruptWatch::~InterruptWatch() {
  tell(ended);
  thread_.join();
}

}  // namespace schedlab
