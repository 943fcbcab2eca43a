// SPDX-License-Identifier: Apache-2.0
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/sweep/shard.hpp"
#include "studies/sweep/sqlite_handle.hpp"
#include "studies/sweep/sweep_verb.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/verb_session.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace schedlab {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  };
}

TEST_CASE("each scenario is in one shard, shards are of one size, and none has one policy alone") {
  for (const std::uint64_t scenarios : {0U, 1U, 7U, 64U, 432U, 10'007U}) {
    for (const std::uint32_t count : {1U, 2U, 3U, 4U, 8U, 64U}) {
      CAPTURE(scenarios);
      CAPTURE(count);
      std::uint64_t least = scenarios;
      std::uint64_t most = 0;
      std::vector<int> owners(scenarios, 0);
      for (std::uint32_t number = 1; number <= count; ++number) {
        const Shard shard{number, count};
        std::uint64_t mine = 0;
        for (std::uint64_t i = 0; i < scenarios; ++i) {
          if (!shard.has(i, scenarios)) continue;
          ++owners[i];
          ++mine;
        }
        CHECK(shard.size(scenarios) == mine);
        least = std::min(least, mine);
        most = std::max(most, mine);
      }
      CHECK(std::count(owners.begin(), owners.end(), 1) == static_cast<std::ptrdiff_t>(scenarios));
      CHECK(most - least <= std::max<std::uint64_t>(1, scenarios / (16 * count)));
    }
  }
  // Four policies as the innermost axis, four shards: each meets all of them.
  for (std::uint32_t number = 1; number <= 4; ++number) {
    std::vector<int> met(4, 0);
    for (std::uint64_t i = 0; i < 48; ++i) {
      if (Shard{number, 4}.has(i, 48)) ++met[i % 4];
    }
    CHECK(*std::min_element(met.begin(), met.end()) >= 2);
  }
}

TEST_CASE("a shard is named, or is the task of a job array") {
  const auto none = variables({});
  CHECK(shard_of("3/64", none) == Shard{3, 64});
  CHECK(shard_of("64/64", none).name() == "64/64");
  CHECK(shard_of("8", variables({{"SLURM_ARRAY_TASK_ID", "8"}})) == Shard{8, 8});
  CHECK(shard_of("8", variables({{"SLURM_ARRAY_TASK_ID", "0"}, {"SLURM_ARRAY_TASK_MIN", "0"}})) ==
        Shard{1, 8});
  CHECK(shard_of("8", variables({{"PBS_ARRAY_INDEX", "2"}})) == Shard{2, 8});
  CHECK(shard_of("8", variables({{"SGE_TASK_ID", "12"}, {"SGE_TASK_FIRST", "10"}})) == Shard{3, 8});
  for (const char* wrong :
       {"", "/", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "x/4", "1.5/4", "2000000"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(static_cast<void>(shard_of(wrong, none)), InputError);
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(shard_of("8", none)), doctest::Contains("SLURM_ARRAY_TASK_ID"), InputError);
  CHECK_THROWS_AS(static_cast<void>(shard_of("8", variables({{"PBS_ARRAY_INDEX", "9"}}))),
                  InputError);
  CHECK_THROWS_AS(static_cast<void>(shard_of("8", variables({{"SGE_TASK_ID", "undefined"}}))),
                  InputError);
}

TEST_CASE("a batch script has as many tasks as shards, a time limit, and one command") {
  const std::string slurm = batch_script("slurm", 64, "mine", "schedlab sweep", 5400.0);
  CHECK(slurm.find("#SBATCH --array=1-64\n") != std::string::npos);
  CHECK(slurm.find("#SBATCH --time=1:30:00\n") != std::string::npos);
  CHECK(slurm.find("\nexec schedlab sweep\n") != std::string::npos);
  const std::string pbs = batch_script("pbs", 8, "mine", "schedlab sweep", 61.0);
  CHECK(pbs.find("#PBS -J 1-8\n") != std::string::npos);
  CHECK(pbs.find("#PBS -l walltime=0:02:00\n") != std::string::npos);
  const std::string sge = batch_script("sge", 8, "mine", "schedlab sweep", {});
  CHECK(sge.find("#$ -t 1-8\n") != std::string::npos);
  CHECK(sge.find("h_rt") == std::string::npos);
}

struct Shards : testing::VerbSession {
  testing::TemporaryFolder folder;
  std::string spec = (folder.path() / "spec.json").string();
  MergeOptions merge{.spec = spec,
                     .folders = {(folder.path() / "parts").string()},
                     .out = (folder.path() / "merged").string(),
                     .timelines = "none",
                     .json = true};

  Shards() {
    write_file_atomically(spec, R"({"workload": {"kind": "lstm", "layers": [1, 2, 3], "steps": 3,
      "batch": [8, 16], "hidden": 64}, "machine": "v100", "policy": ["diagonal", "heft"]})");
  }
  int run_shard(const std::string& shard, const char* parts = "parts") {
    return call(SweepOptions{.spec = spec,
                             .out = (folder.path() / parts).string(),
                             .jobs = 1,
                             .shard = shard,
                             .json = true});
  }
};

TEST_CASE("merge takes shards by their folders, and says which are missing or there twice") {
  Shards shards;
  REQUIRE(shards.run_shard("1/3") == exit_done);
  CHECK(shards.printed()["scenarios"] == 4);
  REQUIRE(shards.run_shard("3/3") == exit_done);
  CHECK_THROWS_WITH_AS(static_cast<void>(shards.call(shards.merge)),
                       doctest::Contains("shard 2/3 is not there"),
                       InputError);
  CHECK_FALSE(std::filesystem::exists(shards.merge.out));
  REQUIRE(shards.run_shard("2/3") == exit_done);
  CHECK(shards.call(shards.merge) == exit_done);
  CHECK(shards.printed()["scenarios"] == 12);

  const std::string parts = shards.merge.folders.front();
  shards.merge.folders = {parts + "/shard_1_of_3", parts + "/shard_1_of_3"};
  CHECK_THROWS_WITH_AS(static_cast<void>(shards.call(shards.merge)),
                       doctest::Contains("each scenario in one shard"),
                       InputError);
  REQUIRE(shards.run_shard("1/2", "halves") == exit_done);
  shards.merge.folders = {(shards.folder.path() / "halves").string(), parts + "/shard_1_of_3"};
  CHECK_THROWS_AS(static_cast<void>(shards.call(shards.merge)), InputError);
  shards.merge.folders = {shards.folder.path().string()};
  CHECK_THROWS_WITH_AS(static_cast<void>(shards.call(shards.merge)),
                       doctest::Contains("no results of a sweep"),
                       InputError);
}

TEST_CASE("rows with other columns are refused, by merge and by resume") {
  Shards shards;
  REQUIRE(shards.run_shard("1/2") == exit_done);
  REQUIRE(shards.run_shard("2/2") == exit_done);
  const std::filesystem::path part =
      std::filesystem::path{shards.merge.folders.front()} / "shard_2_of_2";
  {
    SqliteDatabase database(part / "results.sqlite", SqliteDatabase::Mode::read_write);
    database.execute("ALTER TABLE results RENAME COLUMN makespan_us TO makespan_ms");
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(shards.call(shards.merge)), doctest::Contains("other columns"), InputError);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(shards.call(SweepOptions{.spec = shards.spec,
                                                 .out = shards.merge.folders.front(),
                                                 .resume = true,
                                                 .shard = "2/2"})),
      doctest::Contains("other columns"),
      InputError);
}

TEST_CASE("a folder of one shard does not go on as another's") {
  Shards shards;
  REQUIRE(shards.run_shard("1/3") == exit_done);
  const std::filesystem::path parts = shards.merge.folders.front();
  std::filesystem::rename(parts / "shard_1_of_3", parts / "shard_2_of_3");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(shards.call(SweepOptions{
          .spec = shards.spec, .out = parts.string(), .resume = true, .shard = "2/3"})),
      doctest::Contains("another shard"),
      InputError);
}

}  // namespace
}  // namespace schedlab
