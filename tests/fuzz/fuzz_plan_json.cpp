// SPDX-License-Identifier: Apache-2.0
// Plans from files, for the graph that the corpus was made for: a 2 x 3 gradient grid.
#include "sim/base/error.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/plan_json.hpp"
#include "tests/support/scenes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace schedlab;
  static const TaskGraph graph = testing::gradient_grid(2, 3);
  static const Platform platform = ideal_platform(2);
  const std::string text{reinterpret_cast<const char*>(data), size};
  Plan plan;
  try {
    plan = plan_from_json(text, graph, "fuzz.json");
  } catch (const InputError&) {
    return 0;
  }
  // What is accepted is written without loss, and the checker has an opinion of it.
  if (!(plan_from_json(plan_to_json(plan, graph), graph, "again.json") == plan)) {
    std::cerr << "writing and reading again changes the plan\n";
    std::abort();
  }
  static_cast<void>(check(graph, platform, plan));
  return 0;
}
