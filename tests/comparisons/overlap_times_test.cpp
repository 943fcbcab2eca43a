// SPDX-License-Identifier: Apache-2.0
// Published times of collectives, and of kernels beside them, against the machine file alone:
// docs/external_comparisons.md.
#include "hw_models/collective.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/comparisons/reference_data.hpp"
#include "workloads/traces/kineto.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

using testing::Errors;

double all_reduce_us(const Platform& platform, std::uint32_t ranks, double bytes) {
  std::vector<std::uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0U);
  const CollectiveSpec spec{.op = CollectiveOp::all_reduce,
                            .bytes = Bytes{static_cast<std::int64_t>(bytes)},
                            .algorithm = CollectiveAlgorithm::automatic};
  return to_us(collective_time(spec, all, platform).total());
}

/// A point-wise kernel of two ranks of a machine, and beside it or not an exchange between them.
class PointwiseBeside {
 public:
  PointwiseBeside() {
    platform_.ranks = 2;
    platform_.network.ranks_per_node = 1;  // between nodes, as in the trace
    platform_.network.collectives.units = 20;
  }
  /// How much longer it takes beside the exchange.
  [[nodiscard]] double slow_down() const { return to_us(time(true)) / to_us(time(false)); }

 private:
  [[nodiscard]] Duration time(bool beside) const {
    TaskGraphBuilder builder;
    Kernel kernel{.kind = TaskKind::pointwise, .bytes_read = 256_MiB, .bytes_written = 256_MiB};
    const OperationId work =
        builder.add_operation({.name = "cast", .kind = TaskKind::pointwise, .kernels = {kernel}});
    const OperationId exchange =
        builder.add_operation({.name = "dispatch", .kind = TaskKind::collective});
    const CollectiveId joined =
        builder.add_collective({.op = CollectiveOp::all_to_all, .bytes = 512_MiB});
    Plan plan;
    plan.policy = "by hand";
    plan.hosts = IdVector<HostId, HostProgram>(2);
    std::vector<TaskId> kernels;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto launch = [&](OperationId operation) {
        const TaskId task = builder.add_task(operation);
        builder.set_rank(task, rank);
        const StreamId stream{static_cast<std::uint32_t>(plan.streams.size())};
        plan.streams.push_back({.device = DeviceId{rank}});
        plan.hosts[HostId{rank}].calls.push_back(HostCall::launch(stream, task));
        return task;
      };
      if (beside) builder.joins(launch(exchange), joined);
      kernels.push_back(launch(work));
    }
    if (!beside) {
      for (const std::uint32_t rank : {0U, 1U}) {
        const TaskId part = builder.add_task(exchange);
        builder.set_rank(part, rank);
        builder.joins(part, joined);
      }
    }
    const TaskGraph graph = std::move(builder).build();
    const CostTable costs{graph, platform_, TiledGemm{}};
    const Trace trace = simulate({graph, platform_, costs}, plan);
    const auto span = std::find_if(trace.tasks.begin(), trace.tasks.end(), [&](const TaskSpan& s) {
      return s.task == kernels.front();
    });
    return span->duration();
  }

  Platform platform_ = load_machine("h100").platform;
};

bool is_communication(const DeviceRow& row) {
  return row.stream == 27;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Share of the row during which one of `others` runs; those must not overlap.
double covered(const DeviceRow& row, const std::vector<DeviceRow>& others) {
  Duration sum{0};
  for (const DeviceRow& other : others) {
    const Time from = std::max(row.started, other.started);
    const Time to = std::min(row.ended, other.ended);
    if (to > from) sum += to - from;
  }
  return to_us(sum) / to_us(row.ended - row.started);
}

}  // namespace

TEST_CASE(
    "all-reduces of vLLM among 2 and 4 H100, captured, predicted by what NCCL was fitted to") {
  const auto path = testing::reference_data("aiconfigurator/h100_allreduce_2_4.csv");
  if (!path) return;
  const Platform platform = [] {
    Platform with = load_machine("h100").platform;
    with.ranks = 4;
    return with;
  }();
  Errors large;
  Errors small;
  for (const testing::CsvRow& row : testing::read_csv(*path)) {
    if (row.at("kernel_source") != "vLLM_custom_graph") continue;
    constexpr double element = 2;  // bytes
    const double bytes = element * std::stod(row.at("message_size"));
    const auto ranks = static_cast<std::uint32_t>(std::stoul(row.at("num_gpus")));
    const double measured = 1e3 * std::stod(row.at("latency"));
    (bytes < 4 * 1048576 ? small : large).add(all_reduce_us(platform, ranks, bytes), measured);
  }
  MESSAGE("from 4 MiB: " << large.summary() << "; below: " << small.summary());
  CHECK(large.count() == 18);
  CHECK(small.count() == 28);
  CHECK(large.median() < 0.06);
  CHECK(large.quantile(0.9) < 0.20);
  // vLLM's own kernel for small sizes has one step, NCCL's ring 2 (n - 1).
  CHECK(small.median_signed() > 0.5);
}

TEST_CASE("point-wise kernels beside a kernel of experts' communication, in DeepSeek's trace") {
  const auto path = testing::reference_data("deepseek/train_h800.json.gz");
  if (!path) return;
  const ImportedTrace trace = read_kineto(*path);
  std::vector<DeviceRow> exchanges;  // of 20 blocks
  std::vector<DeviceRow> communication;
  std::vector<DeviceRow> third;
  for (const DeviceRow& row : trace.device_rows) {
    if (is_communication(row)) {
      communication.push_back(row);
      if (row.grid[0] == 20) exchanges.push_back(row);
    } else if (row.stream == 23) {
      third.push_back(row);
    }
  }
  // Kernels of thousands of blocks: those of products are cut for the units that are left.
  std::map<std::pair<std::string, std::array<std::uint32_t, 3>>, std::array<std::vector<double>, 2>>
      by_form;
  for (const DeviceRow& row : trace.device_rows) {
    const std::uint64_t blocks = std::uint64_t{1} * row.grid[0] * row.grid[1] * row.grid[2];
    const double us = to_us(row.ended - row.started);
    if (row.stream != 7 || us < 20 || blocks < 1000 || covered(row, third) > 0) continue;
    const double beside = covered(row, exchanges);
    if (beside > 0.02 && beside < 0.98) continue;
    if (beside <= 0.02 && covered(row, communication) > 0.02) continue;
    by_form[{std::string{trace.texts[row.name]}, row.grid}][beside >= 0.98 ? 1 : 0].push_back(us);
  }
  std::vector<double> ratios;
  for (const auto& [form, times] : by_form) {
    if (times[0].empty() || times[1].empty()) continue;
    ratios.push_back(mean_of(times[1]) / mean_of(times[0]));
    MESSAGE(fmt::format("{:.3f} of {} beside, {} alone: {}",
                        ratios.back(),
                        times[1].size(),
                        times[0].size(),
                        form.first.substr(0, 60)));
  }
  std::sort(ratios.begin(), ratios.end());
  const double predicted = PointwiseBeside{}.slow_down();
  MESSAGE(fmt::format("{} kernels, {:.3f} to {:.3f}, median {:.3f}; predicted {:.3f}",
                      ratios.size(),
                      ratios.front(),
                      ratios.back(),
                      ratios[ratios.size() / 2],
                      predicted));
  CHECK(ratios.size() == 13);
  CHECK(predicted / ratios[ratios.size() / 2] == doctest::Approx(1.0).epsilon(0.05));
}

}  // namespace schedlab
