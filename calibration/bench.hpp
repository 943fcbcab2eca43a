// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_executor.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace schedlab {

/// One graph with a plan for it, to be run several times.
struct BenchCase {
  std::string name;  ///< for messages
  TaskGraph graph;
  Plan plan;
  /// What its tasks do: the numerics of this model; none: see `proxies`.
  std::optional<RecurrentSpec> recurrent{};
  /// Without a model: what stands in for unknown kernels (ProxyWork), or else copies of their
  /// bytes, and spinning where only a duration is known.
  bool proxies = false;
  /// Its kernels read their bytes, one word of every cache line, all of them the same memory.
  bool reads = false;
  /// That each of its model's kernels is cut into; 0: it has no model.
  std::uint32_t blocks = 0;
  /// All calls are made before time 0; else the host makes them while the device works.
  bool preloaded = true;
};

/// What is known of the device without measuring.
struct BenchDevice {
  std::string cpu;
  std::string compiler;
  std::string library;       ///< of matrix products
  std::string date;          ///< today
  Bytes last_level_cache{};  ///< that its workers share; 0: not known
  Bytes unit_cache{};        ///< that each core has for itself; 0: not known
};

/// Where calibration measures: this computer's cores, or in tests a simulated machine.
class CalibrationBench {
 public:
  CalibrationBench() = default;
  CalibrationBench(const CalibrationBench&) = delete;
  CalibrationBench& operator=(const CalibrationBench&) = delete;
  virtual ~CalibrationBench() = default;

  [[nodiscard]] virtual std::uint32_t workers() const = 0;
  [[nodiscard]] virtual BenchDevice device() const = 0;
  /// Runs the case until `again(execution)` says no; the caller leaves out the first run, which
  /// finds cold caches. Throws Interrupted when it is asked to stop, and what executors throw.
  virtual void run(const BenchCase& what, const std::function<bool(const Execution&)>& again) = 0;
};

}  // namespace schedlab
