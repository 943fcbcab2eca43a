// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_schema.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/explanation/explain_verb.hpp"
#include "studies/explanation/imported_run.hpp"
#include "studies/explanation/input_content.hpp"
#include "studies/explanation/top_kernels.hpp"
#include "studies/explanation/what_if.hpp"
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
using namespace schedlab::literals;
using nlohmann::json;

struct Session : testing::VerbSession {
  testing::TemporaryFolder folder;

  Session() { write_file_atomically(file(), testing::small_profile()); }
  [[nodiscard]] fs::path file() const { return folder.path() / "profile.json"; }
};

TEST_CASE("explain tells a profile from a trace of its own, and writes what it found") {
  Session session;
  CHECK(input_content(session.file().string()) == InputContent::profile);
  CHECK(input_content(session.folder.path().string()) == InputContent::own_trace);
  ExplainOptions options;
  options.input = session.file().string();
  options.out = (session.folder.path() / "why").string();
  options.within = "step";
  options.what_if = true;
  REQUIRE(session.call(options) == exit_done);
  CHECK(session.out.str().find("critical path through operators") != std::string::npos);
  const fs::path why = session.folder.path() / "why";
  for (const char* name :
       {"explain.json", "kernels.csv", "operator_path.json", "critical_path_overlay.json"}) {
    CHECK(fs::exists(why / name));
  }
  const auto expect_fit = [&](const char* name, const char* which) {
    static_cast<void>(session.call(SchemaOptions{.which = which}));
    const std::string text = read_file(why / name);
    CHECK_NOTHROW(read_checked_json(text, session.out.str(), which));
  };
  expect_fit("explain.json", "explanation");
  expect_fit("operator_path.json", "operator_path");
  // 10 of the operator before its launch, 7 of launch delay, 300 of the kernel.
  const json path = json::parse(read_file(why / "operator_path.json"));
  CHECK(path.at("length_us") == 317.0);
  const json overlay = json::parse(read_file(why / "critical_path_overlay.json"));
  CHECK(overlay.at("traceEvents").back().at("name") == "gemm");
  CHECK(overlay.at("traceEvents").back().at("ts") == 1'000'027);  // the profile's own clock
}

TEST_CASE("the annotation that --within names must be there") {
  Session session;
  ExplainOptions options;
  options.input = session.file().string();
  options.within = "stop";
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("annotations: \"step\""),
                       InputError);
  options.within = "step";
  options.instance = 1;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(options)), doctest::Contains("instances 0 to 0"), InputError);
}

TEST_CASE("a kernel's slack is the time until somebody waits for it") {
  const Session session;
  const ExplainedRun run = explained_run(load_imported_run({session.file()}));
  const auto totals = kernel_totals(run);
  REQUIRE(totals.size() == 2);
  CHECK(totals[0].operation == "gemm");
  CHECK(totals[0].running == 300us);
  CHECK(totals[0].min_slack == 0us);  // the host's call returns with its end
  CHECK(totals[0].no_slack == 300us);
  CHECK(totals[1].min_slack == 0us);  // likewise: the call was made before either had ended
}

TEST_CASE("a faster host of a profile does its own work in less time, too") {
  const Session session;
  const WhatIfTable table = what_if(explained_run(load_imported_run({session.file()})));
  for (const WhatIf& change : table.changes) {
    if (change.name != "ideal_host") continue;
    // The gemm starts at its launch latency of 2 us, as the host needs no time.
    REQUIRE(change.makespan.has_value());
    CHECK(*change.makespan < table.replay);
    CHECK(*change.makespan >= 300us);
  }
  CHECK(table.replay_error() == doctest::Approx(0.0).epsilon(0.02));
}

}  // namespace
}  // namespace schedlab
