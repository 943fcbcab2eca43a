// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/trace/document.hpp"
#include "sim/trace/merged_chrome_json.hpp"
#include "tests/sim/trace_support.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace schedlab {
namespace {

using namespace testing;

TEST_CASE("Two runs become two processes on one time axis, task beside task") {
  const TinyRun run = tiny_run();
  const TraceDocument simulated = make_document(run.problem(), run.plan, run.trace, "tiny \"run\"");
  Trace slower = run.trace;
  for (TaskSpan& span : slower.tasks) {
    span.started += 1us;
    span.ended += 3us;  // 2 us longer
  }
  slower.ended += 3us;
  const TraceDocument measured =
      make_document(run.problem(), run.plan, slower, "tiny", "measured cpu");
  const auto merged = nlohmann::json::parse(merged_chrome_json(simulated, measured));
  CHECK(merged.at("otherData").at("makespan_us").at("first") == 60);
  CHECK(merged.at("otherData").at("makespan_us").at("second") == 63);

  std::map<int, std::string> processes;
  std::map<int, int> tasks;
  for (const auto& event : merged.at("traceEvents")) {
    const int process = event.at("pid");
    if (event.at("name") == "process_name") processes[process] = event.at("args").at("name");
    if (event.at("ph") != "X" || event.at("cat") == "host_call") continue;
    ++tasks[process];
    if (process == 1) {
      CHECK(!event.at("args").contains("took_longer_us"));
      continue;
    }
    CHECK(event.at("args").at("started_later_us") == 1);
    CHECK(event.at("args").at("took_longer_us") == 2);
  }
  CHECK(processes == std::map<int, std::string>{{1, "simulated"}, {2, "measured cpu"}});
  CHECK(tasks == std::map<int, int>{{1, 4}, {2, 4}});
}

TEST_CASE("A merged trace is for viewers: reading it back says what it is not") {
  const TinyRun run = tiny_run();
  const TraceDocument document = make_document(run.problem(), run.plan, run.trace, "tiny");
  const std::string text = merged_chrome_json(document, document);
  CHECK_THROWS_AS(static_cast<void>(read_chrome_json(text, "merged.json")), InputError);
}

}  // namespace
}  // namespace schedlab
