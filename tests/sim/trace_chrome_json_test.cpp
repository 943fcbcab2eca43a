// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/trace/chrome_json.hpp"
#include "sim/trace/document.hpp"
#include "tests/sim/trace_support.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace schedlab {
namespace {

using namespace testing;
using Json = nlohmann::json;

/// Every kind of call, a wait, a task that did not run, times below a nanosecond.
[[nodiscard]] TraceDocument rich_document() {
  TinyRun run = tiny_run();
  run.trace.tasks.pop_back();
  run.trace.tasks[1].started += 7_ps;
  const StreamId s{1};
  const std::vector<HostCall> calls{HostCall::create_stream(s),
                                    HostCall::launch(s, TaskId{0}),
                                    HostCall::record(s, EventId{0}),
                                    HostCall::wait(s, EventId{0}),
                                    HostCall::query(s),
                                    HostCall::answered_query(s, true),
                                    HostCall::answered_query(s, false),
                                    HostCall::sleep_ns(1234),
                                    HostCall::synchronize_stream(s),
                                    HostCall::synchronize_event(EventId{0}),
                                    HostCall::synchronize_all(),
                                    HostCall::graph_load(3),
                                    HostCall::graph_launch(s, 3),
                                    HostCall::send(0),
                                    HostCall::receive(0),
                                    HostCall::destroy_stream(s)};
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    run.trace.hosts.push_back({HostId{0}, i, calls[i], at(i * 1us), at((i + 1) * 1us), 250ns});
  }
  run.trace.flows = {{EventId{0}, StreamId{0}, StreamId{1}, at(12us), at(12us + 7_ps)}};
  run.trace.messages = {{4, HostId{0}, HostId{0}, 123_B, at(1us + 1_ps), at(20us)},
                        {2, HostId{0}, HostId{0}, 0_B, at(2us), at(2us)}};
  return make_document(run.problem(), run.plan, run.trace, "rich");
}

[[nodiscard]] std::vector<Json> events_of(const Json& root, const std::string& phase) {
  std::vector<Json> events;
  for (const Json& event : root["traceEvents"]) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

TEST_CASE("What was written is read back exactly") {
  const TraceDocument document = rich_document();
  CHECK(read_chrome_json(chrome_json(document), "trace.json") == document);
}

TEST_CASE("Random traces survive writing and reading") {
  Rng rng{11};
  for (int round = 0; round < 20; ++round) {
    TraceDocument document = rich_document();
    for (TaskSpan& span : document.trace.tasks) {
      span.started = Time{Duration{static_cast<std::int64_t>(rng.below(1ULL << 60U))}};
      span.ended = span.started + Duration{static_cast<std::int64_t>(rng.below(1ULL << 60U))};
      document.tasks[span.task].share = rng.uniform();
    }
    document.trace.ended = Time{Duration::max()};
    CHECK(read_chrome_json(chrome_json(document), "trace.json") == document);
  }
}

TEST_CASE("Names of any content are written so that every reader accepts them") {
  TraceDocument document = rich_document();
  document.tasks[TaskId{0}].name = "<script>\"quoted\" \\ back\n\t\x01 caf\xC3\xA9 \xE2\x82\xAC";
  document.streams[StreamId{0}].name = "\"}],";
  const std::string text = chrome_json(document);
  CHECK(Json::accept(text));
  CHECK(read_chrome_json(text, "trace.json") == document);

  document.tasks[TaskId{0}].name = "bad \xFF\xC0\x80 bytes";
  const TraceDocument back = read_chrome_json(chrome_json(document), "trace.json");
  CHECK(back.tasks[TaskId{0}].name == "bad \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD bytes");
}

TEST_CASE("Viewers find streams and hosts as tracks, calls and tasks as slices") {
  const Json root = Json::parse(chrome_json(rich_document()));
  std::vector<std::string> tracks;
  for (const Json& event : events_of(root, "M")) {
    if (event["name"] == "thread_name") tracks.push_back(event["args"]["name"]);
  }
  CHECK(tracks == std::vector<std::string>{"host 0", "main (priority -1)", "stream 1"});

  const auto slices = events_of(root, "X");
  REQUIRE(slices.size() == 3 + 16);
  const Json& w = slices[1];
  CHECK(w["name"] == "w#2");
  CHECK(w["cat"] == "gemm");
  CHECK(w["pid"] == 2);
  CHECK(w["tid"] == 2);
  CHECK(w["ts"].get<double>() == doctest::Approx(12.000007));
  CHECK(w["args"]["started_ps"] == 12'000'007);
  CHECK(w["args"]["ended_ps"] == 22'000'000);
  CHECK(slices[3 + 1]["name"] == "a#0");  // the launch of a, on the host's track
  CHECK(slices[3 + 1]["pid"] == 1);
}

TEST_CASE("An arrow starts inside the task that was recorded and ends in the one that waited") {
  const Json root = Json::parse(chrome_json(rich_document()));
  const auto tails = events_of(root, "s");
  const auto heads = events_of(root, "f");
  REQUIRE(tails.size() == 1);
  REQUIRE(heads.size() == 1);
  CHECK(tails[0]["id"] == heads[0]["id"]);
  // a runs 2..12: its last nanosecond; w starts at 12.000007.
  CHECK(tails[0]["ts"].get<double>() == doctest::Approx(11.999));
  CHECK(heads[0]["ts"].get<double>() == doctest::Approx(12.000007));
}

TEST_CASE("Messages are asynchronous spans on the track of the sender") {
  const Json root = Json::parse(chrome_json(rich_document()));
  const std::vector<Json> begins = events_of(root, "b");
  const std::vector<Json> ends = events_of(root, "e");
  REQUIRE(begins.size() == 2);
  REQUIRE(ends.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const char* key : {"id", "cat", "name", "pid", "tid"})
      CHECK(begins[i][key] == ends[i][key]);
    CHECK(begins[i]["ts"] <= ends[i]["ts"]);
  }
  CHECK(begins[0]["id"] != begins[1]["id"]);
  CHECK(begins[0]["args"]["bytes"] == 123);
}

TEST_CASE("Counters follow the utilization") {
  const Json root = Json::parse(chrome_json(rich_document()));
  std::vector<double> percent;
  for (const Json& event : events_of(root, "C")) {
    if (event["name"] == "utilization") percent.push_back(event["args"]["percent"]);
  }
  // 0, a, the 7 ps before w, w, b, the end of b, the end of the trace
  CHECK(percent == std::vector<double>{0, 40, 0, 60, 100, 0, 0});
}

TEST_CASE("The text of a small trace is this") {
  TraceDocument document;
  document.title = "golden";
  document.tasks.push_back({.name = "t", .operation = "op"});
  document.streams.push_back({});
  document.devices.push_back("d");
  document.hosts.push_back("h");
  document.trace.tasks = {span(0, 0, 1us, 2500ns, 500ns)};
  document.trace.ended = at(3us);
  CHECK(
      chrome_json(document) ==
      R"({"displayTimeUnit":"ns","otherData":{"schedlab":"trace","version":1,"title":"golden","origin":"","policy":"","machine":"","ended_ps":3000000,"tasks":1,"devices":["d"],"hosts":["h"],"streams":[{"device":0,"priority":0,"name":""}],"not_run":[]},"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"host"}},
{"ph":"M","name":"process_sort_index","pid":1,"tid":0,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"h"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":0}},
{"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"d"}},
{"ph":"M","name":"process_sort_index","pid":2,"tid":0,"args":{"sort_index":1}},
{"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"stream 0"}},
{"ph":"M","name":"thread_sort_index","pid":2,"tid":1,"args":{"sort_index":0}},
{"ph":"X","pid":2,"tid":1,"ts":1,"dur":1.5,"name":"t","cat":"fixed","args":{"task":0,"operation":"op","critical":false,"share":1,"host":0,"stream":0,"device":0,"submitted_ps":500000,"started_ps":1000000,"ended_ps":2500000}},
{"ph":"C","name":"utilization","pid":2,"ts":0,"args":{"percent":0}},
{"ph":"C","name":"running tasks","pid":2,"ts":0,"args":{"tasks":0}},
{"ph":"C","name":"utilization","pid":2,"ts":1,"args":{"percent":100}},
{"ph":"C","name":"running tasks","pid":2,"ts":1,"args":{"tasks":1}},
{"ph":"C","name":"utilization","pid":2,"ts":2.5,"args":{"percent":0}},
{"ph":"C","name":"running tasks","pid":2,"ts":2.5,"args":{"tasks":0}},
{"ph":"C","name":"utilization","pid":2,"ts":3,"args":{"percent":0}},
{"ph":"C","name":"running tasks","pid":2,"ts":3,"args":{"tasks":0}}
]}
)");
}

TEST_CASE("Other files are refused with the file, the place and what was expected") {
  const std::string good = chrome_json(rich_document());
  const auto refused = [](const std::string& text) {
    try {
      (void)read_chrome_json(text, "x.json");
    } catch (const InputError& error) {
      CHECK(error.problem().file == "x.json");
      CHECK_FALSE(error.problem().expected.empty());
      return error.problem().pointer;
    }
    return std::string{"accepted"};
  };
  const auto with = [&good](const std::string& old, const std::string& now) {
    std::string text = good;
    const auto place = text.find(old);
    REQUIRE(place != std::string::npos);
    return text.replace(place, old.size(), now);
  };
  CHECK(refused("") != "accepted");
  CHECK(refused("[]") != "accepted");
  CHECK(refused("{\"traceEvents\": []}") != "accepted");
  CHECK(refused(with("\"version\":1", "\"version\":2")) == "/otherData/version");
  CHECK(refused(with("\"schedlab\":\"trace\"", "\"schedlab\":\"plan\"")) == "/otherData/schedlab");
  CHECK(refused(with("\"tasks\":4", "\"tasks\":4000000000")) == "/otherData");
  CHECK(refused(with("\"tasks\":4", "\"tasks\":5")) == "/otherData/tasks");
  CHECK(refused(with("\"args\":{\"task\":2", "\"args\":{\"task\":77")) == "/traceEvents/11/args");
  CHECK(refused(with("\"args\":{\"task\":2", "\"args\":{\"task\":0")) == "/traceEvents/11/args");
  CHECK(refused(with("\"cat\":\"gemm\"", "\"cat\":\"gem\"")) != "accepted");
  CHECK(refused(with("\"kind\":\"query\"", "\"kind\":\"ask\"")) != "accepted");
  CHECK(refused(with("\"ended_ps\":22000000", "\"ended_ps\":1")) == "/traceEvents/11/args");
  CHECK(refused(with("\"started_ps\":12000007", "\"started_ps\":1.5")) != "accepted");
}

TEST_CASE("A damaged file is refused or read, but never more than that") {
  const std::string good = chrome_json(rich_document());
  Rng rng{3};
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = good;
    if (round % 2 == 0) text.resize(rng.below(text.size()));
    for (int i = 0; i < 3 && !text.empty(); ++i) {
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    }
    try {
      (void)read_chrome_json(text, "x.json");
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace schedlab
