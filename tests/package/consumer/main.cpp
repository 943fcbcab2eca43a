// SPDX-License-Identifier: Apache-2.0
// Uses SchedLab as an outsider does: public headers and installed libraries only. Builds a diamond
// of four tasks, lets HEFT schedule it on the ideal machine, has the plan checked and simulates it.
#include "hw_models/machine_spec.hpp"
#include "policies/registry.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/plan/plan_check.hpp"
#include "workloads/models/recurrent/lstm.hpp"

#include <iostream>
#include <string>

namespace {

schedlab::TaskGraph diamond() {
  using namespace std::chrono_literals;
  schedlab::TaskGraphBuilder builder;
  schedlab::Operation work;
  work.name = "work";
  work.fixed_duration = 10us;
  const auto operation = builder.add_operation(work);
  const auto top = builder.add_task(operation);
  const auto left = builder.add_task(operation);
  const auto right = builder.add_task(operation);
  const auto bottom = builder.add_task(operation);
  builder.add_edge(top, left);
  builder.add_edge(top, right);
  builder.add_edge(left, bottom);
  builder.add_edge(right, bottom);
  return std::move(builder).build();
}

}  // namespace

int main() {
  const schedlab::TaskGraph graph = diamond();
  const schedlab::MachineSpec machine = schedlab::load_machine("ideal");
  const schedlab::CostTable costs{graph, machine.platform};
  const schedlab::Problem problem{graph, machine.platform, costs};

  const schedlab::Plan plan = schedlab::make_policy("heft")->plan(problem);
  const std::size_t findings = schedlab::check(graph, machine.platform, plan).size();
  const double makespan = schedlab::to_us(schedlab::simulate(problem, plan).makespan());

  // A 2 x 2 LSTM has four gradient nodes of five tasks each.
  const schedlab::TaskGraph lstm =
      schedlab::lstm({.layers = 2, .steps = 2, .batch = 8, .hidden = 16});

  // Left and right side by side: three tasks of 10 us one after another.
  std::cout << makespan << " us, " << findings << " findings, " << lstm.task_count() << " tasks\n";
  return makespan == 30.0 && findings == 0 && lstm.task_count() >= 20 ? 0 : 1;
}
