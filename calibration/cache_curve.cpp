// SPDX-License-Identifier: Apache-2.0
#include "calibration/cache_curve.hpp"

#include "policies/registry.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/base/statistics.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace schedlab {
namespace {

constexpr double distances[] = {0.4, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25, 1.5, 1.75, 2, 3};
constexpr double surely_cached = 0.65;  // of the size // assumed: neighbours leave that much
constexpr double min_contrast = 1.3;    // memory over cache // assumed: far above the scatter
constexpr std::size_t sweeps_per_run = 6;

BenchCase reads_of(Bytes bytes, std::uint32_t workers) {
  TaskGraphBuilder builder;
  Kernel kernel{.kind = TaskKind::reduction, .bytes_read = bytes};
  kernel.grid.blocks = workers;
  const OperationId read =
      builder.add_operation({.name = "read", .kind = TaskKind::reduction, .kernels = {kernel}});
  for (std::size_t i = 0; i < sweeps_per_run; ++i) {
    const TaskId task = builder.add_task(read);
    if (i > 0) builder.add_edge(TaskId{task.value() - 1}, task);
  }
  BenchCase made{
      .name = fmt::format("reads of {:.1f} MiB", static_cast<double>(bytes.count()) / (1 << 20)),
      .graph = std::move(builder).build(),
      .plan = {},
      .reads = true};
  const Platform platform = ideal_platform();
  const CostTable costs{made.graph, platform};
  made.plan = make_policy("single_stream")->plan({made.graph, platform, costs});
  return made;
}

}  // namespace

std::vector<CacheShare> cache_curve(const std::vector<SweepTime>& sweeps) {
  std::vector<double> inside;
  for (const SweepTime& sweep : sweeps) {
    if (sweep.distance <= surely_cached) inside.push_back(sweep.seconds_per_byte);
  }
  if (inside.empty()) return {};
  const double cached = median(inside);
  const double memory = sweeps.back().seconds_per_byte;
  if (memory < min_contrast * cached) return {};
  std::vector<CacheShare> curve;
  double most = 1;
  for (const SweepTime& sweep : sweeps) {
    const double share = (memory - sweep.seconds_per_byte) / (memory - cached);
    if (sweep.distance > surely_cached) most = std::clamp(share, 0.0, most);
    curve.push_back({.distance = sweep.distance, .share = most});
  }
  return curve;
}

CacheSweeps::CacheSweeps(Bytes size, std::uint32_t workers) {
  if (size == Bytes{0}) return;
  for (const double distance : distances) {
    const Bytes bytes{std::llround(distance * static_cast<double>(size.count()))};
    sweeps_.push_back({.distance = distance, .reads = reads_of(bytes, workers)});
  }
}

void CacheSweeps::measure(CalibrationBench& bench, const Effort& effort) {
  for (Sweep& sweep : sweeps_) {
    repeat(bench, sweep.reads, effort, [&](const Execution& execution) {
      for (const TaskSpan& span : execution.trace.tasks) {
        const Bytes bytes = sweep.reads.graph.operation(span.task).bytes_read();
        sweep.seconds_per_byte.push_back(to_seconds(span.duration()) /
                                         static_cast<double>(bytes.count()));
      }
    });
  }
}

std::vector<CacheShare> CacheSweeps::curve() const {
  std::vector<SweepTime> times;
  for (const Sweep& sweep : sweeps_) {
    std::vector<double> sorted = sweep.seconds_per_byte;
    if (sorted.empty()) return {};
    std::sort(sorted.begin(), sorted.end());
    times.push_back({.distance = sweep.distance, .seconds_per_byte = percentile(sorted, 0.25)});
  }
  return cache_curve(times);
}

}  // namespace schedlab
