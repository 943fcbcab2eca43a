// SPDX-License-Identifier: Apache-2.0
#include "cli/auto_split.hpp"

#include "cli/grid.hpp"
#include "cli/scenario.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace schedlab {
namespace {

Spec network(const std::string& split) {
  return parse_spec(fmt::format(R"({{"workload": {{"kind": "resnet50", "image": 67, "batch": 5,
    "include_transfers": false, "split": {}}}, "machine": "sw26010_pro",
    "policy": "successor_first"}})",
                                split),
                    "net.json");
}

Duration makespan(const Spec& spec) {
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  ScenarioRunner runner(space);
  return runner.run(0, false).summary.makespan;
}

TEST_CASE("the number of slices that is found is the fastest of all that were tried") {
  AutoSplit found;
  const Spec spec = with_found_split(network("\"auto\""), nullptr, found);
  // Five images: more slices cannot run, and the search goes on past them until its patience ends.
  REQUIRE(found.tried.size() >= 5);
  CHECK(found.tried[4].failure.empty());
  CHECK_FALSE(found.tried[5].failure.empty());
  Duration best = Duration::max();
  for (const AutoSplit::Tried& tried : found.tried) {
    if (!tried.failure.empty()) continue;
    CHECK(tried.makespan == makespan(network(std::to_string(tried.split))));
    best = std::min(best, tried.makespan);
  }
  CHECK(found.chosen > 1);
  CHECK(found.tried[static_cast<std::size_t>(found.chosen - 1)].makespan == best);
  CHECK(makespan(spec) == best);
  CHECK(split_text(found).find(fmt::format("split found: {};", found.chosen)) != std::string::npos);
}

TEST_CASE("a spec that gives its number of slices stays as it is") {
  AutoSplit found;
  const Spec spec = with_found_split(network("2"), nullptr, found);
  CHECK(found.chosen == 0);
  CHECK(found.tried.empty());
  CHECK(split_text(found).empty());
  CHECK(spec.text == network("2").text);
}

TEST_CASE("a sweep does not look for the number of slices, and says who does") {
  const Spec spec = network("\"auto\"");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  CHECK_THROWS_WITH_AS(space.components().check_all(), doctest::Contains("simulate"), InputError);
  CHECK_THROWS_AS((void)network("\"automatic\""), InputError);
}

}  // namespace
}  // namespace schedlab
