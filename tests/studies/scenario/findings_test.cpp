// SPDX-License-Identifier: Apache-2.0
// What the user hears of a plan of his own that is wrong.
#include "cli/cmd_execute.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/findings_text.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>
#include <string>

namespace schedlab {
namespace {

/// A chain of two tasks with a plan of its own.
struct WrongPlan {
  testing::TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;

  /// `messages` and `hosts` as in a plan file; the plan has two streams and one event.
  [[nodiscard]] std::string spec(const std::string& messages, const std::string& hosts) const {
    write_file_atomically(folder.path() / "chain.json", R"({
      "schedlab": "graph", "version": 1,
      "operations": [{"name": "step", "kind": "fixed", "class": "unclassified", "duration_us": 5}],
      "tasks": [{"name": "first", "operation": 0}, {"name": "second", "operation": 0, "needs": [0]}]})");
    write_file_atomically(folder.path() / "wrong.plan.json",
                          fmt::format(R"({{
      "schedlab": "plan", "version": 1, "policy": "by_hand", "events": 1, "messages": [{}],
      "streams": [{{"name": "a", "device": 0, "priority": 0}}, {{"name": "b", "device": 0, "priority": 0}}],
      "hosts": [{}]}})",
                                      messages,
                                      hosts));
    write_file_atomically(folder.path() / "spec.json", R"({
      "workload": {"kind": "file", "path": "chain.json"}, "machine": "v100",
      "policy": {"name": "plan_file", "path": "wrong.plan.json"}})");
    return (folder.path() / "spec.json").string();
  }
  template <class Options>
  std::string error_of(Options options) {
    options.out = (folder.path() / "run").string();
    try {
      static_cast<void>(
          run(options, {.out = out, .err = err, .interactive = false, .stop = nullptr}));
    } catch (const InfeasibleError& error) {
      return error.what();
    }
    return "no InfeasibleError";
  }
  [[nodiscard]] static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_CASE("simulate: a stream that is used after its destruction is the plan's fault, not ours") {
  WrongPlan plan;
  const std::string error =
      plan.error_of(SimulateOptions{.spec = plan.spec("", R"({"name": "", "calls": [
          ["create_stream", 0], ["launch", 0, "first"], ["destroy_stream", 0], ["launch", 0, "second"]]})")});
  CAPTURE(error);
  CHECK(plan.says(error,
                  "the plan cannot be run to its end; the plan checker says what is wrong:\n"
                  "  stream_not_alive: "));
  CHECK(plan.says(error, "call 3 (launch) uses a, which was destroyed by call 2"));
  CHECK_FALSE(plan.says(error, "bug"));
  CHECK_FALSE(plan.says(error, "broke off"));
}

TEST_CASE("simulate: of hosts that wait for each other the cycle is printed") {
  WrongPlan plan;
  // Each waits for the other's message before it sends its own.
  const std::string error = plan.error_of(SimulateOptions{
      .spec = plan.spec(R"({"from": 0, "to": 1, "bytes": 8}, {"from": 1, "to": 0, "bytes": 8})",
                        R"({"name": "left", "calls": [["receive", 1], ["send", 0],
                              ["launch", 0, "first"], ["launch", 0, "second"]]},
                           {"name": "right", "calls": [["receive", 0], ["send", 1]]})")});
  CAPTURE(error);
  CHECK(plan.says(error, "\n  deadlock: "));
  CHECK(plan.says(error, "left"));
  CHECK(plan.says(error, "right"));
  CHECK(plan.says(error, "\n  where the run broke off: "));
}

TEST_CASE("execute: a plan with a race is not run for real") {
  WrongPlan plan;
  const std::string race =
      R"({"name": "", "calls": [["launch", 0, "first"], ["launch", 1, "second"]]})";
  const std::string error = plan.error_of(ExecuteOptions{.spec = plan.spec("", race)});
  CAPTURE(error);
  CHECK(plan.says(error,
                  "the plan is not run on a device, as it is not right: second on b (call 1) is "
                  "not ordered after first on a"));
}

TEST_CASE("ten findings are shown and the others counted") {
  CHECK(findings_text({}, "  ").empty());
  const Finding finding{
      .kind = FindingKind::deadlock, .host = HostId::none(), .call = 0, .message = "m"};
  CHECK(findings_text({finding}, "- ") == "- deadlock: m");
  const std::string text = findings_text(std::vector<Finding>(12, finding), "- ");
  CHECK(text.ends_with("- deadlock: m\n- 2 more"));
}

}  // namespace
}  // namespace schedlab
