// SPDX-License-Identifier: Apache-2.0
// What calls from Python cost over the same calls in C++, in one process on one core: a scenario of
// 200 tasks, and a policy per task. Both ways must give the same makespans.
//   python_bench [--runs=N]
#include "policies/wavefront.hpp"
#include "sim/plan/plan_builder.hpp"
#include "studies/scenario/scenario_space.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/spec/grid.hpp"
#include "studies/spec/spec.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/clock.hpp"

#include <fmt/format.h>
#include <pybind11/embed.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::bench {
namespace {

namespace py = pybind11;

constexpr const char* spec_text = R"({
  "workload": {"kind": "lstm", "pass": "backward", "layers": 4, "steps": 10, "granularity": "fine"},
  "machine": "v100", "policy": "heft"})";

constexpr const char* python_text = R"(
import schedlab as sl
from schedlab import _core

g = sl.lstm(pass_="backward", layers=4, steps=10, granularity="fine")
m = "v100"
p = sl.problem(g, m)
tasks = p.graph.task_count
case = _core.Case('''SPEC''', "spec", ".")

def simulate():
    return sl.simulate(g, m, "heft")

def columns():
    run.tasks

run = simulate()

def policy():
    b = sl.PlanBuilder(p, streams=4)
    for t in p.topological(key=-p.durations_us):
        b.place(t, b.earliest_free())
    return b.plan()
)";

/// Median time of one call, in microseconds; calls of both kinds take turns.
struct Medians {
  double first = 0;
  double second = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Medians measure(int runs, const std::function<void()>& first, const std::function<void()>& second) {
  std::vector<double> of_first;
  std::vector<double> of_second;
  const auto timed = [](const std::function<void()>& call, std::vector<double>& times) {
    const double begin = processor_seconds();
    call();
    times.push_back(1e6 * (processor_seconds() - begin));
  };
  for (int i = 0; i < runs; ++i) {
    timed(first, of_first);
    timed(second, of_second);
  }
  return {.first = median(std::move(of_first)), .second = median(std::move(of_second))};
}

void print(std::string_view what, const Medians& times, double per, std::string_view unit) {
  fmt::print("{:28} {:10.2f} {:10.2f} {:10.2f} {:8.2f}\n",
             fmt::format("{} ({})", what, unit),
             times.first / per,
             times.second / per,
             (times.second - times.first) / per,
             times.second / times.first);
}

Plan longest_first(const Problem& problem) {
  const IdVector<TaskId, Duration> durations = problem.costs.durations();
  PlanBuilder builder(problem);
  builder.add_streams(4);
  for (const TaskId task :
       order_by_key(problem.graph, [&](TaskId t) { return -durations[t].count(); })) {
    builder.place(task, builder.earliest_free());
  }
  return std::move(builder).build("longest_first");
}

}  // namespace

int run(int argc, char** argv) {
  int runs = 2000;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    if (!word.starts_with("--runs=")) throw std::invalid_argument(std::string{word});
    runs = std::max(1, std::atoi(word.substr(7).data()));
  }
  const py::scoped_interpreter interpreter;
  py::module_::import("sys").attr("path").attr("insert")(0, SCHEDLAB_PYTHON_PACKAGE);
  std::string code = python_text;
  code.replace(code.find("SPEC"), 4, spec_text);
  const py::dict names;
  py::exec(code, names);

  const Spec spec = parse_spec(spec_text, "spec");
  const Grid grid(spec);
  ScenarioSpace space(spec, grid);
  const auto prepared = space.scenario(0).problem;
  const Problem problem = prepared->problem();
  const auto tasks = static_cast<double>(problem.graph.task_count());
  const Simulation made = simulate(spec);
  if (py::cast<std::int64_t>(names["run"].attr("makespan_ps")) != made.metrics.makespan.count()) {
    throw std::runtime_error("Python and C++ disagree");
  }
  fmt::print("{:28} {:>10} {:>10} {:>10} {:>8}\n", "", "C++ us", "Python us", "more us", "ratio");
  print(fmt::format("simulate, {} tasks", tasks),
        measure(
            runs,
            [&] { static_cast<void>(simulate(parse_spec(spec_text, "spec"))); },
            [&] { names["simulate"](); }),
        1,
        "call");
  print("policy",
        measure(
            runs, [&] { static_cast<void>(longest_first(problem)); }, [&] { names["policy"](); }),
        tasks,
        "task");
  return EXIT_SUCCESS;
}

}  // namespace schedlab::bench
