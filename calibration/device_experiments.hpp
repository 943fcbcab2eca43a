// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "calibration/microbenchmarks.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What was read off a device about one rule.
struct RuleReading {
  std::string name;              ///< "event_latency"
  std::string question;          ///< in words
  std::string unit;              ///< "us", "count", "GB/s", "ratio" or "yes_no" (1 or 0)
  std::string pointer{};         ///< the number of a machine file that it is; empty: none
  std::vector<double> values{};  ///< one per run; empty: not measured
  bool at_least = false;         ///< the experiment could not see more than the value
  std::string note{};            ///< why it was not measured, or what to know of it

  [[nodiscard]] bool measured() const { return !values.empty(); }
};

/// A few microbenchmarks that answer one or more questions.
struct DeviceExperiment {
  std::string_view name;
  std::vector<RuleReading> (*measure)(DeviceBench& bench, const BenchEffort& effort);
};

/// All of them, in the order in which they are run: calls and gaps, queues and placement, copies
/// and kernels side by side.
[[nodiscard]] std::vector<DeviceExperiment> device_experiments();

// Calls and gaps (call_experiments.cpp).
[[nodiscard]] std::vector<RuleReading> measure_calls(DeviceBench& bench, const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_call_kinds(DeviceBench& bench,
                                                          const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_round_trip(DeviceBench& bench,
                                                          const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_stream_gap(DeviceBench& bench,
                                                          const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_programmatic_gap(DeviceBench& bench,
                                                                const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_device_graph(DeviceBench& bench,
                                                            const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_event_latency(DeviceBench& bench,
                                                             const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_launch_queue(DeviceBench& bench,
                                                            const BenchEffort& effort);

// Queues and placement (queue_experiments.cpp).
[[nodiscard]] std::vector<RuleReading> measure_connections(DeviceBench& bench,
                                                           const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_priorities(DeviceBench& bench,
                                                          const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_blocking(DeviceBench& bench,
                                                        const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_tail(DeviceBench& bench, const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_resident_kernels(DeviceBench& bench,
                                                                const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_placement(DeviceBench& bench,
                                                         const BenchEffort& effort);

// Copies and kernels side by side (transfer_experiments.cpp).
[[nodiscard]] std::vector<RuleReading> measure_copies(DeviceBench& bench,
                                                      const BenchEffort& effort);
[[nodiscard]] std::vector<RuleReading> measure_co_runs(DeviceBench& bench,
                                                       const BenchEffort& effort);

}  // namespace schedlab
