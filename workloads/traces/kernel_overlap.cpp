// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/kernel_overlap.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr double most_alone = 0.05;
constexpr double least_beside = 0.95;

using KernelKey = std::tuple<TextId, std::array<std::uint32_t, 3>, std::array<std::uint32_t, 3>>;

KernelKey key_of(const DeviceRow& row) {
  return {row.name, row.grid, row.block};
}

/// For how long two or more streams of a device were at work, up to any time.
class SharedTime {
 public:
  void add(std::int64_t stream, Time started, Time ended) {
    changes_.push_back({started, stream, 1});
    changes_.push_back({ended, stream, -1});
  }

  void finish() {
    std::sort(changes_.begin(), changes_.end());
    std::map<std::int64_t, int> at_work;
    std::size_t streams = 0;
    Duration sum{0};
    Time last{};
    for (const auto& [when, stream, change] : changes_) {
      if (streams >= 2) sum += when - last;
      last = when;
      int& rows = at_work[stream];
      streams -= rows > 0 ? 1U : 0U;
      rows += change;
      streams += rows > 0 ? 1U : 0U;
      if (times_.empty() || times_.back() != when) {
        times_.push_back(when);
        sums_.push_back(sum);
      } else {
        sums_.back() = sum;
      }
    }
  }

  /// Up to the begin or end of a row.
  [[nodiscard]] Duration until(Time when) const {
    const auto found = std::lower_bound(times_.begin(), times_.end(), when);
    return sums_[static_cast<std::size_t>(found - times_.begin())];
  }

 private:
  std::vector<std::tuple<Time, std::int64_t, int>> changes_;  // ends before begins at one time
  std::vector<Time> times_;
  std::vector<Duration> sums_;
};

std::map<KernelKey, KernelOverlap> overlaps_by_kernel(const ImportedTrace& trace,
                                                      const std::vector<double>& beside) {
  std::map<KernelKey, KernelOverlap> all;
  for (std::size_t i = 0; i < trace.device_rows.size(); ++i) {
    const DeviceRow& row = trace.device_rows[i];
    if (row.kind != DeviceActivityKind::kernel) continue;
    KernelOverlap& kernel = all[key_of(row)];
    kernel.name = row.name;
    kernel.grid = row.grid;
    kernel.block = row.block;
    const Duration duration = row.ended - row.started;
    if (beside[i] <= most_alone) kernel.alone.push_back(duration);
    if (beside[i] >= least_beside) kernel.beside.push_back(duration);
  }
  for (auto& [key, kernel] : all) {
    std::sort(kernel.alone.begin(), kernel.alone.end());
    std::sort(kernel.beside.begin(), kernel.beside.end());
  }
  return all;
}

}  // namespace

Duration KernelOverlap::median(const std::vector<Duration>& sorted) {
  return sorted.empty() ? Duration{0} : sorted[sorted.size() / 2];
}

Duration KernelOverlap::known_alone() const {
  constexpr double spread = 1.1;
  if (alone.size() < 2 || to_us(alone.back()) > spread * to_us(alone.front())) return Duration{0};
  const bool faster_beside =
      !beside.empty() && spread * to_us(beside.front()) < to_us(alone.front());
  return faster_beside ? Duration{0} : median(alone);
}

std::vector<double> shares_beside(const ImportedTrace& trace) {
  std::map<std::int32_t, SharedTime> devices;
  for (const DeviceRow& row : trace.device_rows) {
    devices[row.device].add(row.stream, row.started, row.ended);
  }
  for (auto& [device, time] : devices) time.finish();
  std::vector<double> shares;
  shares.reserve(trace.device_rows.size());
  for (const DeviceRow& row : trace.device_rows) {
    const SharedTime& time = devices.at(row.device);
    const Duration length = row.ended - row.started;
    shares.push_back(length <= Duration{0}
                         ? 0.0
                         : to_us(time.until(row.ended) - time.until(row.started)) / to_us(length));
  }
  return shares;
}

std::vector<KernelOverlap> kernel_overlaps(const ImportedTrace& trace) {
  std::vector<KernelOverlap> result;
  for (auto& [key, kernel] : overlaps_by_kernel(trace, shares_beside(trace))) {
    if (!kernel.alone.empty() && !kernel.beside.empty()) result.push_back(std::move(kernel));
  }
  const auto time_beside = [](const KernelOverlap& kernel) {
    Duration sum{0};
    for (const Duration each : kernel.beside) sum += each;
    return sum;
  };
  std::stable_sort(result.begin(), result.end(), [&](const auto& a, const auto& b) {
    return time_beside(a) > time_beside(b);
  });
  return result;
}

std::vector<Duration> durations_alone(const ImportedTrace& trace) {
  const std::vector<double> beside = shares_beside(trace);
  const auto all = overlaps_by_kernel(trace, beside);
  std::vector<Duration> result;
  result.reserve(trace.device_rows.size());
  for (std::size_t i = 0; i < trace.device_rows.size(); ++i) {
    const DeviceRow& row = trace.device_rows[i];
    const auto found = beside[i] > most_alone ? all.find(key_of(row)) : all.end();
    const Duration alone = found == all.end() ? Duration{0} : found->second.known_alone();
    result.push_back(alone > Duration{0} ? alone : row.ended - row.started);
  }
  return result;
}

}  // namespace schedlab
