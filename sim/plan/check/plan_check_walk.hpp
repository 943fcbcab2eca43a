// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: follows the host programs call by call.
#pragma once

#include "sim/plan/check/plan_check_clocks.hpp"
#include "sim/plan/check/plan_check_index.hpp"
#include "sim/plan/check/plan_check_report.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::checker {

/// Runs every host program as far as its messages allow and tests each call against what is known
/// to be before it. The order in which hosts are followed does not matter for what is reported as
/// unordered: only messages order two hosts.
class Walk {
 public:
  /// `exact`: as Clocks.
  Walk(const PlanIndex& index, FindingList& findings, bool exact);

  void run();
  /// The tasks reached, in an order in which the calls may be made.
  [[nodiscard]] const std::vector<TaskId>& launch_order() const { return launch_order_; }
  /// Did anything look unordered that an exact walk might find ordered?
  [[nodiscard]] bool inconclusive() const { return unordered_ && clocks_.dropped(); }

 private:
  struct EventState {
    Clocks::Slot slot = never;  // what the last record captured; never: it will not be asked for
    HostId host;                // of the last record; none: not recorded yet
    std::uint32_t call = 0;
    std::uint32_t uses_left = 0;
  };
  struct StreamState {
    bool alive = true;
    HostId host;  // who created or destroyed it last; none: it has always been there
    std::uint32_t call = 0;
  };
  struct GraphUse {
    HostId load_host;  // none: not loaded by a call so far
    std::uint32_t load_call = 0;
    std::uint32_t launches = 0;
    Clocks::Slot completed = never;  // what the completion of its last launch stands for
  };
  /// Where a task stands that a graph has launched.
  struct Node {
    std::uint32_t call = never;  // number of the graph_launch
    std::uint32_t node = 0;
  };
  /// A wait in a plan with several hosts, kept to find records that race with it.
  struct Use {
    HostId host;
    std::uint32_t call = 0;
  };

  /// A message on its way; what each end knew when it posted its part is what the other learns.
  struct MessageState {
    bool send_posted = false;
    bool receive_posted = false;
    Clocks::Slot from_sender = never;
    Clocks::Slot from_receiver = never;
    HostId waiting_sender;
    HostId waiting_receiver;
  };

  [[nodiscard]] const Plan& plan() const { return index_.plan(); }
  /// Follows one host until it blocks or ends.
  void follow(HostId host);
  /// False if the host must wait for the other end of a message.
  bool step(HostId host, std::uint32_t call);
  void launch(HostId host, std::uint32_t call, HostCall c);
  void launch_graph(HostId host, std::uint32_t call, HostCall c);
  void load_graph(HostId host, std::uint32_t call, HostCall c);
  void expect_loaded(HostId host, std::uint32_t call, HostCall c);
  /// `ordered(before)`: is this task complete before `task` starts?
  template <class Ordered>
  void check_predecessors(HostId host, std::uint32_t call, TaskId task, const Ordered& ordered);
  template <class Ordered>
  void check_accumulations(HostId host, std::uint32_t call, TaskId task, const Ordered& ordered);
  void report_missing_order(HostId host, std::uint32_t call, TaskId task, TaskId before);
  void report_unordered(HostId host, std::uint32_t call, TaskId task, TaskId last, TensorId tensor);
  void record(HostId host, std::uint32_t call, HostCall c);
  void check_record_race(HostId host, std::uint32_t call, EventId event);
  void wait(HostId host, std::uint32_t call, HostCall c);
  void synchronize(HostId host, std::uint32_t call, HostCall c);
  /// The slot of the record that this call refers to; `never` and a finding if there is none.
  Clocks::Slot use_event(HostId host, std::uint32_t call, HostCall c);
  void report_unrecorded(HostId host, std::uint32_t call, HostCall c);
  /// To be called after the slot was used: frees it if it was the last use.
  void end_use(EventId id);
  void create_stream(HostId host, std::uint32_t call, StreamId stream);
  void check_created_again(HostId host, std::uint32_t call, StreamId stream);
  void destroy_stream(HostId host, std::uint32_t call, StreamId stream);
  void expect_alive(HostId host, std::uint32_t call, HostCall c) {
    const StreamState& state = streams_[c.stream()];
    // What this host has done to the stream is done.
    const bool ordered = !state.host.valid() || state.host == host;
    if (!state.alive || !ordered) report_not_alive(host, call, c);
  }
  void report_not_alive(HostId host, std::uint32_t call, HostCall c);
  /// False if the host must wait for the other end.
  bool message(HostId host, HostCall c);
  void post(HostId host, std::uint32_t message, bool sends);
  [[nodiscard]] bool is_eager(const MessageSpec& spec) const {
    return spec.leaves_at_once(index_.platform().network.eager_threshold);
  }
  void report_unmatched();
  void report_deadlocks();
  [[nodiscard]] std::string blocked_text(HostId host) const;
  [[nodiscard]] HostId other_end(HostId host) const;
  void collect_accumulations();

  const PlanIndex& index_;
  FindingList& findings_;
  Clocks clocks_;
  std::vector<TaskId> launch_order_;
  IdVector<TaskId, std::uint32_t> number_;  // within its lane; 0: not launched yet
  IdVector<TaskId, std::uint32_t> lane_;
  std::vector<std::uint32_t> last_launch_;  // by lane: the number of its last launch so far
  IdVector<EventId, EventState> events_;
  std::vector<std::vector<Use>> event_uses_;  // by event; empty unless there are several hosts
  IdVector<StreamId, StreamState> streams_;
  std::vector<GraphUse> graphs_;
  IdVector<TaskId, Node> node_of_;  // empty until a graph is launched
  IdVector<HostId, std::uint32_t> next_call_;
  std::vector<MessageState> messages_;
  bool unordered_ = false;
  std::vector<HostId> ready_;  // hosts that may be followed
  // Accumulated tensors by writer, compressed rows, and the last writer of each.
  std::vector<std::uint32_t> accumulated_offset_;
  std::vector<TensorId> accumulated_;
  IdVector<TensorId, TaskId> last_writer_;
};

template <class Ordered>
void Walk::check_predecessors(HostId host,
                              std::uint32_t call,
                              TaskId task,
                              const Ordered& ordered) {
  for (const TaskId before : index_.graph().predecessors(task)) {
    if (ordered(before)) continue;
    if (index_.launch_of(before) == never) continue;  // reported once, as task_not_launched
    report_missing_order(host, call, task, before);
  }
}

template <class Ordered>
void Walk::check_accumulations(HostId host,
                               std::uint32_t call,
                               TaskId task,
                               const Ordered& ordered) {
  const std::uint32_t end = accumulated_offset_[task.value() + 1];
  for (std::uint32_t i = accumulated_offset_[task.value()]; i < end; ++i) {
    const TensorId tensor = accumulated_[i];
    const TaskId last = last_writer_[tensor];
    last_writer_[tensor] = task;
    if (last.valid() && !ordered(last)) report_unordered(host, call, task, last, tensor);
  }
}

/// Why nothing orders `after` behind `before`, as the end of a sentence.
[[nodiscard]] std::string explain_missing_order(const PlanIndex& index,
                                                TaskId before,
                                                TaskId after);

}  // namespace schedlab::checker
