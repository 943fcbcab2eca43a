// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/trace/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace schedlab {

/// Which tasks of a trace came before which: what critical paths and attributions ask for. Spans
/// are known by their index in Trace::tasks.
class ReleaseIndex {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  /// Both must outlive this. Cost   O(tasks * log tasks).
  ReleaseIndex(const Trace& trace, const TaskGraph& graph, std::size_t devices);

  /// Indices of all spans by rising start, equal starts by rising index.
  [[nodiscard]] const std::vector<std::uint32_t>& by_start() const { return by_start_; }
  [[nodiscard]] std::size_t stream_count() const { return flows_to_.size(); }
  /// none: the task is not in the trace.
  [[nodiscard]] std::uint32_t span_of(TaskId task) const { return span_of_[task]; }
  /// The span that started before this one in its stream.
  [[nodiscard]] std::uint32_t previous(std::uint32_t span) const { return previous_[span]; }
  /// The span of the device that ended last, no later than `time`.
  [[nodiscard]] std::uint32_t last_on_device(DeviceId device, Time time) const {
    return last_before(by_device_[device.value()], time);
  }
  [[nodiscard]] std::uint32_t last_in_stream(StreamId stream, Time time) const {
    return stream.value() < by_stream_.size() ? last_before(by_stream_[stream.value()], time)
                                              : none;
  }
  /// Resolved waits of a stream by rising release.
  [[nodiscard]] const std::vector<const EventFlow*>& flows_to(StreamId stream) const {
    return flows_to_[stream.value()];
  }

  /// Calls visit(span) for each task that this one had to wait for and that ended in time: its
  /// predecessors in the graph, and the last tasks before the records of events that its stream
  /// waited for since the task before.
  template <class Visitor>
  void for_each_need(std::uint32_t index, Visitor visit) const {
    const TaskSpan& span = trace_.tasks[index];
    const auto offer = [&](std::uint32_t by) {
      if (by == none || by == index || trace_.tasks[by].ended > span.started) return;
      visit(by);
    };
    for (const TaskId need : graph_.predecessors(span.task)) offer(span_of_[need]);
    const auto& flows = flows_to_[span.stream.value()];
    const std::uint32_t before = previous_[index];
    const Time since = before == none ? Time{} : trace_.tasks[before].ended;
    for (auto flow = flows.begin() + released_until(flows, span.started);
         flow != flows.begin() && (*--flow)->released >= since;) {
      offer(last_in_stream((*flow)->from, (*flow)->recorded));
    }
  }

 private:
  [[nodiscard]] std::uint32_t last_before(const std::vector<std::uint32_t>& spans, Time time) const;
  /// How many of the flows were released no later than `time`.
  [[nodiscard]] static std::ptrdiff_t released_until(const std::vector<const EventFlow*>& flows,
                                                     Time time);
  void index_spans(std::size_t devices);
  void index_flows();

  const Trace& trace_;
  const TaskGraph& graph_;
  std::vector<std::uint32_t> by_start_;
  IdVector<TaskId, std::uint32_t> span_of_;
  std::vector<std::uint32_t> previous_;                // span -> span
  std::vector<std::vector<std::uint32_t>> by_device_;  // by rising end, equal ends by index
  std::vector<std::vector<std::uint32_t>> by_stream_;  // likewise
  std::vector<std::vector<const EventFlow*>> flows_to_;
};

}  // namespace schedlab
