// SPDX-License-Identifier: Apache-2.0
// Attention, collectives and expert exchanges of the shipped machines against the rows of
// ai-dynamo/aiconfigurator that took no part in their fit (schedlab calibrate --from), as cost
// models use them; and what an eager all-reduce costs beyond a captured one.
#include "calibration/attention_fit.hpp"
#include "calibration/collective_fit.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/tiled_gemm.hpp"
#include "sim/machine/kernel_profile.hpp"
#include "tests/comparisons/reference_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::Errors;

std::vector<TableRow> rows_of(const OperatorTable& table) {
  std::vector<TableRow> rows;
  for (std::size_t row = 0; row < table.rows(); ++row) rows.push_back({&table, row});
  return rows;
}

double simulated_us(const NodeCollective& one, const Platform& platform) {
  std::vector<std::uint32_t> ranks(static_cast<std::size_t>(one.ranks));
  std::iota(ranks.begin(), ranks.end(), 0U);
  const CollectiveSpec spec{.op = one.op, .bytes = Bytes{static_cast<std::int64_t>(one.bytes)}};
  return to_us(collective_time(spec, ranks, platform).total());
}

}  // namespace

TEST_CASE("attention of the shipped machines on rows that were held out of their fit") {
  for (const std::string& name : std::vector<std::string>{"a100", "h100", "h200", "b200"}) {
    const MachineSpec machine = load_machine(name);
    const Device& device = machine.platform.devices[DeviceId{0}];
    Errors errors;
    for (const std::string& kind : std::vector<std::string>{"context", "generation"}) {
      const auto path = testing::reference_data(
          fmt::format("aiconfigurator/{}_attention_{}_bf16.csv.gz", name, kind));
      if (!path) return;
      const OperatorTable table = OperatorTable::read(*path);
      Errors of_kind;
      for (const AttentionRow& row : attention_rows(rows_of(table))) {
        if (row.use != RowUse::report) continue;
        Kernel kernel{.kind = TaskKind::gemm, .type = DataType::bf16, .m = 1, .n = 1, .k = 1};
        kernel.attention = row.shape;
        const Operation operation{.name = "attention", .kind = TaskKind::gemm, .kernels = {kernel}};
        const double us = to_us(TiledGemm{}.estimate(operation, device).duration);
        for (Errors* all : {&errors, &of_kind}) all->add(us, row.us);
      }
      MESSAGE(name << ", " << kind << ": " << of_kind.summary());
    }
    CHECK(errors.count() > 1000);
    CHECK(errors.median() < 0.08);
    CHECK(errors.quantile(0.9) < 0.25);
  }
}

TEST_CASE("collectives of the shipped machines on rows that were held out of their fit") {
  for (const std::string& name : std::vector<std::string>{"a100", "h100", "h200", "b200"}) {
    const auto path = testing::reference_data(fmt::format("aiconfigurator/{}_nccl.csv.gz", name));
    if (!path) return;
    MachineSpec machine = load_machine(name);
    machine.platform.ranks = 8;
    const OperatorTable table = OperatorTable::read(*path);
    Errors errors;
    for (const CollectiveRow& row : collective_rows(rows_of(table))) {
      if (row.use != RowUse::report) continue;
      errors.add(simulated_us(row.collective, machine.platform), row.us);
    }
    MESSAGE(name << ": " << errors.summary());
    CHECK(errors.count() == 80);
    CHECK(errors.median() < 0.10);
    CHECK(errors.quantile(0.9) < 0.25);
  }
}

TEST_CASE("expert dispatch and combine of the H100 by the number of SMs, held-out rows") {
  const auto path = testing::reference_data("aiconfigurator/h100_deepep_normal.csv.gz");
  if (!path) return;
  const MachineSpec machine = load_machine("h100");
  const Network& network = machine.platform.network;
  const OperatorTable table = OperatorTable::read(*path);
  for (const std::string& what : std::vector<std::string>{"dispatch", "combine"}) {
    const bool dispatch = what == "dispatch";
    const FittedParameters& fitted =
        dispatch ? network.collectives.dispatch : network.collectives.combine;
    Errors errors;
    for (const ExchangeRow& row : exchange_rows(rows_of(table), what)) {
      if (row.use != RowUse::report) continue;
      errors.add(exchange_time(fitted, row.exchange, network.device.bandwidth).us, row.us);
    }
    const ExchangeTime one =
        exchange_time(fitted,
                      {.tokens = 1, .hidden = 7168, .top_k = 8, .experts = 256, .units = 1},
                      network.device.bandwidth);
    const double units = one.units_us / one.link_us;  // from which on the link decides
    MESSAGE(what << ": " << errors.summary() << "; the link decides from " << units << " SMs");
    CHECK(errors.count() > 500);
    CHECK(errors.median() < 0.10);
    CHECK(errors.quantile(0.9) < 0.25);
    // What the library's channels hold of a device is enough for the link, and not twice too much.
    CHECK(units < network.collectives.units);
    CHECK(2 * units > network.collectives.units);
  }
}

TEST_CASE("an eager all-reduce waits for its host and copies its input, a captured one does not") {
  // vLLM's all-reduce on H100. Captured: from 8 MiB on (4 Mi elements of bf16) NCCL's; below, a
  // kernel of its own. Eager: at least the host's time; a copy of the input before it.
  const auto path = testing::reference_data("aiconfigurator/h100_allreduce_2_4.csv");
  if (!path) return;
  MachineSpec machine = load_machine("h100");
  machine.platform.ranks = 8;
  std::map<std::pair<int, double>, std::map<std::string, double>> us;
  const OperatorTable table = OperatorTable::read(*path);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    us[{static_cast<int>(table.whole(row, "num_gpus")), 2 * table.number(row, "message_size")}]
      [table.text(row, "backend")] = table.microseconds(row);
  }
  constexpr double host_us = 22;           // median of the rows below 64 KiB
  constexpr double bytes_per_us = 1.49e6;  // copied, by the largest row of two ranks
  Errors captured;
  Errors eager;
  for (const auto& [key, times] : us) {
    const auto& [ranks, bytes] = key;
    const double graph = times.at("vllm_graph");
    if (bytes >= 8 << 20) {
      captured.add(simulated_us({CollectiveOp::all_reduce, bytes, double(ranks)}, machine.platform),
                   graph);
    }
    eager.add(std::max(host_us, graph + bytes / bytes_per_us), times.at("vllm_eager"));
  }
  MESSAGE("captured, from 8 MiB: " << captured.summary());
  MESSAGE("eager from captured: " << eager.summary());
  CHECK(captured.median() < 0.10);
  CHECK(eager.median() < 0.10);
}

}  // namespace schedlab
