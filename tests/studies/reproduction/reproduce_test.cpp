// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/reproduction/published_system.hpp"
#include "studies/reproduction/reproduce_verb.hpp"
#include "studies/reproduction/reproduction.hpp"
#include "studies/reproduction/reproduction_files.hpp"
#include "tests/notebooks_export/xml_check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::TemporaryFolder;
using testing::VerbSession;

/// 20 node times in series and 8 along diagonals: 1 us a node. Two claims are wrong on purpose.
const std::string example = R"({
  "schedlab": "system", "version": 1, "name": "example <1>", "title": "an <example>", "source": "none",
  "grids": [{"name": "grid", "spec": {
    "workload": {"kind": "grid", "layers": [4, 8], "steps": [5, 10], "duration_us": 1},
    "machine": "ideal", "cost_model": "fixed", "policy": ["single_stream", "diagonal"]},
    "quick": {"workload": {"steps": 5}}}],
  "claims": [
    {"id": "series", "claim": "L T node times", "where": "here", "grid": "grid", "unit": "us per L T",
     "measure": {"kind": "value", "per": [["layers", "steps"]], "of": {"policy": "single_stream"}},
     "evidence": "by_construction", "basis": "a chain", "published": [{"text": "LT", "value": 1}]},
    {"id": "diagonals", "claim": "L + T - 1 node times", "where": "here", "grid": "grid",
     "measure": {"kind": "value", "per": [["layers"], ["steps"], [-1]], "of": {"policy": "diagonal"}},
     "published": [{"text": "L + T - 1", "value": 1}]},
    {"id": "half", "claim": "half the time", "where": "there", "grid": "grid",
     "measure": {"kind": "ratio", "of": {"policy": "diagonal"}, "over": {"policy": "single_stream"}},
     "published": [{"text": "x 0.9", "value": 0.9}, {"text": "x 0.4 with 4 layers", "value": 0.4, "at": {"layers": 4}}]},
    {"id": "again", "claim": "half the time", "where": "there", "grid": "grid", "repeats": "half", "judged_by": "all", "by": "layers",
     "measure": {"kind": "ratio", "of": {"policy": "diagonal"}, "over": {"policy": "single_stream"}},
     "published": [{"text": "faster than x 0.4", "below": 0.4}]},
    {"id": "unknown", "claim": "something else", "where": "there", "not_covered": "no model of it",
     "published": [{"text": "3 s"}]}
  ]})";

std::string write_system(const TemporaryFolder& folder, const std::string& text) {
  const fs::path path = folder.path() / "example.json";
  write_file_atomically(path, text);
  return path.string();
}

const json& row(const json& file, const std::string& id, std::size_t which = 0) {
  for (const json& each : file.at("rows")) {
    if (each.at("id") == id && which-- == 0) return each;
  }
  throw std::runtime_error("no row " + id);
}

TEST_CASE("reproduce: closed forms come out, wrong claims are missed, and the exit code is done") {
  const TemporaryFolder folder;
  VerbSession session;
  const fs::path out = folder.path() / "out";
  const int code = session.call(
      ReproduceOptions{.system = write_system(folder, example), .out = out.string(), .jobs = 2});
  CHECK(code == exit_done);
  const std::string text = read_file(out / "reproduction.json");
  const json file = json::parse(text);
  CHECK_NOTHROW(read_checked_json(text, reproduction_schema(), "reproduction.json"));
  CHECK(file.at("complete") == true);
  CHECK(row(file, "series").at("status") == "within");
  CHECK(row(file, "series").at("simulated").at("samples") == 4);
  CHECK(row(file, "series").at("share_met") == 1.0);
  CHECK(row(file, "diagonals").at("status") == "within");
  CHECK(row(file, "diagonals").at("share_met") == 1.0);
  // (L + T - 1) / (L T): 8/20, 13/40, 12/40, 17/80.
  const json& half = row(file, "half");
  CHECK(half.at("status") == "missed");
  CHECK(half.at("simulated").at("max") == doctest::Approx(0.4));
  CHECK(half.at("simulated").at("min") == doctest::Approx(17.0 / 80));
  CHECK(half.at("simulated").at("median") == doctest::Approx(0.3));
  CHECK(half.at("statistics").get<std::string>().find("Moved most by") == 0);
  CHECK(!half.contains("why"));
  CHECK(row(file, "half", 1).at("status") == "in_part");
  CHECK(row(file, "half", 1).at("share_met") == 0.5);
  CHECK(row(file, "unknown").at("status") == "not_covered");
  CHECK(file.at("counts").at("missed") == 1);
  // All but 8/20, which is not below 0.4; the row repeats a number and does not count again.
  CHECK(row(file, "again").at("status") == "in_part");
  CHECK(row(file, "again").at("share_met") == 0.75);
  CHECK(row(file, "again").at("repeats") == "half");
  const json& by_evidence = file.at("by_evidence");
  CHECK(by_evidence.at("predicted") == json{{"within", 1}, {"in_part", 1}, {"missed", 1}});
  CHECK(by_evidence.at("by_construction").at("within") == 1);

  const std::string html = read_file(out / "report.html");
  CHECK(html.find("an &lt;example&gt;") != std::string::npos);
  CHECK(html.find("<example>") == std::string::npos);
  for (const char* outside : {"<script ", "href=", "src="}) {
    CHECK(html.find(outside) == std::string::npos);
  }
  // The largest error is that of x 0.9; 12/40 is the median.
  for (const char* sentence :
       {"half is furthest off",
        "here 0.3.",
        "diagonal is the fastest (12 us), single_stream takes 233.33 % longer.",
        "No number of the machine has an effect."}) {
    CAPTURE(sentence);
    CHECK(html.find(sentence) != std::string::npos);
  }
  CHECK(testing::xml_problem(read_file(out / "numbers.svg")) == "");
  CHECK(testing::xml_problem(read_file(out / "ranges.svg")) == "");
  CHECK(fs::exists(out / "grids" / "grid" / "results.csv"));
  CHECK(session.out.str().find("2 within, 2 in_part, 1 missed, 1 not_covered") !=
        std::string::npos);
}

TEST_CASE("reproduce: the same bytes for any number of threads, and quick runs less") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string system = write_system(folder, example);
  const fs::path one = folder.path() / "one";
  const fs::path two = folder.path() / "two";
  const fs::path quick = folder.path() / "quick";
  static_cast<void>(
      session.call(ReproduceOptions{.system = system, .out = one.string(), .jobs = 1}));
  static_cast<void>(
      session.call(ReproduceOptions{.system = system, .out = two.string(), .jobs = 2}));
  static_cast<void>(session.call(
      ReproduceOptions{.system = system, .out = quick.string(), .jobs = 1, .quick = true}));
  for (const char* name : {"reproduction.json", "reproduction.csv", "report.html"}) {
    CHECK(read_file(one / name) == read_file(two / name));
  }
  const json file = json::parse(read_file(quick / "reproduction.json"));
  CHECK(file.at("grids").at(0).at("scenarios") == 4);
  CHECK(file.at("quick") == true);
}

TEST_CASE("reproduce: a folder in use is refused, kept by --resume and replaced by --overwrite") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string system = write_system(folder, example);
  const fs::path out = folder.path() / "out";
  ReproduceOptions options{.system = system, .out = out.string(), .jobs = 1};
  static_cast<void>(session.call(options));
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("--resume goes on with it"),
                       InputError);
  const std::string before = read_file(out / "reproduction.json");
  options.resume = true;
  CHECK(session.call(options) == exit_done);
  CHECK(read_file(out / "reproduction.json") == before);
  options.resume = false;
  options.overwrite = true;
  CHECK(session.call(options) == exit_done);
  const fs::path other = folder.path() / "other";
  fs::create_directories(other);
  write_file_atomically(other / "mine.txt", "x");
  options.out = other.string();
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(options)),
                       doctest::Contains("a folder that schedlab has not made"),
                       InputError);
  CHECK(fs::exists(other / "mine.txt"));
}

TEST_CASE("reproduce: when asked to stop it keeps what is finished and says so") {
  const TemporaryFolder folder;
  const StopFlag stop{true};
  std::ostringstream out;
  std::ostringstream err;
  const fs::path target = folder.path() / "out";
  const ReproduceOptions options{
      .system = write_system(folder, example), .out = target.string(), .jobs = 1};
  const int code =
      run(options, Terminal{.out = out, .err = err, .interactive = false, .stop = &stop});
  CHECK(code == exit_failed);
  CHECK(err.str().find("--resume") != std::string::npos);
  const json file = json::parse(read_file(target / "reproduction.json"));
  CHECK(file.at("complete") == false);
  CHECK(row(file, "series").at("status") == "not_run");
  CHECK(row(file, "unknown").at("status") == "not_covered");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("A wrong system file is reported by place, and nothing runs") {
  const auto problem = [](const std::string& text) {
    try {
      check_system(parse_system(text, "example.json"));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  CHECK(problem(example) == "accepted");
  CHECK(problem(replaced(example, R"("kind": "ratio")", R"("kind": "ration")"))
            .find("example.json: /claims/2/measure") == 0);
  CHECK(problem(replaced(example, R"("grid": "grid")", R"("grid": "gird")"))
            .find("/claims/0: found the unknown grid \"gird\"") != std::string::npos);
  CHECK(problem(replaced(example, R"("at": {"layers": 4})", R"("at": {"layer": 4})"))
            .find("did you mean \"layers\"") != std::string::npos);
  CHECK(problem(replaced(example, R"("at": {"layers": 4})", R"("at": {"layers": 5})"))
            .find("layers = 5, which grid grid has not") != std::string::npos);
  CHECK(problem(replaced(example, R"("id": "diagonals")", R"("id": "series")"))
            .find("/claims/1: found a second claim \"series\"") != std::string::npos);
  CHECK(problem(replaced(example, R"("basis": "a chain", )", ""))
            .find("/claims/0/published/0: found evidence \"by_construction\" without a basis") !=
        std::string::npos);
  CHECK(problem(replaced(example, R"("value": 0.9)", R"("value": 0.9, "low": 0.8)"))
            .find("/claims/2/published/0: found more than one of a value") != std::string::npos);
  CHECK(problem(replaced(example, R"("repeats": "half")", R"("repeats": "halve")"))
            .find("it repeats \"halve\"") != std::string::npos);
  CHECK(problem(replaced(example, R"("repeats": "half")", R"("repeats": "again")"))
            .find("expected another claim's id") != std::string::npos);
  CHECK(problem(replaced(example, R"("by": "layers")", R"("by": "layer")"))
            .find("did you mean \"layers\"") != std::string::npos);
  CHECK(problem(replaced(example, R"("machine": "ideal")", R"("machine": "idea")"))
            .find("did you mean \"ideal\"") != std::string::npos);
  CHECK(problem(replaced(example, R"(["layers"], ["steps"])", R"(["layers"], ["step"])"))
            .find("the column \"step\"") != std::string::npos);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(load_system("s11")), doctest::Contains("did you mean \"s1\""), InputError);
}

TEST_CASE("reproduce: recorded runs answer a claim as simulated ones do; a wrong record is named") {
  const TemporaryFolder folder;
  const std::string recorded = R"({
  "schedlab": "system", "version": 1, "name": "record", "title": "a record", "source": "none",
  "grids": [{"name": "runs", "spec": {"schedlab": "recorded", "version": 1,
    "axes": ["ranks", "net"], "metrics": ["accuracy"],
    "rows": [[1, "small", 0.98], [2, "small", 0.96], [1, "large", 0.99]]}}],
  "claims": [{"id": "accurate", "claim": "97 %", "where": "here", "grid": "runs",
    "evidence": "measured", "basis": "on digits", "judged_by": "all", "by": "ranks",
    "measure": {"kind": "value", "metric": "accuracy", "of": {}},
    "published": [{"text": "97 %", "above": 0.97},
                  {"text": "97 % of a large one", "above": 0.97, "at": {"net": "large"}},
                  {"text": "mostly", "above": 0.97, "judged_by": "median"}]}]})";
  VerbSession session;
  const fs::path out = folder.path() / "out";
  const int code =
      session.call(ReproduceOptions{.system = write_system(folder, recorded), .out = out.string()});
  CHECK(code == exit_done);
  const json file = json::parse(read_file(out / "reproduction.json"));
  CHECK(row(file, "accurate").at("status") == "in_part");
  CHECK(row(file, "accurate").at("simulated").at("samples") == 3);
  CHECK(row(file, "accurate").at("evidence") == "measured");
  CHECK(row(file, "accurate", 1).at("status") == "within");
  CHECK(row(file, "accurate", 2).at("status") == "within");

  const auto problem = [&](const std::string& from, const std::string& to) {
    std::string text = recorded;
    text.replace(text.find(from), from.size(), to);
    try {
      check_system(parse_system(text, "record.json"));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{"no error"};
  };
  const std::string shorter = problem(R"([2, "small", 0.96])", R"([2, "small"])");
  CHECK(shorter.find("grid runs") != std::string::npos);
  CHECK(shorter.find("/rows/1") != std::string::npos);
  CHECK(shorter.find("3, one for each axis and metric") != std::string::npos);
  CHECK(problem("0.96", R"("high")").find("a number, accuracy") != std::string::npos);
  CHECK(problem(R"("by": "ranks")", R"("by": "rank")").find("did you mean \"ranks\"") !=
        std::string::npos);
}

TEST_CASE("Every system that ships is valid, and its claims name where they are published") {
  REQUIRE(!system_names().empty());
  for (const std::string& name : system_names()) {
    CAPTURE(name);
    const PublishedSystem system = load_system(name);
    CHECK(system.name == name);
    CHECK_NOTHROW(check_system(system));
    for (const Claim& claim : system.claims) {
      CAPTURE(claim.id);
      CHECK(!claim.where.empty());
      REQUIRE(!claim.published.empty());
      for (const PublishedPoint& point : claim.published) {
        const bool judged = point.value || point.low || point.high || point.above || point.below;
        CHECK((judged || !claim.no_answer.empty()));
      }
    }
  }
}

}  // namespace
}  // namespace schedlab
