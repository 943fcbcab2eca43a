// SPDX-License-Identifier: Apache-2.0
// Published times of collectives, and of kernels beside them, against the machine file alone:
// docs/external_comparisons.md.
#include "hw_models/collective.hpp"
#include "hw_models/expert_exchange.hpp"
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

/// A kernel that memory bounds on every rank of a machine, and beside it or not a collective.
class PointwiseBeside {
 public:
  PointwiseBeside(const std::string& machine, std::uint32_t ranks, const CollectiveSpec& spec)
      : spec_(spec), platform_(load_machine(machine).platform) {
    platform_.ranks = ranks;
  }
  Platform& platform() { return platform_; }
  struct SlowDown {
    double kernel = 1;
    double collective = 1;
  };
  /// How much longer a kernel takes that reads and writes so many bytes, beside the collective, and
  /// that beside it.
  [[nodiscard]] SlowDown slow_down(Bytes read) const {
    const auto [alone, unused] = times(read, false);
    const auto [beside, collective] = times(read, true);
    return {beside / alone, collective};
  }

 private:
  /// Of the kernel, us; of the collective, of what it takes alone.
  [[nodiscard]] std::pair<double, double> times(Bytes read, bool beside) const {
    TaskGraphBuilder builder;
    const Kernel kernel{.kind = TaskKind::pointwise, .bytes_read = read, .bytes_written = read};
    const OperationId work =
        builder.add_operation({.name = "cast", .kind = TaskKind::pointwise, .kernels = {kernel}});
    const OperationId exchange =
        builder.add_operation({.name = "exchange", .kind = TaskKind::collective});
    const CollectiveId joined = builder.add_collective(spec_);
    Plan plan;
    plan.policy = "by hand";
    plan.hosts = IdVector<HostId, HostProgram>(platform_.ranks);
    std::vector<TaskId> kernels;
    for (std::uint32_t rank = 0; rank < platform_.ranks; ++rank) {
      const auto launch = [&](TaskId task) {
        const StreamId stream{static_cast<std::uint32_t>(plan.streams.size())};
        plan.streams.push_back({.device = DeviceId{rank}});
        plan.hosts[HostId{rank}].calls.push_back(HostCall::launch(stream, task));
      };
      const TaskId part = builder.add_task(exchange);
      builder.joins(part, joined);
      kernels.push_back(builder.add_task(work));
      for (const TaskId task : {part, kernels.back()}) builder.set_rank(task, rank);
      if (beside) launch(part);
      launch(kernels.back());
    }
    const TaskGraph graph = std::move(builder).build();
    const CostTable costs{graph, platform_, TiledGemm{}};
    const Trace trace = simulate({graph, platform_, costs}, plan);
    std::pair<double, double> result{0, 1};
    for (const TaskSpan& span : trace.tasks) {
      if (span.task == kernels.front()) result.first = to_us(span.duration());
      if (graph.collectives().of(span.task).valid()) {
        result.second = to_us(span.duration()) / to_us(costs.duration(joined));
      }
    }
    return result;
  }

  CollectiveSpec spec_;
  Platform platform_;
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
  PointwiseBeside model{"h100", 2, {.op = CollectiveOp::all_to_all, .bytes = 512_MiB}};
  model.platform().network.ranks_per_node = 1;  // between nodes, as in the trace
  model.platform().network.collectives.units = 20;
  const double predicted = model.slow_down(256_MiB).kernel;
  MESSAGE(fmt::format("{} kernels, {:.3f} to {:.3f}, median {:.3f}; predicted {:.3f}",
                      ratios.size(),
                      ratios.front(),
                      ratios.back(),
                      ratios[ratios.size() / 2],
                      predicted));
  CHECK(ratios.size() == 13);
  CHECK(predicted / ratios[ratios.size() / 2] == doctest::Approx(1.0).epsilon(0.05));
}

TEST_CASE("experts' tokens inside and between nodes, as DeepEP's documentation has them") {
  // github.com/deepseek-ai/DeepEP, README.md and docs/legacy.md: GB/s of all bytes that a rank
  // sends to nodes, its own included (inside a node: to ranks), each token once to each of 4 nodes
  // at most; 7168 bytes dispatched, 14336 combined; 400 Gb/s a rank. What is fitted is other data.
  MachineSpec machine = load_machine("h100");
  apply_overrides(machine, {{"node", std::string{"hgx_h800"}}});
  Platform& platform = machine.platform;
  const auto between = [&](std::uint32_t nodes, double tokens, double bytes) {
    platform.ranks = 8 * nodes;
    std::vector<std::uint32_t> all(platform.ranks);
    std::iota(all.begin(), all.end(), 0U);
    const double sent = tokens * std::min(4.0, double{1} * nodes) * bytes;
    const CollectiveSpec spec{.op = CollectiveOp::all_to_all,
                              .bytes = Bytes{static_cast<std::int64_t>(sent)}};
    return sent / to_us(collective_time(spec, all, platform).total()) / 1e3;
  };
  struct Row {
    const char* what;
    std::uint32_t nodes;
    double tokens;
    double dispatch;
    double combine;
    double least;  // of the published that is predicted
    double most;
  };
  for (const Row& row : {Row{"V1", 2, 4096, 43, 43, 1.65, 1.80},
                         Row{"V1", 4, 4096, 58, 57, 0.84, 0.91},
                         Row{"V1", 8, 4096, 51, 50, 0.77, 0.87},
                         Row{"V2", 2, 8192, 90, 81, 0.81, 0.97},
                         Row{"V2", 4, 8192, 61, 61, 0.80, 0.87}}) {
    for (const auto& [bytes, published] :
         {std::pair{7168.0, row.dispatch}, std::pair{14336.0, row.combine}}) {
      const double predicted = between(row.nodes, row.tokens, bytes);
      MESSAGE(fmt::format("{} on {} nodes, {} B: {} GB/s published, {:.1f} predicted",
                          row.what,
                          row.nodes,
                          bytes,
                          published,
                          predicted));
      CHECK(predicted > row.least * published);
      CHECK(predicted < row.most * published);
    }
  }
  const auto inside = [&](const FittedParameters& fitted, double bytes) {
    const ExpertExchange exchange{
        .tokens = 4096, .hidden = 7168, .top_k = 8, .experts = 256, .ranks = 8, .units = 20};
    const double sent = exchange.tokens * expected_copies(exchange) * bytes;
    return sent / exchange_time(fitted, exchange, platform.network.device.bandwidth).us / 1e3;
  };
  const double dispatch = inside(platform.network.collectives.dispatch, 7168);
  const double combine = inside(platform.network.collectives.combine, 14336);
  MESSAGE(fmt::format("one node: {:.0f} and {:.0f} GB/s predicted", dispatch, combine));
  CHECK(dispatch == doctest::Approx(153).epsilon(0.1));
  CHECK(combine == doctest::Approx(158).epsilon(0.05));
}

TEST_CASE("what a large all-reduce and a kernel that memory bounds cost each other") {
  const CollectiveSpec sum{.op = CollectiveOp::all_reduce, .bytes = 64_MiB};
  for (const auto& [name, expected] :
       {std::pair{"a100", 1.17}, std::pair{"h100", 1.0}, std::pair{"h200", 1.0}}) {
    const PointwiseBeside eight{name, 8, sum};
    CAPTURE(name);
    CHECK(eight.slow_down(2048_MiB).collective == doctest::Approx(expected).epsilon(0.005));
    PointwiseBeside between{name, 8, sum};
    between.platform().network.ranks_per_node = 1;  // which takes longer than the kernel
    const double kernel = between.slow_down(512_MiB).kernel;
    CHECK(kernel > 1.18);
    CHECK(kernel < 1.30);
  }
}

}  // namespace schedlab
