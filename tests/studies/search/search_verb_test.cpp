// SPDX-License-Identifier: Apache-2.0
#include "studies/search/search_verb.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/spec/spec.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>

using namespace schedlab;

namespace {

constexpr const char* case_spec = R"({
  "workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 6, "batch": 32, "hidden": 256},
  "machine": "v100", "policy": ["cudnn_like", "critical_first"]})";

struct SearchSession : testing::VerbSession {
  testing::TemporaryFolder folder;
  SearchVerbOptions options{.spec = (folder.path() / "spec.json").string(),
                            .out = (folder.path() / "best").string(),
                            .seconds = 0,
                            .evaluations = 300,
                            .json = true};

  explicit SearchSession(const char* spec = case_spec) {
    write_file_atomically(folder.path() / "spec.json", spec);
  }
};

}  // namespace

TEST_CASE("search writes a plan that simulate runs in the makespan it says") {
  SearchSession session;
  REQUIRE(session.call(session.options) == exit_done);
  const auto found = session.printed();
  CHECK(found["makespan_ps"] <= found["policy_makespan_ps"]);
  CHECK(found["case_gap"] >= 1);
  const std::string plan = (session.folder.path() / "best/plan.json").string();
  const auto granularity = found["granularity"].get<std::string>();
  const Spec spec = parse_spec(
      std::string{R"({"workload": {"kind": "lstm", "pass": "backward", "layers": 2, "steps": 6,
           "batch": 32, "hidden": 256, "granularity": ")"} +
          granularity + R"("}, "machine": "v100", "policy": {"name": "plan_file", "path": ")" +
          plan + "\"}}",
      "spec",
      session.folder.path());
  const Simulation again = simulate(spec);
  CHECK(again.metrics.makespan.count() == found["makespan_ps"]);
  CHECK(again.run.findings.empty());
}

TEST_CASE("evaluations alone give the same files, on any number of islands; resumed is no worse") {
  for (const std::uint32_t jobs : {1U, 3U}) {
    SearchSession one;
    SearchSession two;
    one.options.jobs = two.options.jobs = jobs;
    REQUIRE(one.call(one.options) == exit_done);
    REQUIRE(two.call(two.options) == exit_done);
    for (const char* file : {"plan.json", "search.json", "improvements.csv"}) {
      CHECK(read_file((one.folder.path() / "best" / file).string()) ==
            read_file((two.folder.path() / "best" / file).string()));
    }
    const auto before = one.printed();
    one.options.resume = one.options.out;
    one.options.out += "_again";
    one.options.seed = 2;
    REQUIRE(one.call(one.options) == exit_done);
    CHECK(one.printed()["makespan_ps"] <= before["makespan_ps"]);
  }
}

TEST_CASE("search refuses several cases and no limit; a gap above the limit fails") {
  SearchSession several{R"({
    "workload": {"kind": "lstm", "pass": "backward", "layers": [2, 3], "steps": 4, "batch": 32, "hidden": 256},
    "machine": "v100", "policy": "cudnn_like"})"};
  CHECK_THROWS_WITH_AS(static_cast<void>(several.call(several.options)),
                       doctest::Contains("/workload: found several values"),
                       InputError);
  SearchSession session;
  session.options.max_gap = 0;
  session.options.evaluations = 1;
  CHECK(session.call(session.options) == exit_failed);
  CHECK(session.err.str().find("over its bound") != std::string::npos);
  session.options.evaluations = 0;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(session.options)), doctest::Contains("--seconds"), InputError);
}
