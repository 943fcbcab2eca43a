// SPDX-License-Identifier: Apache-2.0
#include "calibration/cuda_bench.hpp"

#include "calibration/device_calibration.hpp"
#include "calibration/simulated_device_bench.hpp"
#include "profiler/cupti_session.hpp"
#include "real_exec/executor/execution.hpp"
#include "sim/base/wall_clock.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {

CudaBench::CudaBench(const CudaExecutorOptions& options, const std::string& base)
    : products_(options.products),
      executor_(options),
      base_(base_machine(executor_.properties().name, base)),
      platform_(with_spinning_units(base_.platform)) {}

DeviceFacts CudaBench::facts() const {
  const DeviceProperties& device = executor_.properties();
  const std::string version = profiler_available().version;
  constexpr std::size_t day = 10;  // characters of 2026-11-21
  return {.name = device.name,
          .software = fmt::format("CUDA{}, products by {}",
                                  version.empty() ? "" : " with CUPTI " + version,
                                  to_string(products_)),
          .date = now_utc().substr(0, day),
          .units = device.units,
          .priority_levels =
              static_cast<std::uint32_t>(device.least_priority - device.greatest_priority + 1)};
}

const SmLimits& CudaBench::limits() const {
  return platform_.device(DeviceId{0}).sm_limits;
}

void CudaBench::run(const Microbenchmark& benchmark,
                    const std::function<bool(const BenchRun&)>& again) {
  const CostTable costs = bench_costs(benchmark.graph, platform_);
  CudaProxyOptions options;
  options.record_blocks = benchmark.place_blocks;
  CudaProxyWork work{executor_, benchmark.graph, costs, options};
  executor_.run_options().timing = benchmark.time_tasks ? TaskTiming::events : TaskTiming::none;
  Execution execution;
  BenchRun made;
  do {
    executor_.run(benchmark.graph, benchmark.plan, work, execution);
    made.trace = std::move(execution.trace);
    made.placements.clear();
    for (const CudaBlockRecord& block : work.block_records()) {
      BlockPlacement& placed = made.placements.emplace_back();
      placed.task = block.task;
      placed.unit = block.unit;
      placed.blocks = 1;
    }
  } while (again(made));
}

}  // namespace schedlab
