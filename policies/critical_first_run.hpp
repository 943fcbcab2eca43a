// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/critical_first.hpp"
#include "policies/critical_lanes.hpp"
#include "sim/plan/accumulations.hpp"
#include "sim/plan/polling_policy.hpp"
#include "sim/plan/stream_order.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// One run of critical_first: a search that issues critical tasks, and between or after its levels
/// rounds of stream queries that hand out the queue of other tasks.
class CriticalFirstRun final : public PollingPolicy {
 public:
  CriticalFirstRun(const Problem& problem, const CriticalFirstOptions& options);
  [[nodiscard]] std::optional<OnlineStep> next(const HostView& view) override;
  [[nodiscard]] std::span<const HostCall> decided(const HostView& view) override;
  void made(std::size_t count) override;
  [[nodiscard]] std::span<const HostCall> polls(const HostView& view) override;
  void polled(std::size_t count) override;

 private:
  enum class State : std::uint8_t { issuing, filling, draining, done };
  /// The two streams of a layer; the same one twice if the cap left only one.
  struct Lanes {
    StreamId first;
    StreamId second;
  };

  // What to do next.
  [[nodiscard]] bool asks_next() const;
  void advance();
  void issue_next_critical();
  void end_level();
  void ask_or_sleep();
  [[nodiscard]] std::uint64_t allowed_queries() const;
  [[nodiscard]] std::size_t queries_left_in_round() const;
  [[nodiscard]] HostCall sleep_call() const;
  void take_answer(const HostView& view);
  void fill(StreamId stream);
  void enqueue(TaskId task);
  [[nodiscard]] std::size_t choose(StreamId stream, bool may_block) const;
  [[nodiscard]] bool must_wait(TaskId task, StreamId stream) const;

  // Streams.
  [[nodiscard]] bool is_primary(StreamId stream) const { return stream != secondary_; }
  [[nodiscard]] const Lanes& lanes_of(std::uint32_t layer);
  void open_secondary();
  [[nodiscard]] StreamId open(std::string name, int priority);

  // Host calls of one task, with the events it needs.
  void issue(TaskId task, StreamId stream);
  void record_before_critical(StreamId stream);
  void wait_for_needs(TaskId task, StreamId stream);
  [[nodiscard]] EventId event_after(TaskId task);
  void record(StreamId stream);
  [[nodiscard]] bool needs_event(TaskId critical_task, StreamId stream) const;
  [[nodiscard]] bool has_open_followers(TaskId task) const;
  template <class Visitor>
  void for_each_need(TaskId task, Visitor visit) const;

  const TaskGraph& graph_;
  CriticalFirstOptions options_;
  CriticalLanes lanes_;
  Accumulations accumulations_;
  StreamOrder order_;

  State state_ = State::issuing;
  std::vector<HostCall> calls_;  // decided
  std::size_t next_call_ = 0;    // of these, the first that has not been handed out
  StreamId asked_;               // the query that was handed out last
  std::uint32_t asked_in_round_ = 0;
  std::size_t cursor_ = 0;  // next stream to query
  Time now_{};
  Time busy_since_{};  // when a query found an idle stream last
  std::uint64_t queries_ = 0;
  std::vector<HostCall> polls_;              // walks as in the drain, each with a sleep at its end
  std::span<const HostCall> offered_polls_;  // by polls()

  std::vector<TaskId> level_;  // of the search
  std::size_t next_in_level_ = 0;
  std::vector<TaskId> next_level_;
  std::deque<TaskId> queue_;         // other tasks, all predecessors issued
  IdVector<TaskId, Duration> rank_;  // of queue_order by_rank, else empty

  std::vector<Lanes> layer_lanes_;  // by layer; first is none(): not reached
  std::vector<StreamId> primaries_;
  std::vector<StreamId> walk_;  // streams that queries look at
  std::size_t walk_of_ = 0;     // how many streams there were then
  std::uint32_t layers_reached_ = 0;
  StreamId secondary_;

  IdVector<TaskId, std::uint32_t> missing_;   // predecessors not yet issued
  IdVector<TaskId, std::uint32_t> sequence_;  // order of issue
  std::uint32_t issued_ = 0;
  IdVector<TensorId, TaskId> last_writer_;  // of shared accumulate tensors
  IdVector<TensorId, std::uint32_t> writers_left_;
  IdVector<StreamId, TaskId> tail_;                    // last task of each stream
  IdVector<StreamId, std::vector<TaskId>> uncovered_;  // launched since the stream's last event
  IdVector<TaskId, EventId> event_of_;                 // the first that covers the task
  IdVector<EventId, StreamOrder::Snapshot> snapshot_;
  IdVector<StreamId, StreamSpec> opened_;
  std::vector<std::uint32_t> complete_;  // per stream: tasks known to have completed, from queries
  std::vector<TaskId> needs_;            // scratch
};

}  // namespace schedlab
