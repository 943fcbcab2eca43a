// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace schedlab;
using C = schedlab::HostCall;

namespace {

constexpr StreamId s0{0};
constexpr StreamId s1{1};

Plan small_plan(std::vector<HostCall> calls) {
  Plan plan;
  plan.policy = "test";
  plan.streams.push_back({.name = "primary_0"});
  plan.streams.push_back({});
  plan.event_count = 1;
  plan.messages.push_back({HostId{0}, HostId{0}, Bytes{1}});
  plan.hosts[HostId{0}] = {"main", std::move(calls)};
  return plan;
}

std::string violation(const Plan& plan, std::size_t tasks) {
  try {
    expect_well_formed(plan, tasks);
  } catch (const ContractViolation& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the twelve kinds of host calls and their words are one to one") {
  for (std::size_t i = 0; i < host_call_kind_count; ++i) {
    const auto kind = static_cast<HostCallKind>(i);
    CHECK(enum_from<HostCallKind>(to_string(kind)) == kind);
  }
  CHECK(to_string(HostCallKind::create_stream) == "create_stream");
  CHECK(to_string(HostCallKind::graph_load) == "graph_load");
  CHECK(to_string(HostCallKind::receive) == "receive");
  CHECK(!enum_from<HostCallKind>("Launch"));
  CHECK(!enum_from<HostCallKind>(""));
}

TEST_CASE("a host call gives back what it was made of") {
  CHECK(C::launch(s1, TaskId{7}).stream() == s1);
  CHECK(C::launch(s1, TaskId{7}).task() == TaskId{7});
  CHECK(C::query(s0).answer() == std::nullopt);
  CHECK(C::answered_query(s0, true).answer() == true);
  CHECK(C::answered_query(s0, false).answer() == false);
  CHECK(C::sleep_ns(5).sleep_time() == std::chrono::nanoseconds{5});
  CHECK(C::synchronize_all().stream() == StreamId::none());
}

TEST_CASE("a plan counts its calls and names its streams") {
  Plan plan =
      small_plan({C::launch(s0, TaskId{0}), C::record(s0, EventId{0}), C::launch(s1, TaskId{1})});
  plan.hosts.push_back({"second", {C::launch(s0, TaskId{2})}});
  CHECK(plan.call_count() == 4);
  CHECK(plan.count(HostCallKind::launch) == 3);
  CHECK(plan.count(HostCallKind::wait) == 0);
  CHECK(plan.stream_name(s0) == "primary_0");
  CHECK(plan.stream_name(s1) == "stream 1");
  CHECK(plan.stream_name(StreamId{9}) == "stream 9");
  CHECK(plan.memory_bytes() >= 4 * sizeof(HostCall) + 2 * sizeof(StreamSpec));
}

TEST_CASE("the stream view lists the calls of each stream in host order, host after host") {
  Plan plan = small_plan({C::launch(s0, TaskId{0}),
                          C::record(s0, EventId{0}),
                          C::wait(s1, EventId{0}),
                          C::synchronize_all(),
                          C::launch(s1, TaskId{1})});
  plan.hosts.push_back({"second", {C::launch(s0, TaskId{2})}});
  const auto view = stream_view(plan);
  REQUIRE(view.size() == 2);
  CHECK(view[s0] == std::vector<HostCall>{C::launch(s0, TaskId{0}),
                                          C::record(s0, EventId{0}),
                                          C::launch(s0, TaskId{2})});
  CHECK(view[s1] == std::vector<HostCall>{C::wait(s1, EventId{0}), C::launch(s1, TaskId{1})});
}

TEST_CASE("a plan that refers to nothing unknown and launches every task once is well formed") {
  CHECK(violation(small_plan({C::launch(s0, TaskId{1}),
                              C::record(s0, EventId{0}),
                              C::wait(s1, EventId{0}),
                              C::launch(s1, TaskId{0}),
                              C::query(s0),
                              C::sleep_ns(1),
                              C::synchronize_event(EventId{0}),
                              C::synchronize_stream(s1),
                              C::synchronize_all()}),
                  2)
            .empty());
}

TEST_CASE("what is wrong with a plan that is not well formed is named") {
  struct Case {
    HostCall call;
    const char* says;
  };
  const std::vector<Case> cases{
      {C::launch(StreamId{2}, TaskId{1}), "names a stream that does not exist; the plan has 2"},
      {C::launch(s0, TaskId{2}), "names task 2; the graph has 2 tasks"},
      {C::launch(s0, TaskId{0}), "launches task 0 a second time"},
      {C::record(s0, EventId{1}), "names event 1; the plan has 1 events"},
      {C::wait(s0, EventId{3}), "names event 3; the plan has 1 events"},
      {C::synchronize_event(EventId{1}), "names event 1; the plan has 1 events"},
      {C::send(1), "names message 1; the plan has 1 messages"},
      {C::receive(5), "names message 5; the plan has 1 messages"},
      {C::graph_load(0), "names graph 0; the plan has 0 graphs"},
      {C::create_stream(StreamId::none()), "names a stream that does not exist; the plan has 2"},
      {C::query(s0), "task 1 is never launched by plan \"test\""},
  };
  for (const Case& c : cases) {
    const std::string message = violation(small_plan({C::launch(s0, TaskId{0}), c.call}), 2);
    CAPTURE(message);
    CHECK(message.find(c.says) != std::string::npos);
    if (c.call.kind() != HostCallKind::query) {
      CHECK(message.find("of host 0 \"main\"") != std::string::npos);
    }
  }
}
