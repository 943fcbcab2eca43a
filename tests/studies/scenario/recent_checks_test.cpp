// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/recent_checks.hpp"

#include "sim/graph/task_graph.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

namespace schedlab {
namespace {

/// 0 -> 1, by way of a tensor of 100 bytes.
std::shared_ptr<const TaskGraph> handing_over() {
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "t"});
  const TaskId first = builder.add_task(operation);
  const TaskId second = builder.add_task(operation);
  const TensorId tensor = builder.add_tensor(
      {.name = "x", .bytes = Bytes{100}, .accumulate = false, .persistent = false});
  builder.writes(first, tensor);
  builder.reads(second, tensor);
  return std::make_shared<const TaskGraph>(std::move(builder).build());
}

/// Both on one stream.
Plan right_plan() {
  Plan plan;
  const StreamId stream = plan.streams.push_back({});
  plan.hosts[HostId{0}].calls = {HostCall::launch(stream, TaskId{0}),
                                 HostCall::launch(stream, TaskId{1})};
  return plan;
}

/// On two streams, without waits.
Plan wrong_plan() {
  Plan plan = right_plan();
  const StreamId other = plan.streams.push_back({});
  plan.hosts[HostId{0}].calls[1] = HostCall::launch(other, TaskId{1});
  return plan;
}

struct Checker {
  RecentChecks checks;
  std::shared_ptr<const TaskGraph> graph = handing_over();
  Platform platform = ideal_platform();

  /// Findings, held against those of the checker.
  std::size_t findings(const Plan& plan, std::uint64_t number = 0) {
    const auto found = checks.check(number, graph, platform, plan, {});
    CHECK(found == check(*graph, platform, plan, {}));
    return found.size();
  }
};

}  // namespace

TEST_CASE("a plan that equals the last right one of its policy is known to be right") {
  Checker checker;
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.checks.known() == 0);
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.checks.known() == 1);
  CHECK(checker.findings(right_plan(), 1) == 0);  // of another policy
  CHECK(checker.checks.known() == 1);
}

TEST_CASE("a wrong plan is reported each time, and forgets no right one") {
  Checker checker;
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.findings(wrong_plan()) == 1);
  CHECK(checker.findings(wrong_plan()) == 1);
  CHECK(checker.checks.known() == 0);
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.checks.known() == 1);
}

TEST_CASE("a plan is checked anew on a machine that the checker could tell from the last") {
  Checker checker;
  CHECK(checker.findings(right_plan()) == 0);
  checker.platform.devices[DeviceId{0}].stream_gap = Duration{7};  // of no concern
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.checks.known() == 1);
  checker.platform.devices[DeviceId{0}].memory_capacity = Bytes{99};  // the tensor has 100
  CHECK(checker.findings(right_plan()) == 1);
  CHECK(checker.checks.known() == 1);
  checker.platform.devices[DeviceId{0}].memory_capacity = Bytes{100};
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.checks.known() == 1);
}

TEST_CASE("a plan is checked anew for another graph") {
  Checker checker;
  CHECK(checker.findings(right_plan()) == 0);
  checker.graph = handing_over();
  CHECK(checker.findings(right_plan()) == 0);
  CHECK(checker.checks.known() == 0);
}

}  // namespace schedlab
