// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/plan/plan_json.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace schedlab {
namespace {

using testing::Scene;

}  // namespace

TEST_CASE("plan_file gives back the plan that another policy made and somebody saved") {
  const testing::TemporaryFolder folder;
  const Scene scene{testing::gradient_grid(3, 4), Rng{3}};
  const Plan made = make_policy("diagonal")->plan(scene.problem());
  const std::string path = (folder.path() / "plan.json").string();
  write_file_atomically(path, plan_to_json(made, scene.graph));
  CHECK(make_policy("plan_file", {{"path", path}})->plan(scene.problem()) == made);
}

TEST_CASE("plan_file needs a path, a file and a plan of this graph") {
  const testing::TemporaryFolder folder;
  const Scene scene{testing::gradient_grid(3, 4), Rng{3}};
  CHECK_THROWS_AS(static_cast<void>(make_policy("plan_file")), InputError);
  CHECK_THROWS_AS(
      static_cast<void>(make_policy("plan_file", {{"path", (folder.path() / "none").string()}})
                            ->plan(scene.problem())),
      InputError);
  const Scene other{testing::gradient_grid(1, 1), Rng{3}};
  const std::string path = (folder.path() / "plan.json").string();
  write_file_atomically(path,
                        plan_to_json(make_policy("diagonal")->plan(scene.problem()), scene.graph));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_policy("plan_file", {{"path", path}})->plan(other.problem())),
      doctest::Contains("/hosts/0/calls/"),
      InputError);
}

}  // namespace schedlab
