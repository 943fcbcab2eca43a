// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace schedlab {

/// What is to be scheduled, and on what. References: the three must outlive the Problem.
struct Problem {
  const TaskGraph& graph;
  const Platform& platform;
  const CostTable& costs;
};

/// What an online policy sees before each call.
struct HostView {
  Time now{};                      ///< the host thread's clock
  std::optional<bool> last_query;  ///< answer of the query just made: true = idle; else nullopt
};

/// One decision of an online policy.
struct OnlineStep {
  HostCall call;
  StreamSpec stream;  ///< of a create_stream call: what to create
};

/// Decides one host call at a time. The same object runs in virtual time against the simulator and
/// in real time against an executor; what it decided is recorded as a Plan. Streams and events are
/// numbered by the policy from 0, without gaps, in the order of their creation / first record.
class OnlinePolicy {
 public:
  OnlinePolicy() = default;
  OnlinePolicy(const OnlinePolicy&) = delete;
  OnlinePolicy& operator=(const OnlinePolicy&) = delete;
  virtual ~OnlinePolicy() = default;

  /// Streams that exist from the start (numbered first); called once before the first next().
  [[nodiscard]] virtual IdVector<StreamId, StreamSpec> initial_streams() { return {}; }
  /// The next call, or nullopt when the program ends.
  [[nodiscard]] virtual std::optional<OnlineStep> next(const HostView& view) = 0;
};

/// How finely the graph must be cut for a policy, where the workload leaves it to the policy.
enum class Granularity : std::uint8_t { coarse, fine, matmul, data_and_weight, kernel_and_weight };

/// Graph + platform + costs -> Plan. Immutable: all knobs are given at construction.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The granularity this policy is meant for.
  [[nodiscard]] virtual Granularity granularity() const { return Granularity::fine; }
  /// A policy that queries the device cannot know its plan before the run: it returns an
  /// OnlinePolicy here and its plan() is never called. All others return nullptr.
  [[nodiscard]] virtual std::unique_ptr<OnlinePolicy> online(const Problem&) const {
    return nullptr;
  }
  /// Deterministic: equal problems give equal plans.
  [[nodiscard]] virtual Plan plan(const Problem& problem) const = 0;
};

}  // namespace schedlab
