// SPDX-License-Identifier: Apache-2.0
// The critical-first listing of TurboLSTM as it is printed, as a plan, and its repair.
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::test {

/// The backward pass of `layers` x `steps` LSTM nodes, each cut in five tasks, with their task ids.
class LstmBackward {
 public:
  enum Part : std::uint8_t { cell, hidden_1, hidden_2, weight_1, weight_2 };

  LstmBackward(std::uint32_t layers, std::uint32_t steps) : layers_(layers), steps_(steps) {
    TaskGraphBuilder builder;
    std::vector<OperationId> operations;
    for (const char* name : {"cell", "hidden_1", "hidden_2", "weight_1", "weight_2"}) {
      operations.push_back(builder.add_operation({.name = name}));
    }
    for (std::uint32_t l = 0; l < layers; ++l) {
      for (std::uint32_t t = 0; t < steps; ++t) {
        for (const OperationId operation : operations) {
          Tags tags;
          tags.layer = static_cast<std::int16_t>(l);
          tags.step = static_cast<std::int32_t>(t);
          builder.add_task(operation, tags);
        }
      }
    }
    for (std::uint32_t l = 0; l < layers; ++l) add_layer(builder, l);
    graph_ = std::move(builder).build();
  }

  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] TaskId task(Part part, std::uint32_t l, std::uint32_t t) const {
    return TaskId{(l * steps_ + t) * 5 + part};
  }
  [[nodiscard]] std::uint32_t layers() const { return layers_; }
  [[nodiscard]] std::uint32_t steps() const { return steps_; }

 private:
  void add_layer(TaskGraphBuilder& builder, std::uint32_t l) {
    const std::string layer = "(" + std::to_string(l) + ")";
    const TensorId dwx =
        builder.add_tensor({.name = "dWx" + layer, .accumulate = true, .persistent = true});
    const TensorId dwh =
        builder.add_tensor({.name = "dWh" + layer, .accumulate = true, .persistent = true});
    for (std::uint32_t t = 0; t < steps_; ++t) {
      for (const Part part : {hidden_1, hidden_2, weight_1, weight_2}) {
        builder.add_edge(task(cell, l, t), task(part, l, t));
      }
      if (t > 0) {
        builder.add_edge(task(cell, l, t), task(cell, l, t - 1));      // dc
        builder.add_edge(task(hidden_1, l, t), task(cell, l, t - 1));  // dh along time
      }
      if (l > 0) builder.add_edge(task(hidden_2, l, t), task(cell, l - 1, t));  // dh from above
      builder.writes(task(weight_1, l, t), dwx);
      builder.writes(task(weight_2, l, t), dwh);
    }
  }

  std::uint32_t layers_;
  std::uint32_t steps_;
  TaskGraph graph_;
};

inline Plan plan_with_streams(std::string policy, std::uint32_t layers) {
  Plan plan;
  plan.policy = std::move(policy);
  for (std::uint32_t l = 0; l < layers; ++l) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      plan.streams.push_back({DeviceId{0}, -1, "primary_" + std::to_string(2 * l + i)});
    }
  }
  plan.streams.push_back({DeviceId{0}, 0, "secondary"});
  return plan;
}

/// The printed listing, statement by statement. It cannot run as it stands; changed is only what it
/// needs for that: a node is visited once, indices are bounded, the queue starts with the last node
/// of the top layer, s[-1] is s[0], and every query answers "idle" in turn, with a sleep after each
/// round. Source: S1 Algorithm 1 (TurboLSTM, critical-first multi-stream LSTM training).
inline Plan turbolstm_listing(const LstmBackward& lstm) {
  const std::uint32_t layers = lstm.layers();
  const std::uint32_t steps = lstm.steps();
  Plan plan = plan_with_streams("turbolstm_listing", layers);
  plan.event_count = layers * steps;
  std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> task_queue;
  std::deque<std::pair<std::uint32_t, std::uint32_t>> q{{layers - 1, steps - 1}};
  std::vector<bool> visited(static_cast<std::size_t>(layers) * steps, false);
  while (!q.empty()) {
    const auto [l, t] = q.front();
    q.pop_front();
    const std::uint32_t index = (layers - 1 - l) * steps + (steps - 1 - t);
    if (visited[index]) continue;
    visited[index] = true;
    const StreamId own{2 * l};
    const StreamId side{l == 0 ? 0 : 2 * l - 1};
    if (index >= steps) calls.push_back(HostCall::wait(own, EventId{index - steps}));
    calls.push_back(HostCall::launch(own, lstm.task(LstmBackward::cell, l, t)));
    calls.push_back(HostCall::launch(own, lstm.task(LstmBackward::hidden_1, l, t)));
    calls.push_back(HostCall::record(own, EventId{index}));
    calls.push_back(HostCall::launch(side, lstm.task(LstmBackward::hidden_2, l, t)));
    if (l > 0) q.emplace_back(l - 1, t);
    if (t > 0) q.emplace_back(l, t - 1);
    task_queue.emplace_back(l, t);  // stands for the two entries (l, t, 1) and (l, t, 2)
  }
  std::uint32_t s = 0;
  for (const auto& [l, t] : task_queue) {
    calls.push_back(HostCall::answered_query(StreamId{s}, true));
    calls.push_back(HostCall::launch(StreamId{s}, lstm.task(LstmBackward::weight_1, l, t)));
    calls.push_back(HostCall::launch(StreamId{s}, lstm.task(LstmBackward::weight_2, l, t)));
    s = (s + 1) % (2 * layers + 1);
    if (s == 0) calls.push_back(HostCall::sleep_ns(1000));
  }
  return plan;
}

/// The repair: s[2l] for cell and hidden-1, s[2l+1] for hidden-2, an event after cell and one after
/// hidden-2, and all weights on the one secondary stream, where each waits for
/// the event of its cell.
inline Plan turbolstm_repaired(const LstmBackward& lstm) {
  const std::uint32_t layers = lstm.layers();
  const std::uint32_t steps = lstm.steps();
  Plan plan = plan_with_streams("turbolstm_repaired", layers);
  plan.event_count = 2 * layers * steps;
  std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  const auto cell_event = [&](std::uint32_t l, std::uint32_t t) {
    return EventId{2 * (l * steps + t)};
  };
  const auto hidden_event = [&](std::uint32_t l, std::uint32_t t) {
    return EventId{2 * (l * steps + t) + 1};
  };
  for (std::uint32_t diagonal = 0; diagonal < layers + steps - 1; ++diagonal) {
    for (std::uint32_t up = 0; up < layers; ++up) {
      if (diagonal < up || diagonal - up >= steps) continue;
      const std::uint32_t l = layers - 1 - up;
      const std::uint32_t t = steps - 1 - (diagonal - up);
      const StreamId own{2 * l};
      const StreamId side{2 * l + 1};
      if (l + 1 < layers) calls.push_back(HostCall::wait(own, hidden_event(l + 1, t)));
      calls.push_back(HostCall::launch(own, lstm.task(LstmBackward::cell, l, t)));
      calls.push_back(HostCall::record(own, cell_event(l, t)));
      calls.push_back(HostCall::launch(own, lstm.task(LstmBackward::hidden_1, l, t)));
      calls.push_back(HostCall::wait(side, cell_event(l, t)));
      calls.push_back(HostCall::launch(side, lstm.task(LstmBackward::hidden_2, l, t)));
      calls.push_back(HostCall::record(side, hidden_event(l, t)));
    }
  }
  const StreamId secondary{2 * layers};
  for (std::uint32_t l = layers; l-- > 0;) {
    for (std::uint32_t t = steps; t-- > 0;) {
      calls.push_back(HostCall::wait(secondary, cell_event(l, t)));
      calls.push_back(HostCall::launch(secondary, lstm.task(LstmBackward::weight_1, l, t)));
      calls.push_back(HostCall::launch(secondary, lstm.task(LstmBackward::weight_2, l, t)));
    }
  }
  return plan;
}

}  // namespace schedlab::test
