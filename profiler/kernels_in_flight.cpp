// SPDX-License-Identifier: Apache-2.0
#include "profiler/kernels_in_flight.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace schedlab {

KernelsInFlight kernels_in_flight(const ActivityLog& log, Time from, Time to) {
  KernelsInFlight found;
  std::set<std::pair<std::uint32_t, std::uint32_t>> streams;  // context, stream
  std::vector<std::pair<ActivityTime, int>> changes;
  for (const KernelActivity& kernel : log.kernels) {
    const Time started = log.clock.to_host(kernel.started);
    if (started < from || started >= to) continue;
    ++found.kernels;
    streams.emplace(kernel.place.context, kernel.place.stream);
    changes.emplace_back(kernel.started, 1);
    changes.emplace_back(kernel.ended, -1);
  }
  found.streams = streams.size();
  std::sort(changes.begin(), changes.end());  // at one moment ends go before starts
  std::int64_t running = 0;
  std::int64_t most = 0;
  std::chrono::nanoseconds busy{0};
  std::chrono::nanoseconds all{0};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i > 0 && running > 0) {
      const auto length = changes[i].first - changes[i - 1].first;
      busy += length;
      all += length * running;
    }
    running += changes[i].second;
    most = std::max(most, running);
  }
  found.max = static_cast<std::size_t>(most);
  found.busy = busy;
  if (busy.count() > 0) {
    found.mean = static_cast<double>(all.count()) / static_cast<double>(busy.count());
  }
  return found;
}

}  // namespace schedlab
