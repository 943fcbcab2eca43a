// SPDX-License-Identifier: Apache-2.0
#include "sim/base/rng.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/sim/order_oracle.hpp"
#include "tests/sim/random_tasks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;
using test::pick;
using test::random_tasks;

namespace {

using Edges = std::set<std::pair<TaskId, TaskId>>;

Plan empty_plan(std::uint32_t streams, std::uint32_t hosts) {
  Plan plan;
  plan.streams.resize(streams);
  plan.hosts.resize(hosts);
  return plan;
}

/// The edges named in missing_dependency findings, as (consumer, producer).
Edges reported_edges(const TaskGraph& graph, const std::vector<Finding>& findings) {
  const auto task_at = [&](const std::string& text, std::size_t begin) {
    return graph.find(text.substr(begin, text.find(" on ", begin) - begin));
  };
  const std::string between = " is not ordered after ";
  Edges edges;
  for (const Finding& finding : findings) {
    if (finding.kind != FindingKind::missing_dependency) continue;
    const std::size_t second = finding.message.find(between) + between.size();
    edges.insert({task_at(finding.message, 0), task_at(finding.message, second)});
  }
  return edges;
}

std::vector<Finding> check_all(const TaskGraph& graph, const Plan& plan) {
  return check(graph, ideal_platform(), plan, {.max_findings = 100000});
}

/// Any call but messages, with no regard to sense.
HostCall random_call(Rng& rng, const std::vector<std::uint32_t>& streams, std::uint32_t events) {
  const StreamId stream{streams[rng.below(streams.size())]};
  const EventId event{pick(rng, events)};
  switch (rng.below(9)) {
    case 0:
      return HostCall::query(stream);
    case 1:
      return rng.below(3) == 0 ? HostCall::synchronize_stream(stream)
                               : HostCall::sleep_ns(pick(rng, 100));
    case 2:
      return rng.below(3) == 0 ? HostCall::synchronize_event(event) : HostCall::query(stream);
    case 3:
      return rng.below(6) == 0 ? HostCall::synchronize_all() : HostCall::wait(stream, event);
    case 4:
    case 5:
      return HostCall::record(stream, event);
    default:
      return HostCall::wait(stream, event);
  }
}

/// Launches in id order with probability 3/4 per step, else anywhere; other calls in between.
Plan random_single_host_plan(Rng& rng, const TaskGraph& graph) {
  const std::uint32_t streams = 1 + pick(rng, 5);
  Plan plan = empty_plan(streams, 1);
  plan.event_count = 1 + pick(rng, 12);
  std::vector<std::uint32_t> all;
  for (std::uint32_t s = 0; s < streams; ++s) all.push_back(s);
  std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  std::vector<TaskId> left;
  for (const TaskId task : graph.tasks()) left.push_back(task);
  while (!left.empty()) {
    for (std::uint64_t extra = rng.below(5); extra > 0; --extra) {
      calls.push_back(random_call(rng, all, plan.event_count));
    }
    const std::size_t at = rng.below(4) == 0 ? rng.below(left.size()) : 0;
    calls.push_back(HostCall::launch(StreamId{pick(rng, streams)}, left[at]));
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return plan;
}

/// Written as one sequence of calls by random hosts, so that its messages cannot deadlock. Each
/// event is recorded once. `shared`: hosts use each other's streams.
Plan random_multi_host_plan(Rng& rng, const TaskGraph& graph, bool shared) {
  const std::uint32_t hosts = 2 + pick(rng, 2);
  Plan plan = empty_plan(2 * hosts, hosts);
  const auto add = [&](HostId host, HostCall call) { plan.hosts[host].calls.push_back(call); };
  for (const TaskId task : graph.tasks()) {
    const HostId host{pick(rng, hosts)};
    std::vector<std::uint32_t> mine{2 * host.value(), 2 * host.value() + 1};
    if (shared) mine = {0, 1, 2};
    const StreamId stream{mine[rng.below(mine.size())]};
    add(host, HostCall::launch(stream, task));
    if (rng.below(2) == 0) add(host, HostCall::record(stream, EventId{plan.event_count++}));
    if (rng.below(3) == 0) {
      const HostId to{(host.value() + 1 + pick(rng, hosts - 1)) % hosts};
      const auto number = static_cast<std::uint32_t>(plan.messages.size());
      plan.messages.push_back({host, to, Bytes{8}});
      // A get says nothing.
      if (rng.below(4) == 0) plan.messages.back().one_sided = OneSided::get;
      const bool sent = plan.messages.back().one_sided == OneSided::none;
      if (sent) add(host, HostCall::send(number));
      add(to, HostCall::receive(number));
    }
    for (std::uint64_t extra = rng.below(3); extra > 0 && plan.event_count > 0; --extra) {
      const HostCall call = random_call(rng, mine, plan.event_count);
      if (call.kind() != HostCallKind::record) add(host, call);
    }
  }
  return plan;
}

/// Edges of random graphs with a random plan each.
struct EdgeCounts {
  std::size_t all = 0;
  std::size_t unordered = 0;  // as a brute-force search finds them
  std::size_t reported = 0;   // as the checker finds them
};

/// Is all that the checker reports true, or does it only miss nothing?
enum class Reports { exactly, no_less };

/// `make_plan(rng, graph, seed)` gives the plan of a graph.
template <class MakePlan>
EdgeCounts check_reports(Reports reports, const MakePlan& make_plan) {
  EdgeCounts counts;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    const TaskGraph graph = random_tasks(rng, 3 + pick(rng, 18));
    const Plan plan = make_plan(rng, graph, seed);
    const Edges expected = test::OrderOracle(plan).unordered_edges(graph);
    const Edges reported = reported_edges(graph, check_all(graph, plan));
    if (reports == Reports::exactly) CHECK(reported == expected);
    CHECK(std::includes(reported.begin(), reported.end(), expected.begin(), expected.end()));
    counts.all += graph.edge_count();
    counts.unordered += expected.size();
    counts.reported += reported.size();
  }
  return counts;
}

/// Any stream is the legacy default one.
void use_legacy_stream(Rng& rng, Plan& plan) {
  plan.streams[StreamId{pick(rng, plan.streams.size())}].sync = StreamSync::legacy_default;
}

/// The plans are of use only if both kinds of edges are common.
void check_both_common(const EdgeCounts& counts) {
  CHECK(counts.unordered > 1000);
  CHECK(counts.all - counts.unordered > 1000);
}

void check_rarely_too_many(const EdgeCounts& counts) {
  CHECK(counts.unordered > 1000);
  CHECK(counts.reported < counts.unordered + counts.unordered / 20);
}

}  // namespace

TEST_CASE("the checker finds exactly the edges that a brute-force search finds unordered") {
  check_both_common(check_reports(Reports::exactly, [](Rng& rng, const TaskGraph& graph, auto) {
    return random_single_host_plan(rng, graph);
  }));
}

TEST_CASE("the order that a legacy default stream makes is known exactly, whatever else there is") {
  std::size_t without = 0;  // unordered edges if there were no such stream
  const EdgeCounts counts =
      check_reports(Reports::exactly, [&](Rng& rng, const TaskGraph& graph, auto) {
        Plan plan = random_single_host_plan(rng, graph);
        without += test::OrderOracle(plan).unordered_edges(graph).size();
        for (StreamSpec& stream : plan.streams) {
          if (rng.below(3) != 0) stream.sync = StreamSync::blocking;
        }
        use_legacy_stream(rng, plan);
        return plan;
      });
  CHECK(counts.unordered > 500);
  CHECK(without - counts.unordered > 500);  // nothing else orders these
}

TEST_CASE("with several hosts and legacy default streams no race is missed") {
  check_rarely_too_many(
      check_reports(Reports::no_less, [](Rng& rng, const TaskGraph& graph, std::uint64_t seed) {
        Plan plan = random_multi_host_plan(rng, graph, seed % 2 == 0);
        for (StreamSpec& stream : plan.streams) stream.sync = StreamSync::blocking;
        use_legacy_stream(rng, plan);
        return plan;
      }));
}

TEST_CASE("with several hosts that keep to their own streams the checker is exact as well") {
  check_both_common(check_reports(Reports::exactly, [](Rng& rng, const TaskGraph& graph, auto) {
    return random_multi_host_plan(rng, graph, false);
  }));
}

TEST_CASE("where hosts share streams the checker misses no race and rarely sees one too many") {
  check_rarely_too_many(check_reports(Reports::no_less, [](Rng& rng, const TaskGraph& graph, auto) {
    return random_multi_host_plan(rng, graph, true);
  }));
}

TEST_CASE(
    "a plan with an event for every edge has no findings, and one dropped wait names its edge") {
  std::size_t named = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    const TaskGraph graph = random_tasks(rng, 3 + pick(rng, 20));
    const std::uint32_t streams = 2 + pick(rng, 4);
    Plan plan = empty_plan(streams, 1);
    plan.event_count = static_cast<std::uint32_t>(graph.task_count());  // event i is for task i
    std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
    std::vector<std::pair<std::size_t, std::pair<TaskId, TaskId>>>
        waits;  // call, (consumer, producer)
    IdVector<TaskId, StreamId> stream_of(graph.task_count());
    for (const TaskId task : graph.tasks()) {
      stream_of[task] = StreamId{pick(rng, streams)};
      for (const TaskId before : graph.predecessors(task)) {
        if (stream_of[before] == stream_of[task]) continue;
        waits.push_back({calls.size(), {task, before}});
        calls.push_back(HostCall::wait(stream_of[task], EventId{before.value()}));
      }
      calls.push_back(HostCall::launch(stream_of[task], task));
      calls.push_back(HostCall::record(stream_of[task], EventId{task.value()}));
    }
    CHECK(check_all(graph, plan).empty());
    if (waits.empty()) continue;

    const auto [call, edge] = waits[rng.below(waits.size())];
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(call));
    const std::vector<Finding> findings = check_all(graph, plan);
    const bool implied = test::OrderOracle(plan).unordered_edges(graph).empty();
    if (implied) {
      CHECK(findings.empty());
      continue;
    }
    // All other edges keep their own waits, so this one is the only one that can be missing.
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].kind == FindingKind::missing_dependency);
    CHECK(reported_edges(graph, findings) == Edges{edge});
    CHECK(plan.hosts[HostId{0}].calls[findings[0].call].task() == edge.first);
    ++named;
  }
  CHECK(named > 20);
}
