// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: follows the host programs call by call.
#pragma once

#include "sim/plan/plan_check_clocks.hpp"
#include "sim/plan/plan_check_index.hpp"
#include "sim/plan/plan_check_report.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab::checker {

/// Runs every host program as far as its messages allow and tests each call against what is known
/// to be before it. The order in which hosts are followed does not matter for what is reported as
/// unordered: only messages order two hosts.
class Walk {
 public:
  Walk(const PlanIndex& index, FindingList& findings);

  void run();
  /// The tasks reached, in an order in which the calls may be made.
  [[nodiscard]] const std::vector<TaskId>& launch_order() const { return launch_order_; }

 private:
  struct EventState {
    Clocks::Slot slot = never;  // what the last record captured; never: nobody will ask
    HostId host;                // of the last record; none: not recorded yet
    std::uint32_t call = 0;
    std::uint32_t uses_left = 0;
  };
  struct StreamState {
    bool alive = true;
    HostId host;  // who created or destroyed it last; none: it has always been there
    std::uint32_t call = 0;
  };
  /// A wait in a plan with several hosts, kept to find records that race with it.
  struct Use {
    HostId host;
    std::uint32_t call = 0;
  };

  [[nodiscard]] const Plan& plan() const { return index_.plan(); }
  /// Follows one host until it blocks or ends.
  void follow(HostId host);
  /// False if the host must wait for the other end of a message.
  bool step(HostId host, std::uint32_t call);
  void launch(HostId host, std::uint32_t call, HostCall c);
  void check_predecessors(HostId host, std::uint32_t call, TaskId task, std::uint32_t lane);
  void check_accumulations(HostId host, std::uint32_t call, TaskId task, std::uint32_t lane);
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
  void destroy_stream(HostId host, std::uint32_t call, StreamId stream);
  void expect_alive(HostId host, std::uint32_t call, HostCall c);
  bool exchange(HostId host, HostCall c);
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
  IdVector<EventId, EventState> events_;
  std::vector<std::vector<Use>> event_uses_;  // by event; empty unless there are several hosts
  IdVector<StreamId, StreamState> streams_;
  IdVector<HostId, std::uint32_t> next_call_;
  std::vector<HostId> waiting_in_;  // by message: the host that waits in it
  std::vector<HostId> ready_;       // hosts that may be followed
  // Accumulated tensors by writer, compressed rows, and the last writer of each.
  std::vector<std::uint32_t> accumulated_offset_;
  std::vector<TensorId> accumulated_;
  IdVector<TensorId, TaskId> last_writer_;
};

/// Why nothing orders `after` behind `before`, as the end of a sentence.
[[nodiscard]] std::string explain_missing_order(const PlanIndex& index,
                                                TaskId before,
                                                TaskId after);

}  // namespace schedlab::checker
