// SPDX-License-Identifier: Apache-2.0
#include "profiler/activity.hpp"

#include <algorithm>
#include <tuple>

namespace schedlab {
namespace {

template <class Activity>
void sort_by_time(std::vector<Activity>& activities) {
  std::stable_sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) {
    return std::tie(a.started, a.ended, a.correlation) <
           std::tie(b.started, b.ended, b.correlation);
  });
}

}  // namespace

void ActivityLog::sort() {
  sort_by_time(kernels);
  sort_by_time(copies);
  sort_by_time(memsets);
  sort_by_time(calls);
  sort_by_time(synchronizations);
  sort_by_time(graph_launches);
  sort_by_time(overheads);
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return std::tie(a.sync, a.correlation) < std::tie(b.sync, b.correlation);
  });
  std::stable_sort(correlations.begin(), correlations.end(), [](const auto& a, const auto& b) {
    return a.correlation < b.correlation;
  });
  std::stable_sort(streams.begin(), streams.end(), [](const auto& a, const auto& b) {
    return std::tie(a.context, a.stream) < std::tie(b.context, b.stream);
  });
  std::stable_sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
    return a.device < b.device;
  });
}

}  // namespace schedlab
