// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/error.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/policy.hpp"
#include "sim/plan/polling_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace schedlab {

/// Where the engine gets its host calls from: a finished plan.
class PlanSource {
 public:
  explicit PlanSource(const Plan& plan) : plan_(plan), next_(plan.hosts.size(), 0U) {}

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] std::optional<HostCall> next(HostId host, const HostView&) {
    const auto& calls = plan_.hosts[host].calls;
    std::uint32_t& position = next_[host];
    if (position >= calls.size()) return std::nullopt;
    return calls[position++];
  }
  void answer(HostId, bool) {}

  /// The calls that are still to come.
  [[nodiscard]] std::span<const HostCall> rest(HostId host, const HostView&) const {
    return std::span{plan_.hosts[host].calls}.subspan(next_[host]);
  }
  void skip(HostId host, std::size_t calls) { next_[host] += static_cast<std::uint32_t>(calls); }

 private:
  const Plan& plan_;
  IdVector<HostId, std::uint32_t> next_;
};

/// Where the engine gets its host calls from: an online policy, whose decisions become a plan.
class PolicySource {
 public:
  /// `plan` becomes that of the decisions, in the memory it has.
  PolicySource(OnlinePolicy& policy, const Problem& problem, Plan& plan)
      : policy_(policy),
        polling_(dynamic_cast<PollingPolicy*>(&policy)),
        limit_(1'000'000 + 1000 * problem.graph.task_count()),
        plan_(plan) {
    std::vector<HostCall> calls;
    if (!plan_.hosts.empty()) calls = std::move(plan_.hosts[HostId{0}].calls);
    plan_ = Plan{};
    plan_.streams = policy.initial_streams();
    calls.clear();
    calls.reserve(4 * problem.graph.task_count());  // launches, and more
    plan_.hosts[HostId{0}].calls = std::move(calls);
  }

  [[nodiscard]] const Plan& plan() const { return plan_; }

  [[nodiscard]] std::optional<HostCall> next(HostId host, const HostView& view) {
    const std::optional<OnlineStep> step = policy_.next(view);
    if (!step) return std::nullopt;
    auto& calls = plan_.hosts[host].calls;
    SCHEDLAB_EXPECTS(calls.size() < limit_,
                     fmt::format("the online policy made {} calls; does it end?", calls.size()));
    if (step->call.kind() == HostCallKind::create_stream) {
      SCHEDLAB_EXPECTS(
          step->call.stream() == StreamId{static_cast<std::uint32_t>(plan_.streams.size())},
          fmt::format("create_stream {}: streams are numbered without gaps",
                      step->call.stream().value()));
      plan_.streams.push_back(step->stream);
    } else if (step->call.kind() == HostCallKind::record) {
      plan_.event_count = std::max(plan_.event_count, step->call.event().value() + 1);
    }
    calls.push_back(step->call);
    return step->call;
  }
  void answer(HostId host, bool idle) {
    HostCall& call = plan_.hosts[host].calls.back();
    call = HostCall::answered_query(call.stream(), idle);
  }

  /// As PollingPolicy::decided(); empty if the policy is none, or close to its limit of calls.
  [[nodiscard]] std::span<const HostCall> rest(HostId host, const HostView& view) {
    decided_ = polling_ == nullptr ? std::span<const HostCall>{} : polling_->decided(view);
    if (plan_.hosts[host].calls.size() + decided_.size() >= limit_) decided_ = {};
    return decided_;
  }
  /// The first of rest() were made.
  void skip(HostId host, std::size_t calls) {
    for (const HostCall call : decided_.first(calls)) {
      if (call.kind() != HostCallKind::record) continue;
      plan_.event_count = std::max(plan_.event_count, call.event().value() + 1);
    }
    append(host, decided_.first(calls));
    polling_->made(calls);
  }

  /// As PollingPolicy::polls(); empty as rest().
  [[nodiscard]] std::span<const HostCall> polls(HostId host, const HostView& view) {
    if (polling_ == nullptr) return {};
    const auto calls = polling_->polls(view);
    return plan_.hosts[host].calls.size() + calls.size() < limit_ ? calls
                                                                  : std::span<const HostCall>{};
  }
  /// These, the first of polls(), were made. All queries found their streams busy, but the last
  /// call its own idle if `idle`.
  void polled(HostId host, std::span<const HostCall> calls, bool idle) {
    append(host, calls);
    if (idle) answer(host, true);
    polling_->polled(calls.size());
  }

 private:
  void append(HostId host, std::span<const HostCall> calls) {
    auto& made = plan_.hosts[host].calls;
    made.insert(made.end(), calls.begin(), calls.end());
  }

  OnlinePolicy& policy_;
  PollingPolicy* polling_;
  std::size_t limit_;
  Plan& plan_;
  std::span<const HostCall> decided_;  // by rest()
};

}  // namespace schedlab
