// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_json.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/graph/task_graph.hpp"
#include "tests/sim/random_tasks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace schedlab;
using test::pick;
using C = schedlab::HostCall;

namespace {

/// cell(0,0), cell(0,1), cell(1,0), cell(1,1), and two tasks that are both named "twin".
TaskGraph named_graph() {
  TaskGraphBuilder builder;
  const OperationId cell = builder.add_operation({.name = "cell"});
  for (std::int16_t layer = 0; layer < 2; ++layer) {
    for (std::int32_t step = 0; step < 2; ++step) {
      Tags tags;
      tags.layer = layer;
      tags.step = step;
      builder.add_task(cell, tags);
    }
  }
  builder.add_task(cell, {}, "twin");
  builder.add_task(cell, {}, "twin");
  return std::move(builder).build();
}

HostCall random_call(Rng& rng, const Plan& plan, std::size_t tasks) {
  const StreamId stream{pick(rng, plan.streams.size())};
  const EventId event{pick(rng, plan.event_count)};
  const std::uint32_t message = pick(rng, plan.messages.size());
  const std::vector<HostCall> calls{C::create_stream(stream),
                                    C::destroy_stream(stream),
                                    C::launch(stream, TaskId{pick(rng, tasks)}),
                                    C::record(stream, event),
                                    C::wait(stream, event),
                                    C::query(stream),
                                    C::answered_query(stream, rng.below(2) == 1),
                                    C::sleep_ns(static_cast<std::uint32_t>(rng.next())),
                                    C::synchronize_stream(stream),
                                    C::synchronize_event(event),
                                    C::synchronize_all(),
                                    C::send(message),
                                    C::receive(message),
                                    C::graph_load(pick(rng, plan.graphs.size())),
                                    C::graph_launch(stream, pick(rng, plan.graphs.size()))};
  return calls[rng.below(calls.size())];
}

DeviceGraph random_device_graph(Rng& rng, const Plan& plan, std::size_t tasks) {
  DeviceGraph graph;
  graph.node_priorities = rng.below(2) == 0;
  const std::uint32_t nodes = 1 + pick(rng, 6);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::vector<std::uint32_t> needs;
    for (std::uint32_t need = 0; need < node; ++need) {
      if (rng.below(3) == 0) needs.push_back(need);
    }
    graph.add_node(StreamId{pick(rng, plan.streams.size())}, needs);
  }
  for (std::uint64_t launches = rng.below(3); launches > 0; --launches) {
    std::vector<TaskId> row;
    for (std::uint32_t node = 0; node < nodes; ++node) row.emplace_back(pick(rng, tasks));
    graph.add_launch(row);
  }
  return graph;
}

Plan random_plan(Rng& rng, std::size_t tasks) {
  const std::vector<std::string> names{
      "", "main", "a \"quoted\" name", "<script>", "\n\t\\", "Zürich"};
  Plan plan;
  plan.policy = names[rng.below(names.size())];
  for (std::uint32_t i = 0; i <= pick(rng, 4); ++i) {
    plan.streams.push_back({DeviceId{pick(rng, 3)},
                            static_cast<int>(rng.below(7)) - 5,
                            names[rng.below(names.size())]});
  }
  plan.event_count = 1 + pick(rng, 5);
  plan.hosts.clear();
  for (std::uint32_t i = 0; i < 2; ++i) plan.hosts.push_back({names[rng.below(names.size())], {}});
  plan.messages.push_back(
      {HostId{0}, HostId{1}, Bytes{static_cast<std::int64_t>(rng.next() >> 1U)}});
  plan.messages.push_back({HostId{1}, HostId{0}, Bytes{0}});
  for (std::uint32_t g = 0; g <= pick(rng, 3); ++g) {
    plan.graphs.push_back(random_device_graph(rng, plan, tasks));
  }
  plan.graphs.front().name = names[rng.below(names.size())];
  for (const HostId host : plan.hosts.ids()) {
    for (std::uint64_t n = rng.below(40); n > 0; --n) {
      plan.hosts[host].calls.push_back(random_call(rng, plan, tasks));
    }
  }
  return plan;
}

InputProblem problem_of(const std::string& text) {
  try {
    (void)plan_from_json(text, named_graph(), "my.json");
  } catch (const InputError& error) {
    return error.problem();
  }
  FAIL("no InputError");
  return {};
}

/// A valid plan with `calls` for its one host, 2 streams, 3 events and no message.
std::string document(std::string_view calls, std::string_view more = "") {
  return R"json({"schedlab": "plan", "version": 1, "policy": "p", "streams": [)json"
         R"json({"name": "", "device": 0, "priority": 0}, {"name": "x", "device": 0, "priority": -1}],)json"
         R"json("events": 3, "messages": [], "hosts": [{"name": "h", "calls": [)json" +
         std::string(calls) + "]}]" + std::string(more) + "}";
}

}  // namespace

TEST_CASE("any plan is the same after writing and reading") {
  const TaskGraph graph = named_graph();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    const Plan plan = random_plan(rng, graph.task_count());
    const std::string text = plan_to_json(plan, graph);
    CAPTURE(text);
    CHECK(plan_from_json(text, graph) == plan);
    CHECK(plan_to_json(plan_from_json(text, graph), graph) == text);
  }
  CHECK(plan_from_json(plan_to_json(Plan{}, graph), graph) == Plan{});
}

TEST_CASE("a plan is written one call a line, tasks by name where the name is unique") {
  Plan plan;
  plan.policy = "p";
  plan.streams.push_back({DeviceId{0}, -1, "primary_0"});
  plan.event_count = 1;
  plan.hosts[HostId{0}] = {"main",
                           {C::launch(StreamId{0}, TaskId{3}),
                            C::record(StreamId{0}, EventId{0}),
                            C::launch(StreamId{0}, TaskId{5}),
                            C::sleep_ns(500),
                            C::synchronize_event(EventId{0}),
                            C::synchronize_all()}};
  CHECK(plan_to_json(plan, named_graph()) == R"json({
  "schedlab": "plan",
  "version": 1,
  "policy": "p",
  "streams": [
    {"name": "primary_0", "device": 0, "priority": -1}
  ],
  "events": 1,
  "messages": [
  ],
  "hosts": [
    {"name": "main", "calls": [
      ["launch", 0, "cell(1,1)"],
      ["record", 0, 0],
      ["launch", 0, 5],
      ["sleep", {"duration_ns": 500}],
      ["synchronize", {"event": 0}],
      ["synchronize"]
    ]}
  ]
}
)json");
}

TEST_CASE("an unknown task is named with its place and the closest task") {
  const InputProblem problem =
      problem_of(document(R"json(["launch", 0, "cell(0,0)"], ["launch", 1, "cell(0,2)"])json"));
  CHECK(problem.file == "my.json");
  CHECK(problem.pointer == "/hosts/0/calls/1/2");
  CHECK(problem.found == "\"cell(0,2)\"");
  CHECK(problem.expected == "the name or number of one of the 6 tasks");
  CHECK(
      problem.hint ==
      "the closest name is \"cell(0,0)\"; a plan belongs to the graph that it was made for: of one "
      "run, and of one granularity");
}

TEST_CASE("a number beyond the tasks says that plans belong to their graph") {
  CHECK(problem_of(document(R"json(["launch", 0, 6])json"))
            .hint.starts_with("a plan belongs to the graph that it was made for"));
}

TEST_CASE("a name that two tasks have is refused, the number is not") {
  const InputProblem problem = problem_of(document(R"json(["launch", 0, "twin"])json"));
  CHECK(problem.expected == "a name that only one task has");
  CHECK(problem.hint == "give the number of the task, as 4");
  const Plan plan = plan_from_json(document(R"json(["launch", 0, 4])json"), named_graph());
  CHECK(plan.hosts[HostId{0}].calls[0].task() == TaskId{4});
}

TEST_CASE("every wrong call is refused with its place") {
  struct Case {
    const char* call;
    const char* pointer;
    const char* expected;
  };
  const std::vector<Case> cases{
      {R"json(["launch", 2, "cell(0,0)"])json", "/1", "the number of a stream, 0 to 1"},
      {R"json(["launch", -1, "cell(0,0)"])json", "/1", "the number of a stream, 0 to 1"},
      {R"json(["launch", 0.5, "cell(0,0)"])json", "/1", "the number of a stream, 0 to 1"},
      {R"json(["launch", 0, 6])json", "/2", "the number of a task, 0 to 5"},
      {R"json(["launch", 0, null])json", "/2", "the number of a task, 0 to 5"},
      {R"json(["launch", 0])json", "", "[\"launch\", STREAM, TASK]"},
      {R"json(["record", 0, 3])json", "/2", "the number of an event, 0 to 2"},
      {R"json(["wait", 0, 1, 2])json", "", "[\"wait\", STREAM, EVENT]"},
      {R"json(["query", 0, 1])json", "/2", "true (idle) or false"},
      {R"json(["sleep", {"duration_ns": 4294967296}])json",
       "/1/duration_ns",
       "a whole number from 0 to 4294967295"},
      {R"json(["sleep", 5])json", "/1", "an object"},
      {R"json(["synchronize", {"event": 9}])json", "/1/event", "the number of an event, 0 to 2"},
      {R"json(["send", 0])json", "/1", "no message: the plan has none"},
      {R"json("launch")json",
       "",
       "an array that starts with a call, as [\"launch\", 0, \"cell(3,9)\"]"},
      {"[]", "", "an array that starts with a call, as [\"launch\", 0, \"cell(3,9)\"]"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.call);
    const InputProblem problem = problem_of(document(c.call));
    CHECK(problem.pointer == std::string("/hosts/0/calls/0") + c.pointer);
    CHECK(problem.expected == c.expected);
  }
  CHECK(problem_of(document(R"json(["lunch", 0, 1])json")).hint ==
        "the closest call is \"launch\"");
}

TEST_CASE("a wrong stream is refused with its place, and streams may come last") {
  const auto with = [](const std::string& streams) {
    return R"json({"schedlab": "plan", "version": 1, "policy": "p", "events": 0, "messages": [],
      "hosts": [{"name": "h", "calls": [["launch", 1, "cell(0,0)"]]}], "streams": )json" +
           streams + "}";
  };
  const std::string good = R"json({"name": "", "device": 0, "priority": 0})json";
  const TaskGraph graph = named_graph();
  const Plan plan = plan_from_json(with("[" + good + ", " + good + "]"), graph, "plan.json");
  CHECK(plan.streams.size() == 2);
  CHECK(problem_of(with("[" + good + ", 5]")).pointer == "/streams/1");
  CHECK(problem_of(with("[" + good + ", []]")).pointer == "/streams/1");
  CHECK(problem_of(with("[" + good + ", {\"name\": \"\", \"device\": 0}]")).pointer ==
        "/streams/1");
  CHECK(problem_of(with("7")).pointer == "/streams");
  CHECK(problem_of(with("[" + good + "]")).pointer == "/hosts/0/calls/0/1");
  // Of a key that is there twice the last one counts.
  const std::string twice = with("[" + good + "]");
  CHECK(plan_from_json(
            twice.substr(0, twice.size() - 1) + ", \"streams\": [" + good + ", " + good + "]}",
            graph,
            "plan.json")
            .streams.size() == 2);
}

TEST_CASE("wrong documents are refused: syntax, keys, version, types") {
  CHECK(problem_of("{\n\"schedlab\": \"plan\",\n oops}").pointer == "line 3, column 2");
  CHECK(problem_of("").found == "the end of the text");
  CHECK(problem_of("[]").expected == "an object");
  CHECK(problem_of("{}").expected == "the key \"schedlab\"");
  CHECK(problem_of(document("", R"json(, "event": 3)json")).hint == "did you mean \"events\"?");
  std::string text = document("");
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
  CHECK(problem_of(text).pointer == "/version");
  CHECK(problem_of(text).found == "2");
  text = document("");
  text.replace(text.find("\"events\": 3"), 11, "\"events\": -3");
  CHECK(problem_of(text).pointer == "/events");
  text = document("");
  text.replace(text.find("\"messages\": []"),
               14,
               R"json("messages": [{"from": 0, "to": 1, "bytes": 3}])json");
  CHECK(problem_of(text).pointer == "/messages/0/to");
  CHECK(problem_of(text).found == "host 1");
}

TEST_CASE("a damaged document is read or refused with an InputError, never anything else") {
  const TaskGraph graph = named_graph();
  const std::string_view letters = "{}[],:\"0123456789-.eE truefalsn\\u";
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Rng rng{seed};
    std::string text = plan_to_json(random_plan(rng, graph.task_count()), graph);
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) {
      const std::size_t at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0:
          text.erase(at, 1 + rng.below(4));
          break;
        case 1:
          text.insert(at, 1, letters[rng.below(letters.size())]);
          break;
        default:
          text[at] = static_cast<char>(rng.next());
          break;
      }
      if (text.empty()) text = " ";
    }
    try {
      (void)plan_from_json(text, graph);
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}
