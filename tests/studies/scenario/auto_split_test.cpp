// SPDX-License-Identifier: Apache-2.0
#include "studies/spec/auto_split.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "studies/scenario/graph_input.hpp"
#include "studies/scenario/scenario_runner.hpp"
#include "studies/spec/grid.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace schedlab {
namespace {

constexpr const char* successor = R"("successor_first")";

Spec network(const std::string& split, const std::string& policy = successor) {
  return parse_spec(fmt::format(R"({{"workload": {{"kind": "resnet50", "image": 67, "batch": 5,
    "include_transfers": false, "split": {}}}, "machine": "sw26010_pro",
    "policy": {}}})",
                                split,
                                policy),
                    "net.json");
}

ScenarioResult result(const Spec& spec, std::uint64_t scenario = 0) {
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  return runner.run(scenario, false);
}

TEST_CASE("the number of slices that is found is the fastest of all that were tried") {
  const Spec spec = network("\"auto\"");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  const auto found = space.found_split(0);
  REQUIRE(found != nullptr);
  // Five images: more slices cannot run, and the search goes on past them until its patience ends.
  REQUIRE(found->tried.size() >= 5);
  CHECK(found->tried[4].failure.empty());
  CHECK_FALSE(found->tried[5].failure.empty());
  Duration best = Duration::max();
  for (const AutoSplit::Tried& tried : found->tried) {
    if (!tried.failure.empty()) continue;
    CHECK(tried.makespan == result(network(std::to_string(tried.split))).summary.makespan);
    best = std::min(best, tried.makespan);
  }
  CHECK(found->chosen > 1);
  CHECK(found->tried[static_cast<std::size_t>(found->chosen - 1)].makespan == best);
  const ScenarioResult run = ScenarioRunner(space).run(0, false);
  CHECK(run.summary.makespan == best);
  CHECK(run.found_split == found->chosen);
  CHECK(split_text(found.get()).find(fmt::format("split found: {};", found->chosen)) !=
        std::string::npos);
  // What the run is made again from gives the number.
  const Spec again = parse_spec(split_given_text(spec, found.get()), "again.json");
  CHECK(result(again).summary.makespan == best);
  CHECK_FALSE(leaves_split_open(again));
}

TEST_CASE("a spec that gives its number of slices stays as it is") {
  const Spec spec = network("2");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  CHECK(space.found_split(0) == nullptr);
  CHECK(split_text(nullptr).empty());
  CHECK(split_given_text(spec, nullptr) == spec.text);
  CHECK(result(spec).found_split == 0);
}

TEST_CASE("a sweep finds the number of slices of each scenario, beside given numbers") {
  const Spec spec = network(R"([1, "auto"])", R"(["single_stream", "successor_first"])");
  const Grid grid(spec);
  REQUIRE(grid.size() == 4);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const ScenarioResult run = runner.run(i, false);
    const bool open = space.components().finds_split(grid.part_index(i, Part::workload));
    const std::string policy = grid.part_label(Part::policy, grid.part_index(i, Part::policy));
    CAPTURE(policy);
    // One core group gains nothing from slices: it runs their operators one after another.
    if (!open) CHECK(run.found_split == 0);
    if (open && policy == "single_stream") CHECK(run.found_split == 1);
    if (open && policy == "successor_first") CHECK(run.found_split > 1);
  }
}

TEST_CASE("a graph of an open number of slices needs one machine and one policy") {
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file_atomically(folder.path() / name, text);
    return (folder.path() / name).string();
  };
  const GraphInput whole = load_graph_input(write("whole.json", network("1").text), "ideal");
  const GraphInput found = load_graph_input(write("auto.json", network("\"auto\"").text), "ideal");
  CHECK(found.graph.task_count() > whole.graph.task_count());
  const Spec two = network("\"auto\"", R"(["single_stream", "successor_first"])");
  CHECK_THROWS_WITH_AS((void)load_graph_input(write("two.json", two.text), "ideal"),
                       doctest::Contains("give each list of the spec one value"),
                       InputError);
  CHECK_THROWS_AS((void)network("\"automatic\""), InputError);
}

}  // namespace
}  // namespace schedlab
