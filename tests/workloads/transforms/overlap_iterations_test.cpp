// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/overlap_iterations.hpp"

#include "sim/base/error.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

RecurrentSpec step() {
  RecurrentSpec spec;
  spec.layers = 2;
  spec.steps = 2;
  spec.batch = 4;
  spec.hidden = 8;
  spec.pass = RecurrentPass::training;
  return spec;
}

bool reaches(const TaskGraph& graph, TaskId from, TaskId to) {
  std::vector<TaskId> open{from};
  IdVector<TaskId, std::uint8_t> seen(graph.task_count(), 0);
  while (!open.empty()) {
    const TaskId now = open.back();
    open.pop_back();
    if (now == to) return true;
    for (const TaskId next : graph.successors(now)) {
      if (std::exchange(seen[next], std::uint8_t{1}) == 0) open.push_back(next);
    }
  }
  return false;
}

}  // namespace

TEST_CASE("the next forward pass of a layer waits for its parameters and not for other layers'") {
  const TaskGraph graph = OverlapIterations{2}.apply(recurrent(step()));
  const auto task = [&](const char* name) {
    const TaskId id = graph.find(name);
    REQUIRE(id.valid());
    return id;
  };
  CHECK(reaches(graph, task("update(0)"), task("input_gemm(0,0)#1")));
  CHECK_FALSE(reaches(graph, task("update(1)"), task("cell_forward(0,1)#1")));
  CHECK(reaches(graph, task("update(1)"), task("input_gemm(1,0)#1")));
  CHECK(reaches(graph, task("update(0)"), task("update(0)#1")));
  // The inputs of both are there from the beginning.
  CHECK(std::count_if(graph.tasks().begin(), graph.tasks().end(), [&](TaskId id) {
          return graph.predecessors(id).empty() && graph.operation(id).name == "transfer_in";
        }) == 2);
}

TEST_CASE(
    "every iteration has the tasks of the step and buffers of its own, parameters are shared") {
  const TaskGraph once = recurrent(step());
  const TaskGraph graph = OverlapIterations{3}.apply(once);
  CHECK(graph.task_count() == 3 * once.task_count());
  std::size_t shared = 0;
  const TensorTable& tensors = once.tensors();
  for (const TensorId id : tensors.ids()) {
    if (tensors.persistent(id) && !tensors.accumulate(id)) ++shared;
  }
  CHECK(shared > 0);
  CHECK(graph.tensors().size() == 3 * (tensors.size() - shared) + shared);
}

TEST_CASE("iterations need tensors, which say what is a parameter") {
  RecurrentSpec spec = step();
  spec.tensors = false;
  CHECK_THROWS_AS((OverlapIterations{2}.apply(recurrent(spec))), InfeasibleError);
}

}  // namespace schedlab
