// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: one pass over all calls before anything is followed.
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/check/plan_check_report.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace schedlab::checker {

inline constexpr std::uint32_t never = 0xFFFFFFFFU;

/// The calls of one host on one stream. A stream that only one host uses, the usual case, is one
/// lane; calls of different hosts in one stream are in order only as far as messages order the
/// hosts.
struct Lane {
  StreamId stream;
  HostId host;
};

/// A call by its place in the plan.
struct CallSite {
  HostId host;
  std::uint32_t call = 0;
};

/// What exists, who launches what where. Reports everything that is malformed; such calls are then
/// skipped, so that the rest of the checker may index without testing.
class PlanIndex {
 public:
  PlanIndex(const TaskGraph& graph,
            const Platform& platform,
            const Plan& plan,
            FindingList& findings);

  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const Platform& platform() const { return platform_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  /// Calls of all hosts are numbered through, host after host.
  [[nodiscard]] std::uint32_t number(HostId host, std::size_t call) const {
    return first_call_[host.value()] + static_cast<std::uint32_t>(call);
  }
  [[nodiscard]] CallSite site(std::uint32_t number) const;
  [[nodiscard]] bool skip(HostId host, std::size_t call) const {
    return !malformed_.empty() && malformed_[number(host, call)];
  }

  /// Number of the call that launches the task, alone or in a graph, or `never`.
  [[nodiscard]] std::uint32_t launch_of(TaskId task) const { return launch_[task]; }
  /// The stream that the launched task carries; within a graph not that of the call.
  [[nodiscard]] StreamId stream_of(TaskId task) const;
  [[nodiscard]] bool loaded_by_plan(std::uint32_t graph) const {
    return graphs_[graph].load != never;
  }
  /// Waits and synchronizes that name the event, in all hosts.
  [[nodiscard]] std::uint32_t uses(EventId event) const { return uses_[event]; }
  /// Number of the first call (in host order) that records the event, or `never`.
  [[nodiscard]] std::uint32_t first_record(EventId event) const { return first_record_[event]; }
  [[nodiscard]] bool created_by_plan(StreamId stream) const { return created_[stream] != 0; }

  [[nodiscard]] std::size_t lane_count() const { return lanes_.size(); }
  [[nodiscard]] const Lane& lane(std::uint32_t lane) const { return lanes_[lane]; }
  /// The lanes of a stream are neighbours: first..last-1.
  [[nodiscard]] std::uint32_t first_lane(StreamId stream) const {
    return first_lane_[stream.value()];
  }
  [[nodiscard]] std::uint32_t last_lane(StreamId stream) const {
    return first_lane_[stream.value() + 1];
  }
  /// Streams whose operations are in order with those of `stream` as if they were in one stream:
  /// the blocking streams of a legacy default stream's device, that of a blocking stream.
  [[nodiscard]] std::span<const StreamId> in_order_with(StreamId stream) const {
    if (legacy_.empty()) return {};
    return in_order_with_[stream];
  }
  [[nodiscard]] bool is_legacy(StreamId stream) const {
    return plan_.streams[stream].sync == StreamSync::legacy_default;
  }
  [[nodiscard]] std::uint32_t lane_of(HostId host, StreamId stream) const {
    std::uint32_t lane = first_lane(stream);
    while (lanes_[lane].host != host) ++lane;
    return lane;
  }

 private:
  void check_specs(FindingList& findings);
  void check_default_streams(FindingList& findings);
  // plan_check_graph_index.cpp
  void check_partitions(FindingList& findings);
  void check_programmatic(FindingList& findings);
  [[nodiscard]] std::string wrong_kernels(TaskId before, TaskId after, StreamId stream) const;
  void check_call(HostId host, std::size_t call, FindingList& findings);
  [[nodiscard]] std::string what_is_wrong(HostId host, HostCall call) const;
  [[nodiscard]] std::string wrong_message(HostId host, HostCall call) const;
  [[nodiscard]] std::string wrong_message_wait(HostId host, HostCall call) const;
  void note(HostId host, std::size_t call, FindingList& findings);
  // plan_check_graph_index.cpp
  void check_graphs(FindingList& findings);
  [[nodiscard]] std::string wrong_graph(HostId host, HostCall call) const;
  void note_graph_launch(HostId host, std::size_t call, FindingList& findings);
  void note_launch(HostId host, std::size_t call, TaskId task, FindingList& findings);
  void mark_malformed(std::uint32_t number);
  void make_lanes();

  struct GraphUse {
    bool malformed = false;               // it names what does not exist; its calls are skipped
    std::uint32_t load = never;           // number of its graph_load
    std::vector<std::uint32_t> launches;  // numbers of its graph_launches, by row
  };

  const TaskGraph& graph_;
  const Platform& platform_;
  const Plan& plan_;
  std::vector<std::uint32_t> first_call_;
  std::vector<bool> malformed_;  // by call number; empty: none
  IdVector<TaskId, std::uint32_t> launch_;
  IdVector<EventId, std::uint32_t> uses_;
  IdVector<EventId, std::uint32_t> first_record_;
  IdVector<StreamId, std::uint8_t> created_;
  std::vector<std::uint32_t> sent_by_;      // per message: number of its send, or never
  std::vector<std::uint32_t> received_by_;  // per message: number of its receive, or never
  std::vector<GraphUse> graphs_;
  IdVector<TaskId, StreamId> node_stream_;  // of nodes of graphs; empty: no graph is launched
  std::vector<StreamId> legacy_;            // the legacy default streams, at most one of a device
  IdVector<StreamId, std::vector<StreamId>> in_order_with_;  // empty where legacy_ is
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> first_lane_;
};

}  // namespace schedlab::checker
