// SPDX-License-Identifier: Apache-2.0
// What the stages of a host cost the event engine: equal operators on one stream, launched by a
// free host, a driver alone, a framework on one thread and on two, several such hosts, and as a
// device graph. Each scene is checked against its closed form before it is timed.
//   host_stages_bench [--tasks=N] [--runs=N] [--scene=TEXT]
// Instructions are counted from outside: docs/performance.md has the command.
#include "sim/engine/simulator.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::bench {
namespace {

constexpr Duration driver = 2us;
constexpr Duration preparation = 9us;  // all stages before the launch
constexpr Duration operator_time = 1us;

struct Scene {
  std::string_view name;
  bool with_driver = true;
  bool with_stages = true;
  bool two_threads = false;
  std::uint32_t queue_depth = 0;
  std::uint32_t hosts = 1;
  bool graph = false;
  EngineKind engine = EngineKind::event;
};

const std::vector<Scene> scenes{
    {.name = "free host", .with_driver = false, .with_stages = false},
    {.name = "driver", .with_stages = false},
    {.name = "stages, one thread"},
    {.name = "stages, one thread, in-order sweep", .engine = EngineKind::in_order},
    {.name = "stages, two threads", .two_threads = true},
    {.name = "stages, two threads, queue of 64", .two_threads = true, .queue_depth = 64},
    {.name = "driver, 8 hosts", .with_stages = false, .hosts = 8},
    {.name = "stages, 8 hosts of one thread", .hosts = 8},
    {.name = "stages, 8 hosts of two threads", .two_threads = true, .hosts = 8},
    {.name = "device graph", .graph = true},
};

/// Each host launches `tasks` operators on a device of its own.
struct Bench {
  Bench(const Scene& which, std::uint32_t tasks) : scene(which), tasks_of_host(tasks) {
    TaskGraphBuilder builder;
    const OperationId op =
        builder.add_operation({.name = "operator", .fixed_duration = operator_time});
    platform = ideal_platform();
    platform.devices.resize(scene.hosts, platform.devices[DeviceId{0}]);
    Host host;
    if (scene.with_driver) host.costs.launch = driver;
    if (scene.with_driver) host.costs.graph_launch = driver;
    if (scene.with_stages) {
      host.costs.front_end = 3us;
      host.costs.conversion = 2us;
      host.costs.shape_inference = 1us;
      host.costs.tiling = 2us;
      host.costs.allocation = 1us;
    }
    host.front_end_thread = scene.two_threads;
    host.front_end_queue_depth = scene.queue_depth;
    platform.hosts[HostId{0}] = host;  // of all
    plan.hosts.resize(scene.hosts);
    for (std::uint32_t h = 0; h < scene.hosts; ++h) {
      const StreamId stream = plan.streams.push_back({.device = DeviceId{h}});
      for (std::uint32_t i = 0; i < tasks; ++i) {
        plan.hosts[HostId{h}].calls.push_back(HostCall::launch(stream, builder.add_task(op)));
      }
    }
    graph = std::move(builder).build();
    if (scene.graph) plan = capture_graphs(plan);
    costs = CostTable{graph, platform};
  }

  /// Every operator is shorter than what the slower stage needs, unless the host is free.
  [[nodiscard]] Duration closed_form() const {
    const std::int64_t n = tasks_of_host;
    if (scene.graph) return driver + n * operator_time;
    if (!scene.with_driver) return n * operator_time;
    if (!scene.with_stages) return n * driver + operator_time;
    if (!scene.two_threads) return n * (driver + preparation) + operator_time;
    return n * std::max(driver, preparation) + std::min(driver, preparation) + operator_time;
  }

  void run() {
    simulator.run_into({graph, platform, costs}, plan, {.engine = scene.engine}, trace);
  }

  void check() {
    run();
    if (trace.makespan() == closed_form() && trace.tasks.size() == graph.task_count()) return;
    throw std::runtime_error(fmt::format("{}: {} tasks in {} us, expected {} in {} us",
                                         scene.name,
                                         trace.tasks.size(),
                                         to_us(trace.makespan()),
                                         graph.task_count(),
                                         to_us(closed_form())));
  }

  Scene scene;
  std::uint32_t tasks_of_host;
  Platform platform;
  TaskGraph graph;
  CostTable costs;
  Plan plan;
  Simulator simulator;
  Trace trace;
};

struct Options {
  std::uint32_t tasks = 80'000;  // of all hosts together
  std::uint32_t runs = 9;
  std::string scene;  // only those whose name has this in it
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const std::string value = flag.substr(std::min(flag.find('=') + 1, flag.size()));
    if (flag.starts_with("--tasks=")) {
      options.tasks = static_cast<std::uint32_t>(std::stoul(value));
    } else if (flag.starts_with("--runs=")) {
      options.runs = static_cast<std::uint32_t>(std::stoul(value));
    } else if (flag.starts_with("--scene=")) {
      options.scene = value;
    } else {
      throw std::runtime_error("usage: host_stages_bench [--tasks=N] [--runs=N] [--scene=TEXT]");
    }
  }
  return options;
}

}  // namespace

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  fmt::print("{} operators; ns of processor time per operator, least of {} runs\n\n",
             options.tasks,
             options.runs);
  for (const Scene& scene : scenes) {
    if (scene.name.find(options.scene) == std::string_view::npos) continue;
    Bench bench{scene, std::max(options.tasks / scene.hosts, 1U)};
    bench.check();
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < options.runs; ++i) {
      const double begun = processor_seconds();
      bench.run();
      least = std::min(least, processor_seconds() - begun);
    }
    const auto count = static_cast<double>(bench.graph.task_count());
    if (options.runs == 0) {
      fmt::print("{:38} right\n", scene.name);
    } else {
      fmt::print("{:38} {:7.1f}\n", scene.name, 1e9 * least / count);
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace schedlab::bench
