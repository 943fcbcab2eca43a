// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_experiments.hpp"
#include "sim/base/robust_statistics.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t large_bytes = std::int64_t{32} << 20U;
constexpr std::int64_t small_bytes = std::int64_t{4} << 10U;

Kernel copy_of(TaskKind direction, std::int64_t bytes) {
  return copy_kernel(direction, bytes, DataType::fp32);
}

/// What one more kernel in a row of them takes, microseconds: in a device graph where there are
/// any, as the host takes longer to launch a small copy than the device to make it.
std::vector<double> in_a_row_us(DeviceBench& bench,
                                const BenchEffort& effort,
                                const Kernel& kernel,
                                std::size_t few,
                                std::size_t many) {
  if (!bench.facts().device_graphs) {
    return slopes(makespans_us(bench, stream_chain(few, kernel), effort),
                  makespans_us(bench, stream_chain(many, kernel), effort),
                  many - few);
  }
  return slopes(read_runs(bench, graph_chain(few, kernel), effort, after_graph_launch_us),
                read_runs(bench, graph_chain(many, kernel), effort, after_graph_launch_us),
                many - few);
}

/// Two streams with kernels in a row, launched in turn.
Microbenchmark side_by_side(const Kernel& a,
                            std::size_t count_a,
                            const Kernel& b,
                            std::size_t count_b) {
  MicrobenchmarkBuilder made{fmt::format("{} beside {}", to_string(a.kind), to_string(b.kind))};
  const StreamId first = made.stream();
  const StreamId second = made.stream();
  for (std::size_t i = 0; i < std::max(count_a, count_b); ++i) {
    if (i < count_a) made.launch(first, made.kernel(a));
    if (i < count_b) made.launch(second, made.kernel(b));
  }
  return std::move(made).build();
}

std::vector<double> ratios(double of, const std::vector<double>& to) {
  std::vector<double> result;
  result.reserve(to.size());
  for (const double one : to) result.push_back(of / one);
  return result;
}

RuleReading overlap(DeviceBench& bench,
                    const BenchEffort& effort,
                    const Kernel& a,
                    const Kernel& b,
                    std::string name,
                    std::string question) {
  constexpr std::size_t copies = 8;
  const double alone = median(makespans_us(bench, stream_chain(copies, a), effort)) +
                       median(makespans_us(bench, stream_chain(copies, b), effort));
  return {.name = std::move(name),
          .question = std::move(question),
          .unit = "ratio",
          .values = ratios(alone, makespans_us(bench, side_by_side(a, copies, b, copies), effort)),
          .note = "time one after the other over time side by side: 1 = in turn, 2 = at once"};
}

/// Time of two chains of equal length side by side over the time of one alone.
RuleReading co_run(DeviceBench& bench,
                   const BenchEffort& effort,
                   const Kernel& a,
                   const Kernel& b,
                   std::string name,
                   std::string question) {
  constexpr double longest_chain_us = 2e5;  // assumed: slow devices need no longer one
  const double one_a = median(makespans_us(bench, stream_chain(1, a), {.runs = 1}));
  const auto count = static_cast<std::size_t>(std::clamp(longest_chain_us / one_a, 4.0, 40.0));
  const double alone_a = median(makespans_us(bench, stream_chain(count, a), effort));
  const double one_b =
      median(makespans_us(bench, stream_chain(count, b), effort)) / static_cast<double>(count);
  const auto count_b =
      static_cast<std::size_t>(std::clamp(std::round(alone_a / one_b), 1.0, 1000.0));
  const double alone_b = median(makespans_us(bench, stream_chain(count_b, b), effort));
  const double longer = std::max(alone_a, alone_b);
  std::vector<double> slow_downs;
  for (const double both : makespans_us(bench, side_by_side(a, count, b, count_b), effort)) {
    slow_downs.push_back(both / longer);
  }
  return {.name = std::move(name),
          .question = std::move(question),
          .unit = "ratio",
          .values = std::move(slow_downs),
          .note = "1 = neither notices the other, 2 = as one after the other"};
}

}  // namespace

std::vector<RuleReading> measure_copies(DeviceBench& bench, const BenchEffort& effort) {
  const bool graphs = bench.facts().device_graphs;
  const auto idle = graphs ? &measure_device_graph : &measure_stream_gap;
  const double gap = median(idle(bench, effort).front().values);
  std::vector<RuleReading> readings;
  for (const TaskKind direction : {TaskKind::copy_host_to_device, TaskKind::copy_device_to_host}) {
    const bool to_device = direction == TaskKind::copy_host_to_device;
    const char* const name = to_device ? "host_to_device" : "device_to_host";
    std::vector<double> small =
        in_a_row_us(bench, effort, copy_of(direction, small_bytes), 20, 120);
    const std::vector<double> large =
        in_a_row_us(bench, effort, copy_of(direction, large_bytes), 4, 12);
    RuleReading bandwidth{.name = fmt::format("{}_bandwidth", name),
                          .question = fmt::format("How fast are large copies {}?",
                                                  to_device ? "from the host to the device"
                                                            : "from the device to the host"),
                          .unit = "GB/s",
                          .pointer = fmt::format("/device/{}_gb_per_s", name)};
    constexpr double bytes = large_bytes - small_bytes;
    for (std::size_t i = 0; i < large.size(); ++i) {
      bandwidth.values.push_back(bytes / (large[i] - small[i]) / 1e3);  // bytes per us to GB/s
    }
    const double rate = median(bandwidth.values) * 1e3;
    for (double& one : small) one -= static_cast<double>(small_bytes) / rate + gap;
    readings.push_back(std::move(bandwidth));
    readings.push_back(
        {.name = fmt::format("{}_latency", name),
         .question = "What does a copy take beyond its bytes?",
         .unit = "us",
         .pointer = to_device ? "/device/copy_latency_us" : "",
         .values = std::move(small),
         .note = fmt::format("of small copies in a row in a {}, less the gap between two",
                             graphs ? "device graph" : "stream")});
  }
  readings.push_back(overlap(bench,
                             effort,
                             copy_of(TaskKind::copy_host_to_device, large_bytes),
                             copy_of(TaskKind::copy_device_to_host, large_bytes),
                             "copy_overlap",
                             "Do copies in the two directions run at once?"));
  readings.push_back(overlap(bench,
                             effort,
                             copy_of(TaskKind::copy_host_to_device, large_bytes),
                             copy_of(TaskKind::copy_host_to_device, large_bytes),
                             "copy_overlap_same_direction",
                             "Do copies in one direction run at once?"));
  return readings;
}

std::vector<RuleReading> measure_co_runs(DeviceBench& bench, const BenchEffort& effort) {
  constexpr std::int64_t side = 1152;  // 81 tiles of 128 x 128: two of them fill most devices alike
  constexpr std::int64_t elements = std::int64_t{16} << 20U;  // 128 MiB of traffic, beyond caches
  const Kernel compute = gemm_kernel(side, side, side, DataType::fp32, false);
  const Kernel memory{.kind = TaskKind::pointwise,
                      .flops = Flops{static_cast<double>(elements)},
                      .bytes_read = Bytes{4 * elements},
                      .bytes_written = Bytes{4 * elements}};
  return {co_run(bench,
                 effort,
                 compute,
                 compute,
                 "co_run_compute_compute",
                 "How much longer do two streams of matrix products take than one?"),
          co_run(bench,
                 effort,
                 memory,
                 memory,
                 "co_run_memory_memory",
                 "How much longer do two streams of memory-bound kernels take than one?"),
          co_run(bench,
                 effort,
                 compute,
                 memory,
                 "co_run_compute_memory",
                 "How much longer do matrix products beside memory-bound kernels take?")};
}

}  // namespace schedlab
