// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/timeline_viewer.hpp"

#include "sim/base/error.hpp"
#include "tests/notebooks_export/xml_check.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace schedlab {
namespace {

using namespace testing;

Time at_ps(std::int64_t ps) {
  return Time{Duration{ps}};
}

/// Two tasks in stream 1, the first of which releases the only task of stream 0.
TraceDocument three_tasks() {
  TraceDocument document;
  document.title = "a run";
  document.devices.push_back("device");
  document.hosts.push_back("host");
  document.streams.push_back({DeviceId{0}, 0, ""});
  document.streams.push_back({DeviceId{0}, 0, "second"});
  for (const char* name : {"first", "second", "third"}) {
    document.tasks.push_back(
        {.name = name, .operation = "work", .kind = TaskKind::gemm, .share = 0.5});
  }
  const HostId host{0};
  const DeviceId device{0};
  document.trace.tasks = {{TaskId{0}, StreamId{1}, host, device, at_ps(0), at_ps(100), at_ps(400)},
                          {TaskId{1}, StreamId{1}, host, device, at_ps(0), at_ps(400), at_ps(463)},
                          {TaskId{2}, StreamId{0}, host, device, at_ps(0), at_ps(450), at_ps(500)}};
  document.trace.flows = {{EventId{0}, StreamId{1}, StreamId{0}, at_ps(400), at_ps(440)}};
  document.trace.ended = at_ps(500);
  return document;
}

nlohmann::json data_of(const std::string& page) {
  constexpr std::string_view begin = "<script type=\"application/json\" id=\"runs\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST_CASE("A viewer has the tasks of each stream by start, as differences of 7 bits a byte") {
  const TraceDocument document = three_tasks();
  const ViewedRun run{.document = &document, .critical_path = {TaskId{0}}};
  const auto data = data_of(timeline_html({&run, 1}));
  const auto& shown = data.at("runs").at(0);
  CHECK(data.at("operations") == nlohmann::json{"work"});
  CHECK(data.at("kinds") == nlohmann::json{"gemm"});
  CHECK(shown.at("names") == "third\nfirst\nsecond\n");
  CHECK(shown.at("rows").at(0) == nlohmann::json{{"name", "stream 0"}, {"tasks", 1}});
  CHECK(shown.at("rows").at(1) == nlohmann::json{{"name", "second"}, {"tasks", 2}});
  // 450, 100 and 400 are +450, -350, +300; with the sign in the lowest bit 900, 699, 600, which is
  // 84 07 | BB 05 | D8 04 in bytes.
  CHECK(shown.at("start") == "hAe7BdgE");
  // 50, 300, 63: 100, 600, 126 are 64 | D8 04 | 7E.
  CHECK(shown.at("duration") == "ZNgEfg==");
  // The third waits for the event after the first, which is one place on (-1 as 01); the first for
  // none known (00); the second for the first before it in its stream (1 as 02).
  CHECK(shown.at("by") == "AQAC");
  // run_start 0, dependency 1 (as 02), stream_order 2 (as 04).
  CHECK(shown.at("cause") == "AgAE");
  CHECK(shown.at("critical") == "Ag==");  // place 1, as 02
}

TEST_CASE("Given releases are shown as they are") {
  const TraceDocument document = three_tasks();
  const ViewedRun run{.document = &document,
                      .releases = {{TaskRelease::none, PathCause::host},
                                   {0, PathCause::resource},
                                   {1, PathCause::dependency}}};
  const auto data = data_of(timeline_html({&run, 1}));
  // third: two places on (-2 as 03); first: none; second: one back (as 02).
  CHECK(data.at("runs").at(0).at("by") == "AwAC");
  // dependency 1, host 3, resource 4: 02 06 08.
  CHECK(data.at("runs").at(0).at("cause") == "AgYI");
}

TEST_CASE("Names cannot leave the data of a viewer") {
  TraceDocument document = three_tasks();
  document.title = "</title><script>";
  document.tasks[TaskId{0}].name = "</script><script>alert(1)</script>";
  document.tasks[TaskId{1}].name = "<!--\n\"'\\";
  document.streams[StreamId{1}].name = "<script>";
  const ViewedRun run{.document = &document};
  const std::string page = timeline_html({&run, 1});
  CHECK(occurrences(page, "<script") == 2);
  CHECK(occurrences(page, "</script") == 2);
  CHECK(occurrences(page, "<!--") == 0);
  CHECK(data_of(page).at("runs").at(0).at("names") ==
        "third\n</script><script>alert(1)</script>\n<!-- \"'\\\n");
}

TEST_CASE(
    "A viewer of several runs gives an operation one number, and an empty trace is a run too") {
  const TraceDocument first = three_tasks();
  TraceDocument second = three_tasks();
  second.tasks[TaskId{2}].operation = "other";
  TraceDocument empty;
  const std::vector<ViewedRun> runs{
      {.document = &first}, {.document = &second}, {.document = &empty}};
  const auto data = data_of(timeline_html(runs));
  CHECK(data.at("operations") == nlohmann::json{"work", "other"});
  CHECK(data.at("runs").size() == 3);
  CHECK(data.at("runs").at(2).at("names") == "");
  CHECK_THROWS_AS((void)timeline_html({}), ContractViolation);
}

TEST_CASE("A trace without labels is no run of a viewer") {
  TraceDocument document = three_tasks();
  document.tasks.clear();
  const ViewedRun run{.document = &document};
  CHECK_THROWS_AS((void)timeline_html({&run, 1}), ContractViolation);
}

}  // namespace
}  // namespace schedlab
