// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/recording_backend.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace schedlab::testing {

/// Which tasks the calls that a backend got order, by what CUDA says streams, events, host waits
/// and graphs mean. Queries order nothing. Shares no code with the plan checker.
class RecordedOrder {
 public:
  RecordedOrder(const RecordingBackend& backend, std::size_t tasks)
      : backend_(backend), tasks_(tasks), before_(tasks, Set(tasks)), host_(tasks) {
    for (const HostCall call : backend.calls()) take(call);
  }

  /// Has `first` ended whenever `second` starts?
  [[nodiscard]] bool before(TaskId first, TaskId second) const {
    return before_[second.value()][first.value()];
  }

 private:
  using Set = std::vector<bool>;

  static void add(Set& to, const Set& more) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] || more[i];
  }
  Set& stream(StreamId id) { return streams_.try_emplace(id.value(), tasks_).first->second; }
  /// All that an operation follows which enters the stream now.
  Set entry(StreamId id) {
    Set set = stream(id);
    add(set, host_);
    return set;
  }

  void take(HostCall call) {
    switch (call.kind()) {
      case HostCallKind::create_stream:
        streams_.erase(call.stream().value());
        break;
      case HostCallKind::launch:
        before_[call.task().value()] = entry(call.stream());
        stream(call.stream()) = before_[call.task().value()];
        stream(call.stream())[call.task().value()] = true;
        break;
      case HostCallKind::record:
        events_[call.event().value()] = entry(call.stream());
        break;
      case HostCallKind::wait:
        if (const auto found = events_.find(call.event().value()); found != events_.end()) {
          add(stream(call.stream()), found->second);
        }
        break;
      case HostCallKind::synchronize:
        wait(call);
        break;
      case HostCallKind::graph_launch:
        launch_graph(call);
        break;
      default:
        break;
    }
  }

  void wait(HostCall call) {
    if (call.stream().valid()) {
      add(host_, stream(call.stream()));
    } else if (call.argument() != HostCall::none) {
      if (events_.contains(call.argument())) add(host_, events_.at(call.argument()));
    } else {
      for (const auto& [id, set] : streams_) add(host_, set);
    }
  }

  void launch_graph(HostCall call) {
    const std::uint32_t row = rows_[call.graph()]++;
    Set start = entry(call.stream());
    const auto earlier = graphs_.find(call.graph());
    if (earlier != graphs_.end()) add(start, earlier->second);
    Set end = start;
    for (const RecordingBackend::Row& made : backend_.rows()) {
      if (made.graph != call.graph() || made.row != row) continue;
      for (std::size_t node = 0; node < made.tasks.size(); ++node) {
        Set set = start;
        for (const std::uint32_t need : made.needs[node]) {
          add(set, before_[made.tasks[need].value()]);
          set[made.tasks[need].value()] = true;
        }
        before_[made.tasks[node].value()] = set;
        add(end, set);
        end[made.tasks[node].value()] = true;
      }
    }
    stream(call.stream()) = end;
    graphs_[call.graph()] = end;
  }

  const RecordingBackend& backend_;
  std::size_t tasks_;
  std::vector<Set> before_;
  Set host_;
  std::map<std::uint32_t, Set> streams_, events_, graphs_;
  std::map<std::uint32_t, std::uint32_t> rows_;
};

}  // namespace schedlab::testing
