// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/machine_spec.hpp"
#include "sim/engine/block_placement.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/trace/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// A small graph with a plan, made to show one rule of a device.
struct Microbenchmark {
  std::string name;  ///< for messages
  TaskGraph graph;
  Plan plan;
  /// Times of single tasks are wanted. Taking them may widen gaps, so makespans and host calls are
  /// read from runs without.
  bool time_tasks = false;
  bool place_blocks = false;  ///< where blocks ran is wanted
};

/// One run of a microbenchmark.
struct BenchRun {
  /// Host calls always; tasks where times were asked for: their ends are what counts, as a start
  /// may be taken when the stream got there and not when the kernel found free units.
  Trace trace;
  std::vector<BlockPlacement> placements;  ///< empty where the bench cannot see them
};

/// What a device says of itself.
struct DeviceFacts {
  std::string name;
  std::string software;  ///< driver and toolkit
  std::string date;      ///< of the measurement, 2026-11-21
  std::uint32_t units = 0;
  std::uint32_t priority_levels = 1;
  std::string kind = "cuda";  ///< as --device names it
  /// Kernels can be timed in device graphs. Else each is timed by events, on one stream.
  bool device_graphs = true;
  /// A kernel runs on one unit, however large it is: units are groups of a split device.
  bool unit_kernels = false;
  std::vector<DataType> types{};  ///< of products that it computes; empty: all

  [[nodiscard]] bool computes(DataType type) const {
    return types.empty() || std::find(types.begin(), types.end(), type) != types.end();
  }
};

/// Called before each experiment: its name, how many are done and how many there are.
using RuleProgress = std::function<void(std::string_view, std::size_t, std::size_t)>;

/// Where the rules of a device are measured: a device, or the simulator.
class DeviceBench {
 public:
  DeviceBench() = default;
  DeviceBench(const DeviceBench&) = delete;
  DeviceBench& operator=(const DeviceBench&) = delete;
  virtual ~DeviceBench() = default;

  [[nodiscard]] virtual DeviceFacts facts() const = 0;
  /// Before anything is measured: finds the parameters of the libraries that compute, and uses them
  /// from then on. For the machine file, where execution finds them; empty: there are none.
  [[nodiscard]] virtual std::vector<NumberSource> tune(bool /*quick*/,
                                                       const RuleProgress& /*progress*/) {
    return {};
  }
  /// Limits of one unit (shared memory above all), by which microbenchmarks size their blocks.
  [[nodiscard]] virtual const SmLimits& limits() const = 0;
  /// Runs the microbenchmark until `again(run)` says no. Tasks of kind fixed spin for their
  /// duration in the grid of their kernel, others run a kernel of their kind and shape. Throws what
  /// executors throw, and Interrupted.
  virtual void run(const Microbenchmark& benchmark,
                   const std::function<bool(const BenchRun&)>& again) = 0;
};

}  // namespace schedlab
