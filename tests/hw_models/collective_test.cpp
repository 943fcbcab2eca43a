// SPDX-License-Identifier: Apache-2.0
#include "hw_models/collective.hpp"

#include "hw_models/expert_exchange.hpp"
#include "hw_models/machine_spec.hpp"
#include "hw_models/roofline.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

using namespace schedlab;

namespace {

std::vector<std::uint32_t> all(std::uint32_t ranks) {
  std::vector<std::uint32_t> result(ranks);
  std::iota(result.begin(), result.end(), 0U);
  return result;
}

Platform ring_of(std::uint32_t ranks) {
  Platform platform = ideal_platform();
  platform.ranks = ranks;
  platform.network.topology = Topology::ring;
  platform.network.node = {10_GB_per_s, 2us};
  platform.network.collectives = {.units = 2, .base = 5us, .step_between_nodes = 1us};
  return platform;
}

Platform nodes_of_eight(std::uint32_t nodes) {
  Platform platform = ideal_platform();
  platform.ranks = 8 * nodes;
  Network& network = platform.network;
  network.topology = Topology::nvlink_node;
  network.ranks_per_node = 8;
  network.nics_per_node = 8;
  network.device = {400_GB_per_s, Duration{0}};
  network.node = {50_GB_per_s, 1us};
  network.collectives = {.step_in_node = 2us, .step_between_nodes = 3us};
  return platform;
}

CollectiveSpec spec(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes bytes = 64_MiB) {
  return {.op = op, .bytes = bytes, .algorithm = algorithm};
}

/// Picoseconds between a time and one that is the same in exact arithmetic.
std::int64_t off_by(Duration time, double seconds) {
  return std::abs((time - round_up_seconds(seconds)).count());
}

}  // namespace

TEST_CASE("ring all-reduce: 2(n-1) steps, 2(n-1)/n of the bytes over each link") {
  for (const std::uint32_t n : {2U, 3U, 8U, 100U}) {
    const auto time = collective_time(
        spec(CollectiveOp::all_reduce, CollectiveAlgorithm::ring), all(n), ring_of(n));
    const double moved = 2.0 * (n - 1) / n * static_cast<double>((64_MiB).count());
    CHECK(time.base == 5us);
    CHECK(time.latency == 2 * (n - 1) * (Duration{2us} + Duration{1us}));
    CHECK(off_by(time.bytes, moved / 10e9) <= 1);
    // Either half of it alone takes half.
    for (const auto op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
      const auto half = collective_time(spec(op, CollectiveAlgorithm::ring), all(n), ring_of(n));
      CHECK(2 * half.latency == time.latency);
      CHECK(off_by(half.bytes, moved / 2 / 10e9) <= 1);
    }
  }
}

TEST_CASE("inside a node the ring runs at the device links, between nodes over all NICs") {
  const auto ring = spec(CollectiveOp::all_reduce, CollectiveAlgorithm::ring);
  const auto bytes = static_cast<double>(ring.bytes.count());
  const auto one = collective_time(ring, all(8), nodes_of_eight(1));
  CHECK(one.latency == 14 * Duration{2us});
  CHECK(off_by(one.bytes, 14.0 / 8 * bytes / 400e9) <= 1);
  // Four nodes: 8 NICs of 50 GB/s are as much as one device link.
  const auto four = collective_time(ring, all(32), nodes_of_eight(4));
  CHECK(four.latency == 2 * (28 * Duration{2us} + 3 * (Duration{3us} + Duration{2us})));
  CHECK(off_by(four.bytes, 62.0 / 32 * bytes / 400e9) <= 1);
  // With two NICs a node is left a quarter of that.
  Platform few = nodes_of_eight(4);
  few.network.nics_per_node = 2;
  CHECK(off_by(collective_time(ring, all(32), few).bytes, 62.0 / 32 * bytes / 100e9) <= 1);
  // Two NICs for each rank do not help: the devices' links are as narrow.
  Platform many = nodes_of_eight(4);
  many.network.nics_per_node = 16;
  CHECK(collective_time(ring, all(32), many).bytes == four.bytes);
}

TEST_CASE("hierarchical: inside, across with an eighth of the bytes, inside") {
  const auto time =
      collective_time(spec(CollectiveOp::all_reduce, CollectiveAlgorithm::hierarchical),
                      all(32),
                      nodes_of_eight(4));
  const auto bytes = static_cast<double>((64_MiB).count());
  CHECK(time.latency == 2 * (7 * Duration{2us} + 3 * Duration{5us}));
  CHECK(off_by(time.bytes, 2 * 7.0 / 8 * bytes / 400e9 + 2 * 3.0 / 4 * bytes / 8 / 50e9) <= 1);
}

TEST_CASE("on rails sums of equal ranks never cross the spine; otherwise they wait for it") {
  const auto sum = spec(CollectiveOp::all_reduce, CollectiveAlgorithm::hierarchical);
  const auto free = collective_time(sum, all(32), nodes_of_eight(4));
  Platform narrow = nodes_of_eight(4);
  narrow.network.leaf_ports = 8;  // NICs of one node
  narrow.network.leaf_oversubscription = 4;
  const auto bytes = static_cast<double>(sum.bytes.count());
  const double inside = 2 * 7.0 / 8 * bytes / 400e9;
  const double across = 2 * 3.0 / 4 * bytes / 8;
  CHECK(off_by(collective_time(sum, all(32), narrow).bytes, inside + across / (50e9 / 4)) <= 1);
  narrow.network.rails = true;  // now of eight nodes
  CHECK(collective_time(sum, all(32), narrow).bytes == free.bytes);
  CHECK(off_by(free.bytes, inside + across / 50e9) <= 1);
}

TEST_CASE("an all-to-all of 16 DGX H100 waits for the spine only without rails") {
  const auto ms = [](double rails, double oversubscription) {
    MachineSpec machine = load_machine("h100");
    apply_overrides(machine,
                    {{"node", std::string{"dgx_h100"}},
                     {"rails", rails},
                     {"leaf_oversubscription", oversubscription}});
    machine.platform.ranks = 128;
    const auto exchange = spec(CollectiveOp::all_to_all, CollectiveAlgorithm::automatic, 1_GiB);
    return to_us(collective_time(exchange, all(128), machine.platform).total()) / 1e3;
  };
  CHECK(std::round(ms(1, 1)) == 26);
  CHECK(ms(1, 4) == ms(1, 1));
  CHECK(std::round(ms(0, 2)) == 41);
  CHECK(std::round(ms(0, 4)) == 81);
}

TEST_CASE("between nodes, too, few units move less than the links") {
  MachineSpec machine = load_machine("h100");
  machine.platform.ranks = 16;
  const auto exchange = spec(CollectiveOp::all_to_all, CollectiveAlgorithm::automatic);
  const auto wide = collective_time(exchange, all(16), machine.platform);
  CollectiveCosts& costs = machine.platform.network.collectives;
  costs.units = 8;  // 224 GB/s: the NICs decide
  CHECK(collective_time(exchange, all(16), machine.platform).bytes == wide.bytes);
  costs.units = 1;
  const double moved = 15.0 / 16 * static_cast<double>(exchange.bytes.count());
  const double rate = costs.combine[ExpertParameter::unit_gb_per_s] * 1e9;
  CHECK(off_by(collective_time(exchange, all(16), machine.platform).bytes, moved / rate) <= 1);
}

TEST_CASE("a tree has few steps and moves the bytes up and down once") {
  const auto time = collective_time(
      spec(CollectiveOp::all_reduce, CollectiveAlgorithm::tree), all(32), nodes_of_eight(4));
  // Two levels of nodes, seven links of a chain inside; up and down.
  CHECK(time.latency == 2 * (2 * Duration{5us} + 7 * Duration{2us}));
  // Busiest is a device inside a chain: everything passes it up and down. (A node's NICs: three
  // halves, being inside one tree and a leaf of the other.)
  CHECK(off_by(time.bytes, 2 * static_cast<double>((64_MiB).count()) / 400e9) <= 1);
  const auto down = collective_time(
      spec(CollectiveOp::broadcast, CollectiveAlgorithm::tree), all(32), nodes_of_eight(4));
  CHECK(2 * down.latency == time.latency);
}

TEST_CASE("automatic is the fastest of those that apply: trees for small, rings for large ones") {
  const Platform platform = nodes_of_eight(64);
  for (const Bytes bytes : {1_KiB, 1_MiB, 1_GiB}) {
    const auto best = collective_time(
        spec(CollectiveOp::all_reduce, CollectiveAlgorithm::automatic, bytes), all(512), platform);
    for (const auto algorithm : {CollectiveAlgorithm::ring,
                                 CollectiveAlgorithm::tree,
                                 CollectiveAlgorithm::hierarchical}) {
      const auto one =
          collective_time(spec(CollectiveOp::all_reduce, algorithm, bytes), all(512), platform);
      CHECK(best.total() <= one.total());
    }
  }
  CHECK(collective_time(spec(CollectiveOp::all_reduce, CollectiveAlgorithm::automatic, 1_KiB),
                        all(512),
                        platform)
            .algorithm == CollectiveAlgorithm::tree);
  // A ring of n ranks saves one n-th of a tree's bytes and pays for n steps: at 512 ranks that
  // takes about a terabyte, at 16 a gigabyte is enough.
  CHECK(collective_time(spec(CollectiveOp::all_reduce, CollectiveAlgorithm::automatic, 1_GiB),
                        all(16),
                        nodes_of_eight(2))
            .algorithm != CollectiveAlgorithm::tree);
}

TEST_CASE("more bytes, more ranks or less bandwidth never make a collective faster") {
  for (const auto op : {CollectiveOp::all_reduce,
                        CollectiveOp::all_gather,
                        CollectiveOp::reduce_scatter,
                        CollectiveOp::broadcast}) {
    const auto ring = CollectiveAlgorithm::ring;
    Duration last{0};
    for (const std::uint32_t nodes : {1U, 2U, 3U, 8U, 31U}) {
      const Platform platform = nodes_of_eight(nodes);
      const Duration time = collective_time(spec(op, ring), all(8 * nodes), platform).total();
      CHECK(time > last);
      last = time;
      CHECK(collective_time(spec(op, ring, 65_MiB), all(8 * nodes), platform).total() > time);
      Platform slow = platform;
      slow.network.collectives.efficiency = 0.5;
      CHECK(collective_time(spec(op, ring), all(8 * nodes), slow).total() > time);
    }
  }
}

TEST_CASE(
    "what a collective takes of links: the bytes over each, over its time and what it reaches") {
  Platform platform = nodes_of_eight(4);
  platform.network.collectives.efficiency = 0.8;
  const auto bytes_over =
      [&](const CollectiveSpec& one, const LinkShare& use, const Routes& routes) {
        const double seconds = to_seconds(collective_time(one, all(32), platform).total());
        return use.share * seconds * 0.8 * routes.bandwidth(use.link).count();
      };
  const Routes routes{platform.network, 32};
  const auto bytes = static_cast<double>((64_MiB).count());
  // Ring: the busiest links are full while bytes move; NICs carry an eighth of their node's flow.
  const auto ring = spec(CollectiveOp::all_reduce, CollectiveAlgorithm::ring);
  const auto uses = collective_link_shares(ring, all(32), platform);
  const CollectiveTime time = collective_time(ring, all(32), platform);
  double busiest = 0;
  for (const LinkShare& use : uses) {
    busiest = std::max(busiest, use.share);
    const bool nic = routes.bandwidth(use.link) == 50_GB_per_s;
    const double flow = 62.0 / 32 * bytes;
    if (nic) CHECK(bytes_over(ring, use, routes) == doctest::Approx(flow / 8));
    if (!nic) CHECK(bytes_over(ring, use, routes) <= flow * (1 + 1e-9));
  }
  CHECK(busiest == doctest::Approx(to_seconds(time.bytes) / to_seconds(time.total())));
  // Each link once, by rising number.
  for (std::size_t i = 1; i < uses.size(); ++i) CHECK(uses[i - 1].link < uses[i].link);
  // By levels: NICs carry 2 x 3/4 of an eighth, device links 2 x 7/8.
  const auto levels = spec(CollectiveOp::all_reduce, CollectiveAlgorithm::hierarchical);
  for (const LinkShare& use : collective_link_shares(levels, all(32), platform)) {
    const double across = 1.5 / 8 * bytes;
    const bool nic = routes.bandwidth(use.link) == 50_GB_per_s;
    CHECK(bytes_over(levels, use, routes) == doctest::Approx(nic ? across : 1.75 * bytes));
  }
  // Pairwise: a rank sends 31/32 of its bytes.
  const auto pairs = spec(CollectiveOp::all_to_all, CollectiveAlgorithm::automatic);
  double sent = 0;
  for (const LinkShare& use : collective_link_shares(pairs, all(32), platform)) {
    if (routes.bandwidth(use.link) == 50_GB_per_s) sent += bytes_over(pairs, use, routes) / 64;
  }
  CHECK(sent == doctest::Approx(24.0 / 32 * bytes));
}

TEST_CASE("two large collectives of a node fill its links, small ones hardly take any") {
  for (const char* const name : {"a100", "h100", "h200", "b200"}) {
    Platform platform = load_machine(name).platform;
    platform.ranks = 4;
    CHECK(platform.network.collectives.contend);
    for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::all_to_all}) {
      const auto share = [&](Bytes bytes) {
        double most = 0;
        for (const LinkShare& use : collective_link_shares(
                 spec(op, CollectiveAlgorithm::automatic, bytes), all(4), platform)) {
          most = std::max(most, use.share);
        }
        return most;
      };
      CAPTURE(name);
      CHECK(share(1_GiB) > 0.7);
      CHECK(share(1_GiB) <= 1.0);
      CHECK(share(1_KiB) < 0.01);
      CHECK(share(16_MiB) > share(1_MiB));
    }
  }
}

TEST_CASE("an all-reduce that the switch adds up goes through each memory once out and once in") {
  Platform platform = load_machine("h100").platform;
  platform.ranks = 8;
  const Operation operation{.name = "sum", .kind = TaskKind::collective};
  const auto bytes = [&](CollectiveAlgorithm algorithm) {
    const Estimate estimate = collective_cost(
        operation, spec(CollectiveOp::all_reduce, algorithm), all(8), platform, DeviceId{0});
    return estimate.bandwidth.count() * to_seconds(estimate.duration);
  };
  const auto whole = static_cast<double>((64_MiB).count());
  CHECK(bytes(CollectiveAlgorithm::in_switch) == doctest::Approx(2 * 9.0 / 8 * whole));
  CHECK(bytes(CollectiveAlgorithm::ring) == doctest::Approx(5 * 7.0 / 8 * whole));
}

TEST_CASE("what cannot be done is said") {
  const auto ring = spec(CollectiveOp::all_reduce, CollectiveAlgorithm::ring);
  CHECK_THROWS_WITH_AS(static_cast<void>(collective_time(ring, all(2), ideal_platform())),
                       doctest::Contains("has no network"),
                       InfeasibleError);
  CHECK_THROWS_WITH_AS(static_cast<void>(collective_time(ring, all(9), ring_of(8))),
                       doctest::Contains("rank 8, but there are 8 ranks"),
                       InfeasibleError);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(collective_time(
          spec(CollectiveOp::all_gather, CollectiveAlgorithm::tree), all(8), ring_of(8))),
      doctest::Contains("algorithm tree does not do all_gather among 8 ranks on 8 nodes"),
      InfeasibleError);
  CHECK(collective_time(ring, all(1), ideal_platform()).total() == Duration{0});
}

TEST_CASE("a cost table gives each collective its time and its parts their units") {
  Platform platform = ring_of(4);
  Device& device = platform.devices[DeviceId{0}];
  device.unit_classes.push_back({.name = "sm", .count = 8});
  device.unit_class_of.fill(UnitClassId{0});
  TaskGraphBuilder builder;
  const OperationId reduce =
      builder.add_operation({.name = "reduce", .kind = TaskKind::collective});
  for (const Bytes bytes : {1_MiB, 64_MiB}) {
    const CollectiveId id =
        builder.add_collective(spec(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, bytes));
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const TaskId part = builder.add_task(reduce);
      builder.set_rank(part, rank);
      builder.joins(part, id);
    }
  }
  const TaskGraph graph = std::move(builder).build();
  const CostTable costs{graph, platform, Roofline{}};
  const auto expected = [&](Bytes bytes) {
    return collective_time(
               spec(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, bytes), all(4), platform)
        .total();
  };
  CHECK(costs.duration(CollectiveId{0}) == expected(1_MiB));
  CHECK(costs.duration(CollectiveId{1}) == expected(64_MiB));
  CHECK(costs.duration(TaskId{0}) == expected(64_MiB));  // the longest of the operation
  CHECK(costs.entry(TaskId{0}).units == 2);
  CHECK(costs.entry(TaskId{0}, DeviceId{3}).units == 2);
}

TEST_CASE("the machine h200 has nodes of eight, and what a scenario changes is changed") {
  MachineSpec machine = load_machine("h200");
  CHECK(machine.platform.network.topology == Topology::nvlink_node);
  CHECK(machine.platform.network.ranks_per_node == 8);
  CHECK(machine.platform.device_count() == 1);
  apply_overrides(machine,
                  {{"ranks", std::int64_t{16}},
                   {"topology", std::string{"ring"}},
                   {"node_link_gb_per_s", 25.0}});
  CHECK(machine.platform.device_count() == 16);
  CHECK(machine.platform.network.topology == Topology::ring);
  CHECK(machine.platform.network.node.bandwidth == 25_GB_per_s);
}
