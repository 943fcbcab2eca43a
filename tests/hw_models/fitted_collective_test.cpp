// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fitted_collective.hpp"

#include "hw_models/expert_exchange.hpp"
#include "hw_models/machine_spec.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <numeric>
#include <vector>

using namespace schedlab;

namespace {

FittedParameters fitted(std::initializer_list<double> values) {
  FittedParameters made;
  for (const double value : values) made.values.push_back({value, value, value});
  return made;
}

/// Below 1 MB: 5 us, 1 us a step, a tenth of the link. From there: 20 us, half of the link, own
/// part at 100 GB/s.
std::vector<FittedParameters> two_protocols() {
  return {fitted({0, 5, 1, 0.1, 1e6}), fitted({1e6, 20, 0, 0.5, 100})};
}

constexpr Bandwidth device_link{100e9};

/// One node of eight.
Platform node() {
  Platform platform = ideal_platform();
  platform.ranks = 16;
  platform.network.topology = Topology::nvlink_node;
  platform.network.ranks_per_node = 8;
  platform.network.nics_per_node = 8;
  platform.network.device = {device_link, Duration{0}};
  platform.network.node = {10_GB_per_s, 1us};
  platform.network.collectives.units = 4;
  platform.network.collectives.ring_protocols = two_protocols();
  platform.network.collectives.pairwise_protocols = two_protocols();
  return platform;
}

CollectiveTime among(std::uint32_t ranks, CollectiveOp op, double bytes, const Platform& platform) {
  std::vector<std::uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0U);
  return collective_time(
      {.op = op, .bytes = Bytes{static_cast<std::int64_t>(bytes)}}, all, platform);
}

}  // namespace

TEST_CASE("a protocol's time: base, steps, what a rank sends and its own part") {
  // Four ranks, 40 kB: 6 steps of 10 kB at 10 GB/s; the own part at 1 PB/s is nothing.
  const CollectiveTime small =
      fitted_time(two_protocols(), {CollectiveOp::all_reduce, 40e3, 4}, device_link);
  CHECK(to_us(small.base) == doctest::Approx(5));
  CHECK(to_us(small.latency) == doctest::Approx(6));
  CHECK(to_us(small.bytes) == doctest::Approx(6));
  // 40 MB: 60 MB at 50 GB/s and 10 MB at 100 GB/s.
  const CollectiveTime large =
      fitted_time(two_protocols(), {CollectiveOp::all_reduce, 40e6, 4}, device_link);
  CHECK(to_us(large.total()) == doctest::Approx(20 + 1200 + 100));
  // Half the steps and bytes; an all-to-all is as an all-gather.
  for (const auto op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    CHECK(to_us(fitted_time(two_protocols(), {op, 40e6, 4}, device_link).total()) ==
          doctest::Approx(20 + 600 + 100));
  }
}

TEST_CASE("the protocol follows from what each rank sends, not from the collective's bytes") {
  // 1.2 MB: an all-gather of two ranks sends 0.6 MB each, an all-reduce 1.2 MB.
  CHECK(
      to_us(fitted_time(two_protocols(), {CollectiveOp::all_gather, 1.2e6, 2}, device_link).base) ==
      doctest::Approx(5));
  CHECK(
      to_us(fitted_time(two_protocols(), {CollectiveOp::all_reduce, 1.2e6, 2}, device_link).base) ==
      doctest::Approx(20));
}

TEST_CASE("units that move less than the link are what a collective waits for") {
  // Combine says 10 GB/s a unit: four units move 40 GB/s of the link's 50.
  Platform platform = node();
  const double before = to_us(among(4, CollectiveOp::all_gather, 40e6, platform).bytes);
  CHECK(before == doctest::Approx(600 + 100));
  platform.network.collectives.combine = fitted({1, 0, 0, 0, 10, 1, 1, 0});
  CHECK(to_us(among(4, CollectiveOp::all_gather, 40e6, platform).bytes) ==
        doctest::Approx(750 + 100));
  platform.network.collectives.units = 5;
  CHECK(to_us(among(4, CollectiveOp::all_gather, 40e6, platform).bytes) == doctest::Approx(before));
}

TEST_CASE("the switch adds up for many ranks and many bytes, where that is faster") {
  Platform platform = node();
  platform.network.collectives.in_switch = fitted({1e6, 5, 30, 0.5});
  // Eight ranks, 80 MB: a ring sends 14 x 10 MB at 50 GB/s, the switch takes 90 MB.
  CHECK(among(8, CollectiveOp::all_reduce, 80e6, platform).algorithm == CollectiveAlgorithm::ring);
  platform.network.collectives.switch_reduces = true;
  const CollectiveTime time = among(8, CollectiveOp::all_reduce, 80e6, platform);
  CHECK(time.algorithm == CollectiveAlgorithm::in_switch);
  CHECK(to_us(time.total()) == doctest::Approx(30 + 1800));
  CHECK(among(4, CollectiveOp::all_reduce, 80e6, platform).algorithm == CollectiveAlgorithm::ring);
  CHECK(among(8, CollectiveOp::all_gather, 80e6, platform).algorithm == CollectiveAlgorithm::ring);
}

TEST_CASE("between nodes and on other machines the latencies and links of the file hold") {
  Platform platform = node();
  Platform plain = platform;
  plain.network.collectives.ring_protocols.clear();
  plain.network.collectives.pairwise_protocols.clear();
  for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::all_to_all}) {
    CHECK(among(16, op, 40e6, platform).total() == among(16, op, 40e6, plain).total());
    CHECK(among(8, op, 40e6, platform).total() != among(8, op, 40e6, plain).total());
  }
}

TEST_CASE("an all-to-all between nodes sends each pair its part over the nodes' NICs") {
  // Two nodes of eight with eight NICs of 10 GB/s: 64 of the 240 parts of S/16 leave each node.
  Platform plain = node();
  plain.network.collectives.pairwise_protocols.clear();
  const CollectiveTime time = among(16, CollectiveOp::all_to_all, 16e6, plain);
  CHECK(time.algorithm == CollectiveAlgorithm::pairwise);
  CHECK(to_us(time.bytes) == doctest::Approx(64 * 1e6 / 80e9 * 1e6));
}

TEST_CASE("a scenario that sets a collective's latency gets it in place of what was fitted") {
  for (const char* name : {"a100", "h100", "h200", "b200"}) {
    MachineSpec machine = load_machine(name);
    CAPTURE(name);
    REQUIRE_FALSE(machine.platform.network.collectives.ring_protocols.empty());
    apply_overrides(machine, {{"collective_step_in_node_us", 3.0}});
    CHECK(machine.platform.network.collectives.ring_protocols.empty());
  }
}
