// SPDX-License-Identifier: Apache-2.0
// Our engines and their yardsticks in one process; docs/performance.md says what is measured and
// how.
#include "sim/engine/in_order.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/bench/child_process.hpp"
#include "tests/bench/clock.hpp"
#include "tests/bench/ideal_engines.hpp"
#include "tests/bench/loading.hpp"
#include "tests/bench/lstm_scene.hpp"
#include "tests/bench/results_table.hpp"
#include "tests/bench/simgrid_engines.hpp"
#include "tests/bench/small_sweep.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace schedlab::bench {
namespace {

constexpr std::uint32_t largest_for_simgrid = 1'000'000;  // 10^7 take it half a minute a run

/// One size: inputs, and the memory that engines re-use between runs.
struct Bench {
  explicit Bench(std::uint32_t tasks)
      : scene(tasks), bare(scene.bare()), started(bare.task_count()) {}

  LstmScene scene;
  BareGraph bare;
  std::vector<std::int64_t> started;
  InOrderSweep sweep;
  Trace trace;
  Simulator simulator;
};

void expect_equal(const std::string& what, std::int64_t found, std::int64_t expected) {
  if (found == expected) return;
  throw std::runtime_error(fmt::format("{}: found {}, expected {}", what, found, expected));
}

void expect_starts(const std::string& what, const Trace& trace, const Bench& bench) {
  expect_equal(
      what + ", tasks", static_cast<std::int64_t>(trace.tasks.size()), bench.bare.task_count());
  for (const TaskSpan& span : trace.tasks) {
    expect_equal(fmt::format("{}, start of task {}", what, span.task.value()),
                 span.started.time_since_epoch().count(),
                 bench.started[span.task.value()]);
  }
}

/// A wrong answer gets no time.
void check_answers(Bench& bench) {
  const LstmScene& scene = bench.scene;
  const std::int64_t fifo = ideal_fifo(bench.bare, bench.started).makespan;
  expect_equal("textbook FIFO", textbook_fifo(bench.bare, bench.started).makespan, fifo);
  expect_equal("ideal sharing engine, tasks",
               static_cast<std::int64_t>(ideal_sharing(bench.bare, bench.started).done),
               bench.bare.task_count());
  const std::int64_t heap = ideal_in_order(bench.bare, bench.started).makespan;
  const std::int64_t makespan = ideal_sweep(bench.bare, bench.started).makespan;
  expect_equal("ideal in-order engine", heap, makespan);
  bench.sweep.run_into(scene.problem(), scene.plan, {}, bench.trace);
  expect_starts("in-order sweep", bench.trace, bench);
  expect_starts("event engine",
                bench.simulator.run(scene.problem(), scene.plan, {.engine = EngineKind::event}),
                bench);
  for (const Problem& limited :
       {scene.unit_problem(), scene.fluid_problem(), scene.short_problem(), scene.v100_problem()}) {
    bench.simulator.run_into(limited, scene.plan, {}, bench.trace);
    if (bench.trace.makespan().count() < makespan) {
      throw std::runtime_error("a limited machine is faster than the ideal one");
    }
  }
  if (!simgrid_is_there() || bench.bare.task_count() > largest_for_simgrid) return;
  for (const SimGridMode mode : {SimGridMode::timers, SimGridMode::activities}) {
    const BareRun run = simgrid_in_order(bench.bare, mode).run;
    expect_equal("SimGrid, tasks", static_cast<std::int64_t>(run.done), bench.bare.task_count());
    expect_equal("SimGrid", run.makespan, makespan);
  }
}

/// What is registered for one size.
struct Size {
  std::uint32_t tasks = 0;
  const Options& options;
  ResultsTable& table;
};

/// `timed` does the work once and returns its seconds.
template <class Work>
void add(const std::string& work, const Size& size, Work timed) {
  size.table.announce(work, size.tasks);
  benchmark::RegisterBenchmark(fmt::format("{}/{}", work, size.tasks).c_str(),
                               [timed](benchmark::State& state) {
                                 for (auto iteration : state) {
                                   (void)iteration;
                                   state.SetIterationTime(timed());
                                 }
                               })
      ->UseManualTime()
      ->MinTime(size.options.seconds)
      ->Repetitions(size.options.repetitions);
}

template <class Work>
double seconds_of(Work work) {
  const double begun = processor_seconds();
  work();
  return processor_seconds() - begun;
}

void add_engines(Bench& bench, const Size& size) {
  const auto simulate = [&bench](const Problem& problem, const SimulationOptions& how) {
    return seconds_of(
        [&] { bench.simulator.run_into(problem, bench.scene.plan, how, bench.trace); });
  };
  add("in-order sweep", size, [&bench] {
    return seconds_of(
        [&] { bench.sweep.run_into(bench.scene.problem(), bench.scene.plan, {}, bench.trace); });
  });
  add("in-order sweep, new trace", size, [&bench] {
    return seconds_of([&] {
      benchmark::DoNotOptimize(bench.simulator.run(bench.scene.problem(), bench.scene.plan));
    });
  });
  add("event engine", size, [&bench, simulate] {
    return simulate(bench.scene.problem(), {.engine = EngineKind::event});
  });
  add("event engine, new trace", size, [&bench] {
    return seconds_of([&] {
      benchmark::DoNotOptimize(bench.simulator.run(
          bench.scene.problem(), bench.scene.plan, {.engine = EngineKind::event}));
    });
  });
  const SimulationOptions recorded{
      .engine = EngineKind::event, .record_hosts = true, .record_flows = true};
  add("event engine, limited units", size, [&bench, simulate] {
    return simulate(bench.scene.unit_problem(), {.engine = EngineKind::event});
  });
  add("event engine, limited units, recorded", size, [&bench, simulate, recorded] {
    return simulate(bench.scene.unit_problem(), recorded);
  });
  // Shares of the units by priority, bandwidth for all; too little of it; a real machine's kernels.
  const std::pair<const char*, Problem> fluid_scenes[] = {
      {"event engine, fluid machine", bench.scene.fluid_problem()},
      {"event engine, fluid machine, bandwidth always short", bench.scene.short_problem()},
      {"event engine, fluid V100", bench.scene.v100_problem()}};
  for (const auto& [name, problem] : fluid_scenes) {
    add(name, size, [problem, simulate] {
      return simulate(problem, {.engine = EngineKind::event});
    });
    add(std::string{name} + ", recorded", size, [problem, simulate, recorded] {
      return simulate(problem, recorded);
    });
  }
}

void add_references(Bench& bench, const Size& size) {
  using Engine = BareRun (*)(const BareGraph&, std::vector<std::int64_t>&);
  const auto ideal = [&](const std::string& work, Engine engine) {
    add(work, size, [&bench, engine] {
      return seconds_of([&] { benchmark::DoNotOptimize(engine(bench.bare, bench.started)); });
    });
  };
  ideal("ideal sweep", ideal_sweep);
  ideal("ideal in-order engine", ideal_in_order);
  ideal("ideal FIFO engine", ideal_fifo);
  ideal("textbook FIFO engine", textbook_fifo);
  ideal("ideal sharing engine", ideal_sharing);
  if (!simgrid_is_there() || size.tasks > largest_for_simgrid) return;
  add("SimGrid, timers", size, [&bench] {
    return simgrid_in_order(bench.bare, SimGridMode::timers).seconds;
  });
  add("SimGrid, activities", size, [&bench] {
    return simgrid_in_order(bench.bare, SimGridMode::activities).seconds;
  });
}

std::int64_t resident_peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

struct Memory {
  std::size_t graph = 0;
  std::size_t costs = 0;
  std::size_t plan = 0;
  std::size_t engine = 0;
  std::size_t trace = 0;
  std::int64_t peak = 0;
};

void add_memory(std::uint32_t tasks, ResultsTable& table) {
  const Memory memory = in_child([tasks] {
    const std::int64_t before = resident_peak();
    const LstmScene scene(tasks, false);
    Simulator simulator;
    const Trace trace = simulator.run(scene.problem(), scene.plan, {.engine = EngineKind::event});
    return Memory{scene.graph.memory_bytes(),
                  scene.costs.memory_bytes(),
                  scene.plan.memory_bytes(),
                  simulator.memory_bytes(),
                  trace.tasks.capacity() * sizeof(TaskSpan),
                  resident_peak() - before};
  });
  const auto add = [&](const std::string& what, std::size_t bytes) {
    table.add(what, tasks, "B/task", static_cast<double>(bytes) / tasks);
  };
  add("memory: graph", memory.graph);
  add("memory: costs", memory.costs);
  add("memory: plan", memory.plan);
  add("memory: event engine", memory.engine);
  add("memory: graph + costs + plan + event engine",
      memory.graph + memory.costs + memory.plan + memory.engine);
  add("memory: trace", memory.trace);
  add("memory: peak of the process, build included", static_cast<std::size_t>(memory.peak));
}

void set_goals(ResultsTable& table) {
  constexpr std::uint32_t million = 1'000'000;
  table.set_goal("in-order sweep", million, 5);
  table.set_goal("event engine", million, 80);
  table.set_goal("event engine, fluid machine, recorded", million, 200);
  table.set_goal("memory: graph + costs + plan + event engine", million, 160);
  table.set_goal("read compact text", million, 30);
  table.set_goal("read JSON", million, 150);
  table.set_goal("growth: in-order sweep", 10'000'000, 2);
  table.set_goal("growth: event engine", 10'000'000, 2);
  for (const char* sweep : {"in-order sweep", "in-order sweep, new trace"}) {
    table.compare(sweep, "ideal sweep");
  }
  for (const char* reference : {"ideal in-order engine",
                                "ideal FIFO engine",
                                "textbook FIFO engine",
                                "SimGrid, timers",
                                "SimGrid, activities"}) {
    table.compare("in-order sweep", reference);
    table.compare("event engine", reference);
    table.compare("event engine, limited units", reference);
  }
  for (const char* scene : {"event engine, fluid machine",
                            "event engine, fluid machine, bandwidth always short",
                            "event engine, fluid V100"}) {
    table.compare(scene, "ideal sharing engine");
    table.compare(std::string{scene} + ", recorded", "ideal sharing engine");
  }
  table.compare("read compact text", "scan the numbers of the text");
  table.compare("read JSON", "nlohmann DOM");
}

void add_growth(ResultsTable& table, std::uint32_t largest) {
  for (const std::string work : {"in-order sweep", "event engine"}) {
    const double small = table.best(work, 10'000);
    const double large = table.best(work, largest);
    if (small <= 0 || large <= 0 || largest <= 10'000) continue;
    table.add("growth: " + work, largest, "x 10^4", large / small);
  }
}

void run_size(std::uint32_t tasks, const Options& options, ResultsTable& table) {
  Bench bench(tasks);
  check_answers(bench);
  if (options.repetitions == 0) return;
  const Size size{bench.bare.task_count(), options, table};
  add_engines(bench, size);
  add_references(bench, size);
  const auto files =
      tasks <= options.largest_file ? std::make_shared<GraphFiles>(bench.scene) : nullptr;
  if (files != nullptr) {
    for (const auto& [work, timed] : files->readers()) {
      add(work, size, [timed] { return seconds_of(timed); });
    }
  }
  benchmark::RunSpecifiedBenchmarks(&table);
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  ResultsTable table;
  set_goals(table);
  // Memory first: later the process holds freed memory, which would hide part of a child's peak.
  for (const std::uint32_t tasks : options.sizes) add_memory(tasks, table);
  for (const std::uint32_t tasks : options.sizes) run_size(tasks, options, table);
  add_growth(table, options.sizes.back());
  add_small_sweeps(options, table);
  fmt::print("{}", table.text());
  if (!options.json.empty()) std::ofstream(options.json) << table.json();
  return 0;
}

}  // namespace schedlab::bench
