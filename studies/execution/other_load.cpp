// SPDX-License-Identifier: Apache-2.0
#include "studies/execution/other_load.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

OtherLoad::OtherLoad() : begin_(read()) {}

std::optional<OtherLoad::Reading> OtherLoad::read() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::ifstream file("/proc/stat");
  if (!file || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  Reading reading;
  const double tick = 1.0 / static_cast<double>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  for (std::string line; std::getline(file, line);) {
    // "cpu3 user nice system idle iowait irq softirq steal ..."; the line "cpu " is their sum.
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
    std::istringstream fields(line.substr(3));
    std::size_t cpu = 0;
    std::array<double, 8> ticks{};
    fields >> cpu;
    for (double& field : ticks) fields >> field;
    if (!fields || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed)) continue;
    constexpr std::size_t idle = 3;
    constexpr std::size_t waiting = 4;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      if (i != idle && i != waiting) reading.busy_s += tick * ticks.at(i);
    }
    ++reading.cores;
  }
  if (reading.cores == 0) return std::nullopt;
  reading.own_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  reading.wall_s = seconds_of(CLOCK_MONOTONIC);
  return reading;
}

std::optional<double> OtherLoad::share() const {
  constexpr double min_s = 0.1;  // ten steps of the counters
  const std::optional<Reading> now = read();
  if (!begin_ || !now || now->wall_s - begin_->wall_s < min_s) return std::nullopt;
  const double others = (now->busy_s - begin_->busy_s) - (now->own_s - begin_->own_s);
  return std::clamp(others / (now->cores * (now->wall_s - begin_->wall_s)), 0.0, 1.0);
}

}  // namespace schedlab
