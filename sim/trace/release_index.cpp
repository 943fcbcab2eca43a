// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/release_index.hpp"

#include <algorithm>
#include <numeric>

namespace schedlab {

ReleaseIndex::ReleaseIndex(const Trace& trace, const TaskGraph& graph, std::size_t devices)
    : trace_(trace), graph_(graph), by_start_(trace.tasks.size()) {
  std::iota(by_start_.begin(), by_start_.end(), 0U);
  std::stable_sort(by_start_.begin(), by_start_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.tasks[a].started < trace.tasks[b].started;
  });
  index_spans(devices);
  index_flows();
}

void ReleaseIndex::index_spans(std::size_t devices) {
  std::size_t streams = 0;
  for (const TaskSpan& span : trace_.tasks) {
    streams = std::max<std::size_t>(streams, span.stream.value() + 1);
  }
  for (const EventFlow& flow : trace_.flows) {
    streams = std::max<std::size_t>({streams, flow.from.value() + 1, flow.to.value() + 1});
  }
  span_of_.assign(graph_.task_count(), none);
  previous_.assign(trace_.tasks.size(), none);
  by_device_.resize(devices);
  by_stream_.resize(streams);
  flows_to_.resize(streams);

  std::vector<std::uint32_t> last(streams, none);
  for (const std::uint32_t i : by_start_) {
    const TaskSpan& span = trace_.tasks[i];
    previous_[i] = last[span.stream.value()];
    last[span.stream.value()] = i;
    span_of_[span.task] = i;
    by_device_[span.device.value()].push_back(i);
    by_stream_[span.stream.value()].push_back(i);
  }
  const auto sort_by_end = [this](std::vector<std::uint32_t>& spans) {
    std::sort(spans.begin(), spans.end(), [this](std::uint32_t a, std::uint32_t b) {
      const Time first = trace_.tasks[a].ended;
      const Time second = trace_.tasks[b].ended;
      return first != second ? first < second : a < b;
    });
  };
  for (auto& spans : by_device_) sort_by_end(spans);
  for (auto& spans : by_stream_) sort_by_end(spans);
}

void ReleaseIndex::index_flows() {
  for (const EventFlow& flow : trace_.flows) flows_to_[flow.to.value()].push_back(&flow);
  for (auto& flows : flows_to_) {
    std::stable_sort(flows.begin(), flows.end(), [](const EventFlow* a, const EventFlow* b) {
      return a->released < b->released;
    });
  }
}

std::uint32_t ReleaseIndex::last_before(const std::vector<std::uint32_t>& spans, Time time) const {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), time, [this](Time t, std::uint32_t i) {
        return t < trace_.tasks[i].ended;
      });
  return after == spans.begin() ? none : *(after - 1);
}

std::ptrdiff_t ReleaseIndex::released_until(const std::vector<const EventFlow*>& flows, Time time) {
  return std::upper_bound(
             flows.begin(),
             flows.end(),
             time,
             [](Time t, const EventFlow* candidate) { return t < candidate->released; }) -
         flows.begin();
}

}  // namespace schedlab
