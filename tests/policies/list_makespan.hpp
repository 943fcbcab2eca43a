// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/policies/published_list_schedulers.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace schedlab::testing {

/// Simulated on that many equal processors, one stream each. Of heft and peft it must be the
/// makespan of the independent implementation.
inline Duration list_makespan(const Scene& scene,
                              const std::string& policy,
                              std::int64_t processors) {
  const Problem problem = scene.problem();
  const Plan plan = make_policy(policy, {{"max_streams", processors}})->plan(problem);
  const Duration makespan = simulate(problem, plan).makespan();
  if (policy.starts_with("heft") || policy.starts_with("peft")) {
    const auto app = published::on_equal_processors(
        scene.graph, scene.costs.durations(), static_cast<std::size_t>(processors));
    CHECK(makespan.count() == published::makespan(published::schedule(policy, app)));
  }
  return makespan;
}

}  // namespace schedlab::testing
