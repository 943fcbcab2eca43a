// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep/adaptive_sweep.hpp"

#include "notebooks_export/csv.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/spec/axis_label.hpp"
#include "studies/sweep/sweep_verb.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

namespace fs = std::filesystem;

/// Two policies over 25 x 11 cases; `more`: further keys.
std::string map_spec(const std::string& more) {
  return fmt::format(R"({{"workload": {{"kind": "lstm", "pass": "backward", "layers": 2, "steps": 4,
    "batch": {{"from": 16, "to": 208, "points": 25}}, "hidden": {{"from": 128, "to": 768, "points": 11}}}},
    "machine": "v100", "policy": ["cudnn_like", "critical_first"], "like_for_like": false{}}})",
                     more);
}

/// Lines of a CSV file by their first cell.
std::map<std::string, std::string> rows_of(const fs::path& file) {
  std::istringstream text(read_file(file.string()));
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(text, line);) rows[line.substr(0, line.find(','))] = line;
  return rows;
}

struct Folder {
  testing::TemporaryFolder folder;

  SweepOptions options(const std::string& text, const std::string& out) const {
    const std::string file = (folder.path() / (out + ".json")).string();
    write_file_atomically(file, text);
    return {.spec = file, .out = (folder.path() / out).string(), .jobs = 2, .timelines = "none"};
  }
  std::string sweep(const std::string& text, const std::string& out) const {
    testing::VerbSession session;
    REQUIRE(session.call(options(text, out)) == exit_done);
    return options(text, out).out;
  }
};

/// The fastest policy of each case, from results.csv; by "batch,hidden".
std::map<std::string, std::string> winners(const fs::path& csv) {
  std::istringstream text(read_file(csv.string()));
  std::string line;
  std::getline(text, line);
  std::vector<std::string> names;
  std::istringstream header(line);
  for (std::string cell; std::getline(header, cell, ',');) names.push_back(cell);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  std::map<std::string, std::pair<std::int64_t, std::string>> best;
  while (std::getline(text, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const std::string place = cells[column("batch")] + "," + cells[column("hidden")];
    const std::int64_t time = std::stoll(cells[column("makespan_ps")]);
    const auto [entry, added] = best.try_emplace(place, time, cells[column("policy")]);
    if (!added && time < entry->second.first) entry->second = {time, cells[column("policy")]};
  }
  std::map<std::string, std::string> names_of_winners;
  for (const auto& [place, winner] : best) names_of_winners[place] = winner.second;
  return names_of_winners;
}

TEST_CASE("an adaptive sweep has rows of the whole grid, and its borders") {
  const Folder folder;
  const fs::path whole = folder.sweep(map_spec(""), "whole");
  const fs::path few =
      folder.sweep(map_spec(R"(, "adaptive": {"coarse_cells": 6, "interpolate": false})"), "few");
  const auto all = rows_of(whole / "results.csv");
  const auto some = rows_of(few / "results.csv");
  CHECK(all.size() == 1 + 2 * 25 * 11);
  CHECK(some.size() < all.size() * 3 / 4);
  for (const auto& [scenario, row] : some) {
    REQUIRE(all.contains(scenario));
    CHECK(row == all.at(scenario));
  }
  const auto fastest = winners(whole / "results.csv");
  std::set<std::string> different;
  for (const auto& [place, name] : fastest) different.insert(name);
  REQUIRE(different.size() == 2);  // else there is no border to find
  // map, axis, below, above, region_below, region_above, batch, hidden
  std::istringstream borders(read_file((few / "borders.csv").string()));
  std::string line;
  std::getline(borders, line);
  CHECK(line == "map,axis,below,above,region_below,region_above,batch,hidden");
  std::size_t found = 0;
  while (std::getline(borders, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line + ",");
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const auto place = [&](const std::string& value) {
      return cells[1] == "batch" ? value + "," + cells[7] : cells[6] + "," + value;
    };
    CHECK(fastest.at(place(cells[2])) == cells[4]);
    CHECK(fastest.at(place(cells[3])) == cells[5]);
    ++found;
  }
  CHECK(found > 5);
  CHECK(fs::exists(few / "plots" / "borders.svg"));
  CHECK(read_file((few / "report.html").string()).find("Who is the fastest") != std::string::npos);
}

TEST_CASE("an adaptive sweep goes on where it was stopped, with any number of threads") {
  const Folder folder;
  const std::string text = map_spec(R"(, "adaptive": {"coarse_cells": 5})");
  const fs::path whole = folder.sweep(text, "whole");
  const Spec spec = parse_spec(text, "whole.json");
  const Grid grid(spec);
  const SweepRequest request{.out = folder.folder.path() / "cut", .jobs = 1, .check = false};
  const auto run_until = [&](std::uint64_t last, bool resume) {
    ScenarioSpace space(spec, grid);
    AdaptiveSweep adaptive(spec, grid);
    fs::create_directories(request.out);
    ResultsStore store = open_results(spec, grid, request.out / results_database, resume);
    StopFlag stop{false};
    const SweepCounts counts = run_adaptive(
        adaptive, space, store, request, &stop, [&](std::uint64_t done, std::uint64_t) {
          if (done >= last) stop = true;
        });
    store.seal();
    CHECK(counts.interrupted == (last < 1000));
    return adaptive.borders();
  };
  static_cast<void>(run_until(20, false));
  static_cast<void>(run_until(101, true));
  const Table borders = run_until(1000, true);
  CHECK(table_csv(borders) == read_file((whole / "borders.csv").string()));
  const ResultsStore store = ResultsStore::open(request.out / results_database);
  CHECK(store.row_count() + 1 == rows_of(whole / "results.csv").size());
}

TEST_CASE("on a machine that scatters, borders are where the first is faster in 5, 50 and 95 %") {
  const Folder folder;
  const fs::path out = folder.sweep(
      map_spec(
          R"(, "variability": {"duration_cv": 0.1, "samples": 40}, "adaptive": {"coarse_cells": 4})"),
      "scatter");
  const std::string borders = read_file((out / "borders.csv").string());
  CHECK(borders.find("critical_first faster: 5 to 50 %") != std::string::npos);
  CHECK(read_file((out / "report.html").string()).find("How surely critical_first is faster") !=
        std::string::npos);
}

TEST_CASE("what an adaptive sweep cannot do is refused before anything runs") {
  const Folder folder;
  testing::VerbSession session;
  const auto refusal = [&](const std::string& text, const std::string& shard) {
    SweepOptions options = folder.options(text, "refused");
    options.shard = shard;
    try {
      static_cast<void>(session.call(options));
    } catch (const InputError& error) {
      return std::string{error.what()};
    }
    return std::string{"nothing was refused"};
  };
  CHECK(refusal(map_spec(R"(, "adaptive": true)"), "1/2").find("with --shard") !=
        std::string::npos);
  const std::string lists =
      R"({"workload": {"kind": "lstm", "batch": [16, 32]}, "machine": "v100", "policy": ["heft", "peft"], "adaptive": true})";
  CHECK(refusal(lists, "").find("no axis that is given by its ends") != std::string::npos);
  const std::string other = map_spec(R"(, "adaptive": {"policy": "heft", "over": "cudnn_like"})");
  CHECK(refusal(other, "").find("/adaptive/policy: found \"heft\"") != std::string::npos);
  const std::string calm = map_spec(R"(, "adaptive": {"border": "probability"})");
  CHECK(refusal(calm, "").find("a machine that does not scatter") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.folder.path() / "refused"));
}

TEST_CASE("the report of a sweep says what its closest case hangs on, unless told not to") {
  const Folder folder;
  SweepOptions options = folder.options(
      R"({"workload": {"kind": "lstm", "layers": [2, 3], "steps": 4, "batch": 16, "hidden": 128},
          "machine": "v100", "policy": ["single_stream", "diagonal"]})",
      "report");
  testing::VerbSession session;
  const auto says = [&] {
    REQUIRE(session.call(options) == exit_done);
    const std::string report = read_file(options.out + "/report.html");
    return report.find("The closest case, layers = ") != std::string::npos;
  };
  CHECK(says());
  options.no_sensitivity = true;
  options.overwrite = true;
  CHECK_FALSE(says());
}

TEST_CASE("axes by their ends are lists of values") {
  const auto values_of = [](const std::string& range) {
    const Spec spec = parse_spec(
        fmt::format(
            R"({{"workload": {{"kind": "lstm", "batch": {}}}, "machine": "v100", "policy": "heft"}})",
            range),
        "range.json");
    const Grid grid(spec);
    std::vector<std::string> values;
    for (std::uint64_t i = 0; i < grid.size(); ++i)
      values.push_back(to_string(grid.axis_values(i)[0]));
    return values;
  };
  using Values = std::vector<std::string>;
  CHECK(values_of(R"({"from": 16, "to": 64, "points": 4})") == Values{"16", "32", "48", "64"});
  CHECK(values_of(R"({"from": 64, "to": 16, "points": 3})") == Values{"64", "40", "16"});
  CHECK(values_of(R"({"from": 16, "to": 256, "points": 5, "spacing": "geometric"})") ==
        Values{"16", "32", "64", "128", "256"});
  CHECK(values_of(R"({"from": 1, "to": 3, "points": 9})") == Values{"1", "2", "3"});
  CHECK_THROWS_WITH_AS(static_cast<void>(values_of(R"({"from": 2, "to": 2, "points": 9})")),
                       doctest::Contains("/workload/batch"),
                       InputError);
  CHECK_THROWS_AS(static_cast<void>(values_of(R"({"from": 2, "to": 4})")), InputError);
}

}  // namespace
}  // namespace schedlab
