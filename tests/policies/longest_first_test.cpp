// SPDX-License-Identifier: Apache-2.0
#include "tests/policies/longest_first.hpp"

#include "sim/engine/simulator.hpp"
#include "sim/plan/plan_check.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

std::string text_of(const std::string& file) {
  std::ifstream stream{fmt::format("{}/{}", SCHEDLAB_SOURCE_DIR, file)};
  REQUIRE(stream.good());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST_CASE("the longest ready task goes to the stream that is free first") {
  // Tasks of 3, 3, 2, 2, 2 us on two streams: 3+2+2 and 3+2, so 7 us, where 6 us (3+3, 2+2+2) would
  // do: the classic example of how far this rule is from the optimum.
  TaskGraphBuilder builder;
  const OperationId operation = builder.add_operation({.name = "task"});
  for (const int us : {2, 3, 2, 3, 2}) {
    builder.set_duration(builder.add_task(operation), std::chrono::microseconds{us});
  }
  const testing::Scene scene{std::move(builder).build()};
  const Plan plan = LongestFirst{2}.plan(scene.problem());
  CHECK(check(scene.graph, scene.platform, plan).empty());
  CHECK(simulate(scene.problem(), plan).makespan() == 7us);
}

TEST_CASE("the page on adding a policy shows the policy that is tested here") {
  const std::string marker = "// [example]\n";
  const std::string source = text_of("tests/policies/longest_first.hpp");
  const std::size_t begin = source.find(marker) + marker.size();
  const std::string example = source.substr(begin, source.rfind(marker) - begin);
  CHECK(example.size() > 500);
  CHECK(text_of("docs/adding_a_policy.md").find("```cpp\n" + example + "```") != std::string::npos);
}

}  // namespace
}  // namespace schedlab
