// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/operation_legend.hpp"
#include "notebooks_export/palette.hpp"
#include "notebooks_export/timelines.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using namespace testing;
using namespace literals;

/// `tasks` tasks on `streams` streams one after another, lengths from 0.5 to 1.5 us.
[[nodiscard]] TraceDocument document_of(std::uint32_t tasks, std::uint32_t streams) {
  TraceDocument document;
  document.title = "a run";
  document.policy = "some_policy";
  document.machine = "some_machine";
  document.devices.push_back("device");
  document.hosts.push_back("host");
  for (std::uint32_t s = 0; s < streams; ++s) document.streams.push_back({DeviceId{0}, 0, ""});
  Rng rng{1};
  std::vector<Time> until(streams);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const char* names[] = {"cell", "hidden_1", "weight_1", "other"};
    document.tasks.push_back({.name = "task " + std::to_string(i),
                              .operation = names[rng.below(4)],
                              .kind = TaskKind::gemm,
                              .critical = i % 3 == 0,
                              .share = 0.1});
    Time& now = until[i % streams];
    const Duration length{500'000 + static_cast<std::int64_t>(rng.below(1'000'000))};
    document.trace.tasks.push_back(
        {TaskId{i}, StreamId{i % streams}, HostId{0}, DeviceId{0}, {}, now, now + length});
    now += length;
    document.trace.ended = std::max(document.trace.ended, now);
  }
  return document;
}

TEST_CASE("A timeline is well-formed and names policy, machine, makespan, streams and tasks") {
  const std::string svg = timeline_svg(document_of(12, 3));
  CHECK(xml_problem(svg) == "");
  for (const char* part : {"some_policy",
                           "some_machine",
                           "makespan",
                           "12 tasks on 3 streams",
                           "stream 2",
                           "task 11",
                           "time (us)",
                           "mean "}) {
    CAPTURE(part);
    CHECK(occurrences(svg, part) >= 1);
  }
  // Outlines have one meaning: without a critical path there are none.
  CHECK(occurrences(svg, "critical") == 0);
}

TEST_CASE("Names cannot break out of a timeline") {
  TraceDocument document = document_of(3, 1);
  document.title = "<script>alert(1)</script>";
  document.tasks[TaskId{0}].name = "\"/><script>";
  document.tasks[TaskId{1}].operation = "<b>&\x02\xFF";
  document.streams[StreamId{0}].name = "</svg>";
  const std::string svg = timeline_svg(document);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "<script") == 0);
  CHECK(occurrences(svg, "</svg>") == 1);
}

TEST_CASE("Twenty thousand tasks make a picture below two megabytes") {
  for (const std::uint32_t streams : {1U, 33U, 1000U}) {
    CAPTURE(streams);
    const std::string svg = timeline_svg(document_of(20'000, streams));
    CHECK(xml_problem(svg) == "");
    CHECK(svg.size() < 2'000'000);
  }
}

TEST_CASE("Long tasks have their tooltips beside any number of short ones") {
  TraceDocument document = document_of(20'000, 4);
  TaskSpan& last = document.trace.tasks.back();
  last.ended += 10ms;  // three times as long as all others together
  document.trace.ended = last.ended;
  const std::string svg = timeline_svg(document);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "<title>task 19999: ") == 1);
}

TEST_CASE("Of too many streams the busiest are shown, and the picture says so") {
  TimelineOptions options;
  options.max_streams = 4;
  const std::string svg = timeline_svg(document_of(60, 6), options);
  CHECK(occurrences(svg, "60 tasks on 6 streams") == 1);
  CHECK(occurrences(svg, "the busiest 4 shown") == 1);
}

TEST_CASE("Of too many devices the first are shown, whole, and their hosts") {
  TraceDocument document = document_of(90, 30);
  for (std::uint32_t rank = 1; rank < 10; ++rank) {
    document.devices.push_back("rank " + std::to_string(rank));
    document.hosts.push_back("process " + std::to_string(rank));
  }
  for (const StreamId stream : document.streams.ids()) {
    document.streams[stream].device = DeviceId{stream.value() / 3};
  }
  for (std::uint32_t rank = 0; rank < 10; ++rank) {
    document.trace.hosts.push_back(
        {HostId{rank}, 0, HostCall::launch(StreamId{3 * rank}, TaskId{0}), {}, Time{1us}, {}});
  }
  TimelineOptions options;
  options.max_streams = 7;
  const std::string svg = timeline_svg(document, options);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "2 devices shown") == 1);
  CHECK(occurrences(svg, "rank 1 stream 5") == 1);
  CHECK(occurrences(svg, "stream 6") == 0);
  CHECK(occurrences(svg, "process 1<") == 1);
  CHECK(occurrences(svg, "process 2<") == 0);
}

TEST_CASE("Tasks of the critical path are framed, one frame each") {
  TraceDocument document = document_of(6, 2);
  TimelineOptions options;
  options.critical_path = {TaskId{0}, TaskId{3}};
  const std::string svg = timeline_svg(document, options);
  CHECK(occurrences(svg, "critical path") == 1);
  // Frames have a black stroke of 1.2; the one in the legend is wider.
  CHECK(occurrences(svg, "stroke=\"#000000\" stroke-width=\"1.2\"") == 2);
}

TEST_CASE("Arrows are drawn while they are few") {
  TraceDocument document = document_of(6, 2);
  document.trace.flows = {{EventId{0}, StreamId{0}, StreamId{1}, Time{1us}, Time{2us}}};
  CHECK(occurrences(timeline_svg(document), ">event<") == 1);
  document.trace.flows.resize(61, document.trace.flows.front());
  CHECK(occurrences(timeline_svg(document), ">event<") == 0);
}

TEST_CASE("Host calls have a track when they were recorded") {
  TraceDocument document = document_of(3, 1);
  CHECK(occurrences(timeline_svg(document), "host: launch") == 0);
  document.trace.hosts = {
      {HostId{0}, 0, HostCall::launch(StreamId{0}, TaskId{0}), Time{}, Time{1us}, Duration{0}},
      {HostId{0}, 1, HostCall::synchronize_all(), Time{1us}, Time{2us}, 900ns}};
  const std::string svg = timeline_svg(document);
  CHECK(occurrences(svg, "host: launch") == 1);
  CHECK(occurrences(svg, "host: blocked, asleep") == 1);
}

TEST_CASE("A window shows what happens in it, on an axis that begins where it does") {
  TraceDocument document = document_of(3, 1);
  const auto run = [&](std::uint32_t task, std::int64_t from_us, std::int64_t to_us) {
    document.trace.tasks[task].started = Time{Duration{from_us * 1'000'000}};
    document.trace.tasks[task].ended = Time{Duration{to_us * 1'000'000}};
  };
  run(0, 0, 100);
  run(1, 100, 250);
  run(2, 300, 400);
  document.trace.ended = Time{Duration{400'000'000}};
  const TimelineWindow window{Duration{200'000'000}, Duration{280'000'000}};
  const std::string svg = timeline_svg(document, {.window = window});
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "200 us to 280 us of it") == 1);
  CHECK(occurrences(svg, ">200</text>") == 1);  // the first tick
  CHECK(occurrences(svg, ">0</text>") == 0);
  CHECK(occurrences(svg, "task 0") == 0);
  CHECK(occurrences(svg, "task 1") >= 1);
  CHECK(occurrences(svg, "task 2") == 0);
  // A tenth of the units in 50 of 80 us.
  CHECK(occurrences(svg, "mean 6 %") == 1);
}

TEST_CASE("The mean of the curve can be the metric's") {
  TimelineOptions options;
  options.mean_utilization = 0.875;
  CHECK(occurrences(timeline_svg(document_of(6, 2), options), "mean 88 %") == 1);
}

TEST_CASE("An empty trace is a picture too") {
  CHECK(xml_problem(timeline_svg({})) == "");
  TraceDocument document = document_of(2, 1);
  document.trace = {};
  CHECK(xml_problem(timeline_svg(document)) == "");
}

TEST_CASE("A trace without labels is refused") {
  TraceDocument document = document_of(2, 1);
  document.tasks.clear();
  CHECK_THROWS_AS((void)timeline_svg(document), ContractViolation);
}

TEST_CASE("names that would be cut to the same text show where they differ") {
  const std::vector<std::string> names{
      "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128>",
      "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512>",
      "short"};
  const auto labels = fitted_apart(names, 220, 11);
  CHECK(labels[0] != labels[1]);
  CHECK(labels[0].find("128") != std::string::npos);
  CHECK(labels[1].find("512") != std::string::npos);
  CHECK(labels[2] == "short");
}

TEST_CASE("of more operations than colours the longest have one each, and the rest is grey") {
  std::vector<std::string> operations;
  std::vector<Duration> running;
  for (int i = 0; i < 40; ++i) {
    operations.push_back("operation " + std::to_string(i));
    running.emplace_back(i);
  }
  const auto colors = colors_by_time(operations, running, {});
  std::set<std::string> longest(colors.begin() + 26, colors.end());
  CHECK(longest.size() == 14);
  for (int i = 0; i < 26; ++i) CHECK(colors.at(static_cast<std::size_t>(i)) == "#DDDDDD");
}

TEST_CASE("An operation keeps its colour whatever runs beside it") {
  const auto alone = operation_colors({"my_kernel"});
  const auto together = operation_colors({"zebra", "my_kernel", "cell", "zebra"});
  CHECK(alone.at("my_kernel") == together.at("my_kernel"));
  CHECK(together.at("cell") == okabe_ito::vermillion);
  CHECK(together.size() == 3);
  std::vector<std::string> many;
  for (int i = 0; i < 16; ++i) many.push_back("op" + std::to_string(i));
  std::map<std::string, int> uses;
  for (const auto& [name, color] : operation_colors(many)) ++uses[color];
  CHECK(uses.size() == 16);  // no two alike while colours last
}

TEST_CASE("Labels are readable on their bars") {
  CHECK(readable_on("#F0E442") == "#000000");
  CHECK(readable_on("#0072B2") == "#ffffff");
}

TEST_CASE("The time axes of several runs begin at the same place, whatever their labels need") {
  TraceDocument named = document_of(8, 3);
  const TraceDocument plain = document_of(8, 3);
  named.streams[StreamId{1}].name = "a_stream_with_a_long_name";
  const double wide = timeline_picture(named).axis_left;
  CHECK(wide > timeline_picture(plain).axis_left);
  TimelineOptions moved;
  moved.axis_left = wide;
  CHECK(timeline_picture(plain, moved).axis_left == wide);
  const std::string right = timeline_svg(plain, moved);
  for (const auto& runs : {std::vector{named, plain}, std::vector{plain, named}}) {
    CHECK(timelines_svg(runs).find(right.substr(right.find("<title>"))) != std::string::npos);
  }
}

TEST_CASE("Timelines of several runs share the time axis and the colour of each operation") {
  const TraceDocument longer = document_of(40, 3);
  TraceDocument shorter = document_of(8, 3);
  for (TaskLabel& task : shorter.tasks) task.operation = "merge";
  const std::vector<TraceDocument> runs{longer, shorter};
  const std::string svg = timelines_svg(runs);
  CHECK(xml_problem(svg) == "");
  CHECK(occurrences(svg, "<svg ") == 3);
  // The longer run is drawn as alone; the shorter one, of 3 us, has its axis of 13 us.
  TimelineOptions options;
  options.other_operations = {"merge"};
  const std::string alone = timeline_svg(longer, options);
  CHECK(svg.find(alone.substr(alone.find("<title>"))) != std::string::npos);
  options.axis_end = longer.trace.makespan();
  const std::string beside = timeline_svg(shorter, options);
  CHECK(occurrences(beside, ">10</text>") == 1);
  CHECK(occurrences(timeline_svg(shorter), ">10</text>") == 0);
  TimelineOptions twice;
  twice.axis_end = 2 * longer.trace.makespan();
  CHECK(timeline_picture(longer, twice).height == timeline_picture(longer).height);
  CHECK(timeline_svg(longer, twice) != timeline_svg(longer));
  CHECK_THROWS_AS((void)timelines_svg(std::vector<TraceDocument>{}), ContractViolation);
}

}  // namespace
}  // namespace schedlab
