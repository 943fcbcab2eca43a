// SPDX-License-Identifier: Apache-2.0
#include "studies/emit/emit_verb.hpp"

#include "studies/scenario/simulate_verb.hpp"
#include "tests/studies/emit/emitted_program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using testing::has;
using testing::refusal;
using testing::TemporaryFolder;
using testing::VerbSession;

constexpr const char* spec_text = R"({
  "workload": {"kind": "lstm", "layers": 2, "steps": 3, "batch": 4, "hidden": 16},
  "machine": "v100", "policy": "diagonal"})";

/// A folder with a spec and what simulate makes of it.
struct Simulated {
  Simulated() {
    write_file_atomically(spec, spec_text);
    SimulateOptions options;
    options.spec = spec;
    options.out = run;
    REQUIRE(session.call(options) == exit_done);
  }
  [[nodiscard]] EmitOptions options(const std::string& input) const {
    EmitOptions made;
    made.input = input;
    made.language = "cuda";
    made.out = (folder.path() / "plan.cu").string();
    return made;
  }
  TemporaryFolder folder;
  std::string spec = (folder.path() / "spec.json").string();
  std::string run = (folder.path() / "run").string();
  VerbSession session;
};

}  // namespace

TEST_CASE("emit takes a spec, the folder of its run, or a plan from a file, to the same program") {
  Simulated at;
  EmitOptions options = at.options(at.spec);
  options.json = true;
  REQUIRE(at.session.call(options) == exit_done);
  CHECK(at.session.printed().at("tasks") == 6);
  CHECK(at.session.printed().at("streams") == 2);
  const std::string of_spec = read_file(options.out);
  options.overwrite = true;
  for (const auto& [input, plan] :
       {std::pair{at.run, std::string{}}, std::pair{at.spec, at.run + "/plan.json"}}) {
    CAPTURE(input);
    options.input = input;
    options.plan = plan;
    REQUIRE(at.session.call(options) == exit_done);
    CHECK(read_file(options.out) == of_spec);
  }
}

TEST_CASE("emit takes a plan whose tasks are cut in another way than the spec's policy wants") {
  Simulated at;  // along diagonals: whole nodes
  std::string other = spec_text;
  other.replace(other.find("diagonal"), 8, "heft");
  write_file_atomically(at.spec, other.insert(other.rfind('}'), R"(, "launch": "graph_launch")"));
  EmitOptions options = at.options(at.spec);
  options.json = true;
  REQUIRE(at.session.call(options) == exit_done);
  CHECK(at.session.printed().at("tasks") == 30);
  CHECK(at.session.printed().at("graphs") == 1);
  options.plan = at.run + "/plan.json";
  options.overwrite = true;
  REQUIRE(at.session.call(options) == exit_done);
  CHECK(at.session.printed().at("tasks") == 6);
  CHECK(at.session.printed().at("graphs") == 0);
  CHECK(has(at.session.printed().at("computes").get<std::string>(), "real recurrent kernels"));
}

TEST_CASE("emit writes the plan that lies in the folder, and refuses one that is not right") {
  Simulated at;
  const auto file = std::filesystem::path(at.run) / "plan.json";
  std::string plan = read_file(file);
  const std::size_t wait = plan.find("[\"wait\"");
  REQUIRE(wait != std::string::npos);
  plan.erase(wait, plan.find('[', wait + 1) - wait);  // the call and its comma
  write_file_atomically(file, plan);
  const EmitOptions options = at.options(at.run);
  CHECK_THROWS_WITH_AS(static_cast<void>(at.session.call(options)),
                       doctest::Contains("the plan is not emitted: it is not right"),
                       InfeasibleError);
  CHECK(!std::filesystem::exists(options.out));
}

TEST_CASE("emit takes the folder of several runs, whose plan names the tasks of all of them") {
  for (const char* launch :
       {R"({"name": "eager", "runs": 3})", R"({"name": "graph_launch", "runs": 3})"}) {
    Simulated at;
    CAPTURE(std::string{launch});
    std::string several = spec_text;
    several.insert(several.rfind('}'), fmt::format(R"(, "launch": {})", launch));
    write_file_atomically(at.spec, several);
    SimulateOptions again{.spec = at.spec, .out = at.run, .overwrite = true};
    REQUIRE(at.session.call(again) == exit_done);
    EmitOptions options = at.options(at.spec);
    options.json = true;
    REQUIRE(at.session.call(options) == exit_done);
    CHECK(at.session.printed().at("tasks") == 18);
    const std::string of_spec = read_file(options.out);
    options = at.options(at.run);
    options.overwrite = true;
    REQUIRE(at.session.call(options) == exit_done);
    CHECK(read_file(options.out) == of_spec);
    const auto file = std::filesystem::path(at.run) / "plan.json";
    std::string plan = read_file(file);
    plan.replace(plan.find("\"diagonal_0\""), 12, "\"other\"");
    write_file_atomically(file, plan);
    CHECK_THROWS_WITH_AS(static_cast<void>(at.session.call(options)),
                         doctest::Contains("is not the plan that the spec beside it makes; emit"),
                         InfeasibleError);
  }
}

TEST_CASE("emit refuses the folder of several ranks as it refuses their spec") {
  Simulated at;
  std::string ranks = spec_text;
  ranks.replace(ranks.find("\"layers\""), 0, R"("pass": "backward", )");
  ranks.insert(ranks.rfind('}'), R"(, "ranks": 2)");
  ranks.replace(ranks.find("v100"), 4, "h200");
  write_file_atomically(at.spec, ranks);
  SimulateOptions again{.spec = at.spec, .out = at.run, .overwrite = true};
  REQUIRE(at.session.call(again) == exit_done);
  for (const std::string& input : {at.spec, at.run}) {
    CAPTURE(input);
    CHECK_THROWS_WITH_AS(static_cast<void>(at.session.call(at.options(input))),
                         doctest::Contains("it has 2 host threads"),
                         InfeasibleError);
  }
}

TEST_CASE("emit says what is wrong with its input") {
  Simulated at;
  EmitOptions options = at.options(at.folder.path().string());
  CHECK(has(refusal([&] { static_cast<void>(at.session.call(options)); }), "without run.json"));
  options = at.options(at.spec);
  options.language = "pytorch";
  options.precision = "tf32";
  CHECK(has(refusal([&] { static_cast<void>(at.session.call(options)); }), "--precision"));
  options = at.options(at.spec);
  REQUIRE(at.session.call(options) == exit_done);
  CHECK(has(refusal([&] { static_cast<void>(at.session.call(options)); }), "--overwrite"));
}

}  // namespace schedlab
