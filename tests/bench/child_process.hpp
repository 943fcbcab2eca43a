// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <type_traits>

namespace schedlab::bench {

/// Runs `work` in a forked process and returns what it returned: for libraries with process-wide
/// state and for measuring memory from a clean start. The calling process must have one thread.
/// Throws std::runtime_error if the child fails; it says why on its standard error.
template <class Work>
auto in_child(Work work) {
  using Result = decltype(work());
  static_assert(std::is_trivially_copyable_v<Result>);
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe() failed");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork() failed");
  if (child == 0) {
    int status = 1;
    try {
      const Result result = work();
      if (write(ends[1], &result, sizeof result) == sizeof result) status = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child process: %s\n", error.what());
    }
    _exit(status);  // no destructors: the parent's objects are not ours to end
  }
  close(ends[1]);
  Result result{};
  const bool complete = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!complete || status != 0) throw std::runtime_error("a child process failed");
  return result;
}

}  // namespace schedlab::bench
