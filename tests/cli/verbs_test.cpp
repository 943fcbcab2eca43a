// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_list.hpp"
#include "cli/cmd_schema.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/base/schema_check.hpp"
#include "studies/explanation/export_verb.hpp"
#include "studies/scenario/graph_verb.hpp"
#include "studies/scenario/simulate_verb.hpp"
#include "studies/sweep/plot_verb.hpp"
#include "studies/sweep/sweep_verb.hpp"
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
using testing::TemporaryFolder;
using testing::VerbSession;

std::string write_spec(const TemporaryFolder& folder,
                       const std::string& name,
                       const std::string& text) {
  const fs::path path = folder.path() / name;
  write_file_atomically(path, text);
  return path.string();
}

const std::string diagonal_grid = R"({
  "name": "grid <4 x 5>",
  "workload": {"kind": "grid", "layers": 4, "steps": 5, "duration_us": 10},
  "machine": "ideal", "cost_model": "fixed", "policy": "diagonal"})";

TEST_CASE("simulate: a 4 x 5 grid along diagonals takes 8 node times, and the files say so") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string out = (folder.path() / "run").string();
  const int code = session.call(SimulateOptions{
      .spec = write_spec(folder, "a.json", diagonal_grid), .out = out, .json = true});
  CHECK(code == exit_done);
  // L + T - 1 = 8 node times of 10 us.
  CHECK(session.printed().at("makespan_ps") == 80'000'000);
  const json metrics = json::parse(read_file(fs::path{out} / "metrics.json"));
  CHECK(metrics.at("makespan_ps") == 80'000'000);
  for (const char* name : {"trace.json", "plan.json", "timeline.svg", "utilization.csv"}) {
    CHECK(fs::exists(fs::path{out} / name));
  }
  CHECK_FALSE(read_file(fs::path{out} / "timeline.svg").find("grid <4") != std::string::npos);
}

TEST_CASE("--require calibrated fails what data sheets tell, and says which kernels") {
  const TemporaryFolder folder;
  VerbSession session;
  const auto simulated = [&](const std::string& machine, const std::string& require) {
    const std::string spec = write_spec(
        folder,
        machine + ".json",
        R"({"workload": {"kind": "lstm", "layers": 1, "steps": 2, "batch": 8, "hidden": 64,
            "data_type": "bf16"}, "policy": "diagonal", "machine": ")" +
            machine + "\"}");
    const std::string out = (folder.path() / machine).string();
    return session.call(
        SimulateOptions{.spec = spec, .out = out, .overwrite = true, .require = require});
  };
  CHECK(simulated("h100", "calibrated") == exit_done);
  CHECK(simulated("l40s", "data_sheet") == exit_done);
  CHECK(simulated("l40s", "calibrated") == exit_failed);
  CHECK(session.err.str().find("error: --require calibrated: kernel times on l40s are of evidence "
                               "data_sheet, not calibrated: gemm bf16 (") != std::string::npos);

  const std::string both =
      write_spec(folder,
                 "both.json",
                 R"({"workload": {"kind": "lstm", "layers": 1, "steps": 2, "batch": 8, "hidden": 64,
          "data_type": "bf16"}, "policy": "diagonal", "machine": ["h100", "l40s"]})");
  const auto swept = [&](const char* name, const std::string& require) {
    return session.call(
        SweepOptions{.spec = both, .out = (folder.path() / name).string(), .require = require});
  };
  CHECK(swept("any", "") == exit_done);
  CHECK(session.err.str().find("note: kernel times rest on data_sheet of 1 scenario and calibrated "
                               "of 1 scenario") != std::string::npos);
  CHECK(read_file(folder.path() / "any" / "report.html")
            .find("different evidence, see column cost_evidence: calibrated (h100); data_sheet "
                  "(l40s).") != std::string::npos);
  CHECK(swept("all", "calibrated") == exit_failed);
  CHECK(session.err.str().find("error: --require calibrated: 1 scenario; first: scenario 1") !=
        std::string::npos);
  CHECK(fs::exists(folder.path() / "all" / "results.csv"));  // the files are written in any case
}

TEST_CASE("simulate: the folder is replaced as a whole or not at all") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string spec = write_spec(folder, "a.json", diagonal_grid);
  const fs::path out = folder.path() / "run";
  static_cast<void>(session.call(SimulateOptions{.spec = spec, .out = out.string()}));
  write_file_atomically(out / "notes.txt", "x");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(SimulateOptions{.spec = spec, .out = out.string()})),
      doctest::Contains("--overwrite replaces it"),
      InputError);
  const SimulateOptions again{.spec = spec, .out = out.string(), .overwrite = true};
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(again)),
                       doctest::Contains("found notes.txt, expected nothing but what schedlab has"),
                       InputError);
  CHECK(read_file(out / "notes.txt") == "x");
  fs::remove(out / "notes.txt");
  static_cast<void>(session.call(again));
  // Nothing temporary is left: the spec and the folder.
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}) == 2);
}

TEST_CASE("simulate: a spec with axes names them and points to sweep") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string spec = write_spec(
      folder,
      "a.json",
      R"({"workload": {"kind": "lstm", "layers": [2, 4]}, "machine": "v100", "policy": ["heft", "peft"]})");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(SimulateOptions{.spec = spec, .out = "unused"})),
      doctest::Contains("4 scenarios along layers (2 values), policy (2 values), expected one "
                        "scenario\n  run schedlab sweep"),
      InputError);
}

TEST_CASE("sweep, export and plot work on each other's files") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string spec = write_spec(
      folder,
      "a.json",
      R"({"workload": {"kind": "grid", "layers": [2, 4], "steps": 5, "duration_us": 10}, "machine": "ideal",
          "cost_model": "fixed", "policy": ["single_stream", "diagonal"]})");
  const fs::path out = folder.path() / "sweep";
  CHECK(session.call(SweepOptions{.spec = spec, .out = out.string(), .json = true}) == exit_done);
  CHECK(session.printed().at("scenarios") == 4);
  CHECK(session.printed().at("failed") == 0);
  CHECK(
      session.printed().at("comparison") ==
      json::array({"All policies of a case were given the same tasks: shortest diagonal in 2 of 2 "
                   "cases.",
                   "diagonal is fastest in 2 of 2 cases; at most 3 % can still be won by "
                   "reordering in 2 of them, at most 0 % in any; 0 % of the makespan needs another "
                   "machine or fewer launches; 2 are proven optimal."}));

  // The diagonal's makespan is the critical path of 80 us; one stream takes 200.
  const std::string slow = write_spec(
      folder,
      "slow.json",
      R"({"workload": {"kind": "grid", "layers": 4, "steps": 5, "duration_us": 10}, "machine": "ideal",
          "cost_model": "fixed", "policy": "single_stream"})");
  const auto with_limit = [&](const std::string& of, const std::string& name, double limit) {
    return session.call(
        SweepOptions{.spec = of, .out = (folder.path() / name).string(), .max_gap = limit});
  };
  CHECK(with_limit(spec, "near", 0) == exit_done);
  CHECK(with_limit(slow, "far", 149) == exit_failed);
  CHECK(session.err.str().find("150.00 % over its bound, more than 149 %") != std::string::npos);
  CHECK(with_limit(slow, "wide", 150) == exit_done);

  const fs::path csv = folder.path() / "again.csv";
  CHECK(session.call(ExportOptions{.format = "csv", .input = out.string(), .out = csv.string()}) ==
        exit_done);
  CHECK(read_file(csv) == read_file(out / "results.csv"));

  const fs::path trace = folder.path() / "trace.json";
  CHECK(session.call(ExportOptions{
            .format = "chrome", .input = out.string(), .out = trace.string(), .scenario = 3}) ==
        exit_done);
  const fs::path tasks = folder.path() / "tasks.csv";
  CHECK(session.call(ExportOptions{
            .format = "csv", .input = trace.string(), .out = tasks.string()}) == exit_done);
  const std::string text = read_file(tasks);
  CHECK(std::count(text.begin(), text.end(), '\n') == 21);  // a header and 4 * 5 tasks

  const fs::path picture = folder.path() / "picture.svg";
  CHECK(session.call(PlotOptions{.inputs = {trace.string()}, .out = picture.string()}) ==
        exit_done);
  const std::string both = (folder.path() / "both.svg").string();
  CHECK(session.call(PlotOptions{.inputs = {trace.string(), trace.string()}, .out = both}) ==
        exit_done);
  CHECK(read_file(both).find("<svg y=") != std::string::npos);
  CHECK(read_file(picture).find("<svg") != std::string::npos);
}

TEST_CASE(
    "outlines in a timeline are the critical path, where the metrics beside the trace have it") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string spec = write_spec(folder, "a.json", diagonal_grid);
  const fs::path run = folder.path() / "run";
  CHECK(session.call(SimulateOptions{.spec = spec, .out = run.string()}) == exit_done);
  const fs::path bare = folder.path() / "bare" / "trace.json";
  fs::create_directories(bare.parent_path());
  fs::copy_file(run / "trace.json", bare);
  const auto drawn = [&](const fs::path& input) {
    const fs::path picture = folder.path() / "picture.svg";
    CHECK(session.call(PlotOptions{.inputs = {input.string()}, .out = picture.string()}) ==
          exit_done);
    return read_file(picture);
  };
  CHECK(drawn(run).find("critical path") != std::string::npos);
  CHECK(drawn(run / "trace.json").find("critical path") != std::string::npos);
  CHECK(drawn(bare).find("critical") == std::string::npos);
}

TEST_CASE("export and plot say what is wrong with their input") {
  const TemporaryFolder folder;
  VerbSession session;
  CHECK_THROWS_AS(static_cast<void>(session.call(
                      PlotOptions{.inputs = {folder.path().string()}, .out = "x.svg"})),
                  InputError);
  const std::string spec = write_spec(folder, "a.json", diagonal_grid);
  const std::string run = (folder.path() / "run").string();
  static_cast<void>(session.call(SimulateOptions{.spec = spec, .out = run}));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(session.call(PlotOptions{.inputs = {run}, .out = "x.gif"})),
      doctest::Contains("a name that ends in .svg, .png or .pdf"),
      InputError);
}

TEST_CASE("graph: statistics of a grid, and a conversion that reads back") {
  const TemporaryFolder folder;
  VerbSession session;
  const std::string spec = write_spec(folder, "a.json", diagonal_grid);
  CHECK(session.call(GraphOptions{.input = spec, .json = true}) == exit_done);
  const json statistics = session.printed();
  CHECK(statistics.at("tasks") == 20);
  // Each of the 4 x 5 nodes needs its two upper neighbours: 3 * 5 + 4 * 4 = 31.
  CHECK(statistics.at("dependencies") == 31);
  CHECK(statistics.at("levels") == 8);
  CHECK(statistics.at("critical_path_us") == 80.0);
  CHECK(statistics.at("serial_us") == 200.0);

  for (const char* format : {"json", "text"}) {
    const std::string file = (folder.path() / (std::string{"graph."} + format)).string();
    CHECK(session.call(GraphOptions{.input = spec, .to = format, .out = file}) == exit_done);
    CHECK(session.call(GraphOptions{.input = file, .json = true}) == exit_done);
    CHECK(session.printed().at("dependencies") == 31);
    CHECK(session.printed().at("critical_path_us") == 80.0);
  }
}

TEST_CASE("list names everything a spec may name, and one thing when asked") {
  VerbSession session;
  CHECK(session.call(ListOptions{.json = true}) == exit_done);
  const json all = session.printed();
  CHECK(all.at("policies").size() >= 11);
  CHECK(all.at("machines").size() >= 5);
  CHECK(session.call(ListOptions{.what = "policies", .name = "heft", .json = true}) == exit_done);
  CHECK(session.printed().at("policies").size() == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(session.call(ListOptions{.name = "hefd"})),
                       doctest::Contains("did you mean \"heft\"?"),
                       InputError);
}

TEST_CASE("list machines NAME says every number with its source, and can print the file") {
  VerbSession session;
  CHECK(session.call(ListOptions{.what = "machines", .name = "v100", .json = true}) == exit_done);
  const json numbers = session.printed().at("machines").at(0).at("numbers");
  const auto units = std::find_if(numbers.begin(), numbers.end(), [](const json& number) {
    return number.at("pointer") == "/device/unit_classes/sm";
  });
  REQUIRE(units != numbers.end());
  CHECK(units->at("value") == 80);
  CHECK(units->at("origin") == "source");
  CHECK(session.call(ListOptions{.what = "machines", .name = "v100"}) == exit_done);
  CHECK(session.out.str().find("device/memory_bandwidth_gb_per_s") != std::string::npos);
  CHECK(session.call(ListOptions{.what = "machines", .name = "v100", .file = true}) == exit_done);
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine.json";
  write_file_atomically(mine, session.out.str());
  CHECK(session.call(ListOptions{.what = "machines", .name = mine.string(), .json = true}) ==
        exit_done);
  CHECK(session.printed().at("machines").at(0).at("numbers") == numbers);
  CHECK_THROWS_AS(static_cast<void>(session.call(ListOptions{.what = "policies", .file = true})),
                  InputError);
}

TEST_CASE("every schema is JSON, and our own files fit theirs") {
  const TemporaryFolder folder;
  VerbSession session;
  for (const char* which : {"spec", "machine", "graph", "plan", "run", "results", "explanation"}) {
    CHECK(session.call(SchemaOptions{.which = which}) == exit_done);
    CHECK(session.printed().contains("$schema"));
  }
  const std::string spec = write_spec(folder, "a.json", diagonal_grid);
  const auto expect_fit = [&](const fs::path& file, const char* which) {
    static_cast<void>(session.call(SchemaOptions{.which = which}));
    const std::string text = read_file(file);
    CHECK_NOTHROW(read_checked_json(text, session.out.str(), which));
  };
  const fs::path run = folder.path() / "run";
  static_cast<void>(session.call(SimulateOptions{.spec = spec, .out = run.string()}));
  expect_fit(run / "plan.json", "plan");
  const fs::path graph = folder.path() / "graph.json";
  static_cast<void>(session.call(GraphOptions{.input = spec, .to = "json", .out = graph.string()}));
  expect_fit(graph, "graph");
}

}  // namespace
}  // namespace schedlab
