// SPDX-License-Identifier: Apache-2.0
// What a policy decides does not depend on how its queries are asked for.
#include "policies/critical_first.hpp"
#include "sim/base/rng.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/plan/polling_policy.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

/// Asks for every call, and counts what could have been had at once.
class OneByOne final : public OnlinePolicy {
 public:
  explicit OneByOne(std::unique_ptr<OnlinePolicy> policy) : policy_(std::move(policy)) {}
  [[nodiscard]] std::optional<OnlineStep> next(const HostView& view) override {
    return policy_->next(view);
  }

 private:
  std::unique_ptr<OnlinePolicy> policy_;
};

/// Takes no more than one call of each answer, and asks again.
class InPieces final : public PollingPolicy {
 public:
  explicit InPieces(std::unique_ptr<OnlinePolicy> policy)
      : policy_(std::move(policy)), polling_(dynamic_cast<PollingPolicy*>(policy_.get())) {
    REQUIRE(polling_ != nullptr);
  }
  [[nodiscard]] std::optional<OnlineStep> next(const HostView& view) override {
    return policy_->next(view);
  }
  [[nodiscard]] std::span<const HostCall> decided(const HostView& view) override {
    const auto calls = polling_->decided(view);
    return calls.first(std::min<std::size_t>(1, calls.size()));
  }
  void made(std::size_t count) override {
    decided_ += count;
    polling_->made(count);
  }
  [[nodiscard]] std::span<const HostCall> polls(const HostView& view) override {
    const auto calls = polling_->polls(view);
    return calls.first(std::min<std::size_t>(1, calls.size()));
  }
  void polled(std::size_t count) override {
    polls_ += count;
    polling_->polled(count);
  }
  [[nodiscard]] std::size_t polls_made() const { return polls_; }
  [[nodiscard]] std::size_t decided_made() const { return decided_; }

 private:
  std::unique_ptr<OnlinePolicy> policy_;
  PollingPolicy* polling_;
  std::size_t polls_ = 0;
  std::size_t decided_ = 0;
};

/// Kernels of a few blocks each, by operation. Durations are given per task.
class FewBlocks final : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const override { return "few_blocks"; }
  [[nodiscard]] Estimate estimate(const Operation& operation, const Device&) const override {
    Estimate estimate;
    estimate.duration = 10us;
    estimate.share = 0.3;
    estimate.blocks = 1 + static_cast<std::uint32_t>(operation.name.size() % 5);
    return estimate;
  }
};

Platform machine(Rng& rng) {
  Platform platform = ideal_platform(2);
  Host& host = platform.hosts[HostId{0}];
  const auto upto = [&rng](std::uint64_t n) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(rng.below(n))};
  };
  host.costs.launch = upto(3000);
  host.costs.query = rng.below(4) == 0 ? Duration{0} : Duration{upto(2000)};
  host.costs.record = upto(500);
  host.costs.oversleep = upto(3000);
  host.launch_queue_depth = rng.below(3) == 0 ? 2 : 0;
  Device& device = platform.devices[DeviceId{0}];
  device.launch_latency = upto(3000);
  device.stream_gap = upto(1000);
  device.event_latency = upto(1000);
  device.connections = rng.below(2) == 0 ? 2 : 0;
  platform.sharing =
      std::array{SharingModel::exclusive, SharingModel::fluid, SharingModel::blocks}[rng.below(3)];
  const auto units = static_cast<std::uint32_t>(2 + rng.below(8));
  device.unit_class_of.fill(device.unit_classes.push_back({"sm", units}));
  return platform;
}

}  // namespace

TEST_CASE("a policy that polls decides the same whether its queries are asked for one by one") {
  Rng rng{11};
  std::size_t polls = 0;
  std::size_t decided = 0;
  for (int round = 0; round < 60; ++round) {
    const Platform platform = machine(rng);
    const TaskGraph graph = lstm({.layers = 1 + static_cast<std::int64_t>(rng.below(3)),
                                  .steps = 1 + static_cast<std::int64_t>(rng.below(5)),
                                  .batch = 2,
                                  .hidden = 8});
    // Half of the rounds: so long that the allowance of queries is used up and sleeps grow.
    const Duration longest = round % 2 == 0 ? Duration{50us} : Duration{20ms};
    CostTable costs{graph, platform, FewBlocks{}};
    IdVector<TaskId, Duration> durations;
    for (std::size_t i = 0; i < graph.task_count(); ++i) {
      durations.push_back(Duration{
          static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(longest.count())))});
    }
    costs.set_task_durations(std::move(durations));
    const Problem problem{graph, platform, costs};
    const CriticalFirst policy{
        {.variant = rng.below(2) == 0 ? CriticalFirstOptions::Variant::interleaved
                                      : CriticalFirstOptions::Variant::enqueue_all_first,
         .max_streams = static_cast<std::uint32_t>(rng.below(5)),
         .fill_while_critical = rng.below(3) != 0,
         .drain_streams = rng.below(2) == 0 ? CriticalFirstOptions::DrainStreams::all
                                            : CriticalFirstOptions::DrainStreams::secondary,
         .sleep = std::chrono::nanoseconds{1000 + static_cast<std::int64_t>(rng.below(5000))},
         .queries_per_level = static_cast<std::uint32_t>(rng.below(4)),
         .max_queries = 1 + static_cast<std::uint32_t>(rng.below(40))}};
    const SimulationOptions options{.record_flows = true};
    OneByOne one_by_one{policy.online(problem)};
    InPieces in_pieces{policy.online(problem)};
    Simulator simulator;
    const auto expected = simulator.record(problem, one_by_one, options);
    const auto at_once = simulator.record(problem, *policy.online(problem), options);
    const auto pieces = simulator.record(problem, in_pieces, options);
    CAPTURE(round);
    REQUIRE(at_once.plan.hosts[HostId{0}].calls == expected.plan.hosts[HostId{0}].calls);
    REQUIRE(at_once.trace == expected.trace);
    REQUIRE(pieces.plan.hosts[HostId{0}].calls == expected.plan.hosts[HostId{0}].calls);
    REQUIRE(pieces.trace == expected.trace);
    // What was decided runs again as it did.
    REQUIRE(simulator.run(problem, expected.plan, options) == expected.trace);
    polls += in_pieces.polls_made();
    decided += in_pieces.decided_made();
  }
  CHECK(polls > 10'000);
  CHECK(decided > 1000);
}

}  // namespace schedlab
