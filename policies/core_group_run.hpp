// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/core_group_dispatch.hpp"
#include "sim/plan/accumulations.hpp"
#include "sim/plan/dispatching_policy.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {

/// Published states of an operator.
enum class OperatorState : std::uint8_t {
  unavailable,  ///< a predecessor has not ended
  available,
  running,
  done,
};

/// One run of core groups that take operators: what CoreGroupPolicy decides, whoever tells it that
/// operators have ended. Looks at the graph and never at durations.
class CoreGroupRun final : public DispatchingPolicy {
 public:
  CoreGroupRun(const Problem& problem,
               std::string policy_name,
               const CoreGroupOptions& options,
               std::unique_ptr<ReadyOperators> ready);

  [[nodiscard]] IdVector<StreamId, StreamSpec> initial_streams() override;
  [[nodiscard]] std::span<const DispatchedCall> dispatch(std::span<const StreamId> ended,
                                                         Time now) override;
  [[nodiscard]] Plan decided() const override;

 private:
  void enter(TaskId task, OperatorState from, OperatorState to);
  void arrive(TaskId task, StreamId group);
  void finish(StreamId group);
  void start(TaskId task, StreamId group, Time at);

  Problem problem_;
  std::string policy_name_;
  Duration scheduling_;
  std::unique_ptr<ReadyOperators> ready_;
  Accumulations accumulations_;
  Time chosen_{};  ///< when the last choice was made
  bool begun_ = false;
  IdVector<TaskId, std::uint32_t> missing_;
  IdVector<TaskId, OperatorState> state_;
  IdVector<StreamId, TaskId> last_;
  IdVector<StreamId, bool> idle_;
  IdVector<TensorId, EventId> last_writer_;  // of shared accumulate tensors; empty: there are none
  std::uint32_t events_ = 0;
  std::vector<std::pair<TaskId, StreamId>> arrived_;
  std::vector<DispatchedCall> calls_;
  std::vector<std::pair<TaskId, StreamId>> taken_;
};

}  // namespace schedlab
