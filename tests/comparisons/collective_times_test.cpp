// SPDX-License-Identifier: Apache-2.0
// All-reduces among 2 to 8 A100 of one node, as VIA-Research/vTrain measured them from 1 MiB to
// 1 GiB, against the machine file alone: data sheet of the links, NCCL's own latencies, an assumed
// efficiency. Every row is held out.
#include "hw_models/collective.hpp"
#include "hw_models/machine_spec.hpp"
#include "tests/comparisons/reference_data.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::Errors;

constexpr double megabyte = 1 << 20;
constexpr double large = 16 * megabyte;  // below, latencies count

double predicted_us(const Platform& platform, std::uint32_t ranks, double bytes) {
  std::vector<std::uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0U);
  const CollectiveSpec spec{.op = CollectiveOp::all_reduce,
                            .bytes = Bytes{static_cast<std::int64_t>(bytes)},
                            .algorithm = CollectiveAlgorithm::automatic};
  return to_us(collective_time(spec, all, platform).total());
}

}  // namespace

TEST_CASE("all-reduces of one A100 node come out of the machine file, from 1 MiB to 1 GiB") {
  MachineSpec machine = load_machine("a100");
  machine.platform.ranks = 8;
  Errors every;
  Errors small;
  for (std::uint32_t ranks = 2; ranks <= 8; ++ranks) {
    const auto path = testing::reference_data(
        fmt::format("vtrain/allreduce_lut/a100_AR_GPU{}_1M_1024M_LUT.txt", ranks));
    if (!path) return;
    Errors of_ranks;
    for (const testing::CsvRow& row : testing::read_csv(*path)) {
      const double bytes = std::stod(row.at("size(B)"));
      const double measured = std::stod(row.at("time(ns)")) / 1e3;
      const double predicted = predicted_us(machine.platform, ranks, bytes);
      for (Errors* errors : {&every, &of_ranks}) errors->add(predicted, measured);
      if (bytes < large) small.add(predicted, measured);
    }
    MESSAGE(ranks << " ranks: " << of_ranks.summary());
  }
  MESSAGE("all: " << every.summary() << "; below 16 MiB: " << small.summary());
  CHECK(every.count() == 7 * 1024);
  CHECK(every.median() < 0.10);
  CHECK(every.quantile(0.9) < 0.25);
}

}  // namespace schedlab
