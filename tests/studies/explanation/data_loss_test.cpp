// SPDX-License-Identifier: Apache-2.0
// Profiles in which launches of device graphs lack nodes: every verb says so first, marks what is
// not known, and refuses to change it.
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/comparison/compare_verb.hpp"
#include "studies/comparison/comparison.hpp"
#include "studies/explanation/explain_verb.hpp"
#include "studies/explanation/explanation.hpp"
#include "studies/explanation/import_summary.hpp"
#include "studies/explanation/import_verb.hpp"
#include "studies/explanation/replay_report.hpp"
#include "studies/explanation/replay_verb.hpp"
#include "tests/studies/explanation/imported_profile.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Four launches of a graph of a copy-like kernel "gemm" (60 us) and "norm" (20 us), 100 us apart,
/// and an eager kernel "tail" at the end. `recorded`: nodes of each launch that the profile has.
std::string profile(std::initializer_list<int> recorded) {
  json events = json::array();
  int start = 0;
  int correlation = 1;
  for (const int nodes : recorded) {
    events.push_back(testing::profile_span("cpu_op", "replay", 11, start, 12));
    events.push_back(testing::profile_call("cudaGraphLaunch", correlation, start + 1, 10));
    if (nodes > 0) {
      events.push_back(testing::profile_kernel("gemm", correlation, 7, start + 12, 60));
    }
    if (nodes > 1) {
      events.push_back(testing::profile_kernel("norm", correlation, 7, start + 74, 20));
    }
    start += 100;
    ++correlation;
  }
  events.push_back(testing::profile_call("cudaLaunchKernel", correlation, start, 5));
  events.push_back(testing::profile_kernel("tail", correlation, 7, start + 10, 30));
  events.push_back(testing::profile_call("cudaDeviceSynchronize", correlation + 1, start + 10, 40));
  return json{{"schemaVersion", 1}, {"traceEvents", events}}.dump();
}

struct Session : testing::VerbSession {
  testing::TemporaryFolder folder;

  Session() {
    write("whole.json", profile({2, 2, 2, 2}));
    write("lost.json", profile({2, 1, 0, 2}));
  }
  void write(const char* name, const std::string& text) const {
    write_file_atomically(folder.path() / name, text);
  }
  [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }
  [[nodiscard]] std::string read(const char* name) const { return read_file(folder.path() / name); }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("explain says first that launches lack nodes, and marks what it then says") {
  Session session;
  ExplainOptions options{.input = session.path("lost.json"), .out = session.path("why")};
  options.what_if = true;
  REQUIRE(session.call(options) == exit_done);
  const std::string text = session.out.str();
  CHECK(text.find("data_loss: 2 of 4 launches of graphs") < text.find("makespan"));
  CHECK(has(text, "shortens the run by"));
  CHECK(has(text, "(unreliable)."));
  CHECK(has(text, "What the device does (unreliable)"));
  CHECK(has(text, "Not simulated: changes depend on what the profile does not have"));
  CHECK(has(text, "how much one could have ended later (unreliable)") ==
        has(text, "longest kernels"));
  const std::string saved = session.read("why/explain.json");
  CHECK_NOTHROW(read_checked_json(saved, explanation_schema(), "explain.json"));
  const json file = json::parse(saved);
  CHECK(file.at("reliable") == false);
  CHECK(file.at("cost_evidence") == "measured");
  // From the second launch to the first node of the fourth.
  CHECK(file.at("unreliable") == json::array({{{"from_us", 101.0}, {"to_us", 312.0}}}));
  std::size_t unreliable = 0;
  for (const json& bin : file.at("bins")) unreliable += bin.at("reliable") ? 0U : 1U;
  CHECK(unreliable >= 46);  // of 100 slices of 450 us, those in 211 us
  CHECK(unreliable <= 49);
  CHECK(has(session.read("why/report.html"), "(unreliable)"));
  CHECK(has(session.read("why/bound.svg"), "(unreliable)"));
  const std::string gaps = session.read("why/explain.csv");
  CHECK(has(gaps, ",reliable,"));
  CHECK(has(session.read("why/kernels.csv"), "norm,2,"));
}

TEST_CASE("a whole profile is reliable, and says nothing") {
  Session session;
  REQUIRE(session.call(ExplainOptions{.input = session.path("whole.json"),
                                      .out = session.path("why")}) == exit_done);
  CHECK_FALSE(has(session.out.str(), "unreliable"));
  const json file = json::parse(session.read("why/explain.json"));
  CHECK(file.at("reliable") == true);
  CHECK(file.at("unreliable").empty());
  CHECK_FALSE(file.contains("data_loss"));
}

TEST_CASE("what siblings tell is filled in, and said") {
  Session session;
  ExplainOptions options{.input = session.path("lost.json"), .out = session.path("why")};
  options.what_if = true;
  options.assume_like_siblings = true;
  REQUIRE(session.call(options) == exit_done);
  CHECK_FALSE(has(session.out.str(), "unreliable"));
  CHECK(has(session.out.str(), "assumed: 3 nodes of 2 launches"));
  json file = json::parse(session.read("why/explain.json"));
  CHECK(file.at("reliable") == true);
  CHECK(has(file.at("assumed"), "3 nodes"));
  REQUIRE(session.call(ExplainOptions{.input = session.path("whole.json"),
                                      .out = session.path("whole")}) == exit_done);
  // This program's launches are all alike, so that nothing is left of the loss.
  const json whole = json::parse(session.read("whole/explain.json"));
  CHECK(file.at("bound") == whole.at("bound"));
}

TEST_CASE("replay refuses changes of what the profile lacks, with the reason") {
  Session session;
  ReplayOptions options;
  options.traces = {session.path("lost.json")};
  options.mode = "copied_host_work";
  options.out = session.path("out");
  for (const char* change :
       {"host=0.5", "scale:norm=0.5", "scale:gemm=0.5", "remove:norm", "host=1,scale:tail=0.5"}) {
    CAPTURE(change);
    options.what_if = {change};
    CHECK_THROWS_WITH_AS(
        (void)session.call(options), doctest::Contains("depends on what"), InfeasibleError);
    CHECK_FALSE(fs::exists(options.out));
  }
  options.what_if = {"scale:tail=0.5"};  // all there, behind what is not
  REQUIRE(session.call(options) == exit_done);
  CHECK(session.out.str().starts_with(options.traces.front() + ": data_loss: 2 of 4"));
  CHECK(has(session.out.str(), "%) (unreliable)"));
  const std::string saved = session.read("out/replay.json");
  CHECK_NOTHROW(read_checked_json(saved, replay_schema(), "replay.json"));
  const json file = json::parse(saved);
  CHECK(file.at("cost_evidence") == "replayed");
  const json& rank = file.at("ranks").at(0);
  CHECK(rank.at("reliable") == false);
  CHECK(rank.at("graph_losses").size() == 2);
  CHECK(rank.at("graph_losses").at(1).at("recorded") == 0);
  CHECK(rank.at("graph_losses").at(1).at("expected") == 2);
}

TEST_CASE("replay with siblings' nodes makes any change, and tells them from recorded ones") {
  Session session;
  ReplayOptions options;
  options.traces = {session.path("lost.json")};
  options.assume_like_siblings = true;
  options.what_if = {"scale:norm=0.5"};
  options.out = session.path("out");
  REQUIRE(session.call(options) == exit_done);
  CHECK(has(session.out.str(), "assumed: 3 nodes of 2 launches"));
  const json rank = json::parse(session.read("out/replay.json")).at("ranks").at(0);
  CHECK(rank.at("reliable") == true);
  CHECK(rank.at("graph_losses").at(1).at("filled") == 2);
  const std::string items = session.read("out/items.csv");
  CHECK(has(items, ",given,assumed,"));
  CHECK(has(items, "norm,1,1,"));  // neither predicted nor recorded
}

TEST_CASE("import lists the launches that lack nodes") {
  Session session;
  const auto read_in = [&](bool assume) {
    return session.call(ImportOptions{.inputs = {session.path("lost.json")},
                                      .out = session.path("in"),
                                      .assume_like_siblings = assume,
                                      .overwrite = true});
  };
  REQUIRE(read_in(false) == exit_done);
  CHECK(has(session.out.str(), "data_loss graph_launch_under_recorded"));
  CHECK_NOTHROW(read_checked_json(session.read("in/import.json"), import_schema(), "import.json"));
  CHECK(has(session.read("in/activities.csv"), ",bytes,assumed"));
  REQUIRE(read_in(true) == exit_done);
  const json rank = json::parse(session.read("in/import.json")).at("ranks").at(0);
  CHECK(rank.at("kernels") == 9);
  CHECK(rank.at("graph_losses").at(0).at("filled") == 1);
}

TEST_CASE("compare says which of two profiles lacks nodes") {
  Session session;
  REQUIRE(session.call(CompareOptions{.first = session.path("whole.json"),
                                      .second = session.path("lost.json"),
                                      .out = session.path("both")}) == exit_done);
  CHECK(has(session.out.str(), session.path("lost.json") + ": data_loss: 2 of 4"));
  const std::string saved = session.read("both/comparison.json");
  CHECK_NOTHROW(read_checked_json(saved, comparison_schema(), "comparison.json"));
  const json runs = json::parse(saved).at("runs");
  CHECK(runs.at("first_loss").at("reliable") == true);
  CHECK(runs.at("second_loss").at("reliable") == false);
  CHECK(runs.at("second_evidence") == "measured");
}

}  // namespace
}  // namespace schedlab
