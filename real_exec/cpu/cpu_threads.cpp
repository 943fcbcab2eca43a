// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/cpu_threads.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstring>

namespace schedlab::detail {
namespace {

bool bind_to(const std::vector<std::uint32_t>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::uint32_t core : cores) CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

}  // namespace

std::vector<std::uint32_t> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::uint32_t> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (std::uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void bind_to_core(std::uint32_t core) {
  if (!bind_to({core})) {
    throw DeviceError(fmt::format("the system does not let a thread be bound to core {}", core));
  }
}

BoundToCore::BoundToCore(std::int64_t core) {
  if (core < 0) return;
  before_ = usable_cores();
  bind_to_core(static_cast<std::uint32_t>(core));
}

BoundToCore::~BoundToCore() {
  if (!before_.empty()) (void)bind_to(before_);
}

void sleep_exactly() {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): Linux
  (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace schedlab::detail
