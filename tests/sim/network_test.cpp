// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/network.hpp"

#include "sim/machine/platform.hpp"

#include <set>
#include <string>
#include <vector>

using namespace schedlab;

namespace {

Network ring() {
  Network network;
  network.topology = Topology::ring;
  network.node = {10_GB_per_s, 2us};
  return network;
}

Network nvlink() {
  Network network;
  network.topology = Topology::nvlink_node;
  network.ranks_per_node = 8;
  network.nics_per_node = 4;
  network.device = {400_GB_per_s, 300ns};
  network.node = {50_GB_per_s, 1us};
  network.switch_latency = 200ns;
  network.leaf_ports = 16;  // four nodes
  network.pod_leaves = 2;
  network.leaf_oversubscription = 2.0;
  return network;
}

std::vector<std::string> names(const Routes& routes, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  routes.route(from, to, links);
  std::vector<std::string> result;
  for (const LinkId link : links) result.push_back(routes.name(link));
  return result;
}

}  // namespace

TEST_CASE("a ring is crossed the shorter way round, each hop with its latency") {
  const Routes routes{ring(), 8};
  CHECK(routes.link_count() == 8 + 8 + 16);  // devices' own links, and both ways round
  CHECK(routes.latency(0, 3) == 6us);
  CHECK(routes.latency(0, 5) == 6us);
  CHECK(routes.latency(6, 1) == 6us);
  CHECK(routes.latency(4, 4) == Duration{0});
  CHECK(names(routes, 6, 0) ==
        std::vector<std::string>{"node 6 to the next node", "node 7 to the next node"});
  CHECK(names(routes, 1, 7) ==
        std::vector<std::string>{"node 1 to the previous node", "node 0 to the previous node"});
  CHECK(routes.narrowest(0, 3) == 10_GB_per_s);
}

TEST_CASE(
    "a mesh is crossed along the row, then the column, and never leaves the nodes there are") {
  Network network = ring();
  network.topology = Topology::mesh;
  network.mesh_columns = 4;
  const Routes routes{network, 10};  // rows of 4, 4 and 2
  CHECK(names(routes, 0, 5) == std::vector<std::string>{"node 0 right", "node 1 down"});
  CHECK(names(routes, 9, 7) ==
        std::vector<std::string>{"node 9 up", "node 5 right", "node 6 right"});
  for (std::uint32_t from = 0; from < 10; ++from) {
    for (std::uint32_t to = 0; to < 10; ++to) {
      const auto distance = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
      const std::uint32_t hops = distance(from % 4, to % 4) + distance(from / 4, to / 4);
      std::vector<LinkId> links;
      CHECK(routes.route(from, to, links) == hops * Duration{2us});
      CHECK(links.size() == hops);
    }
  }
}

TEST_CASE("messages of an NVLink node use its switch inside and NICs, leaves and pods outside") {
  const Routes routes{nvlink(), 128};  // 16 nodes, 64 NICs, 4 leaf switches, 2 pods
  CHECK(routes.node_count() == 16);
  CHECK(names(routes, 1, 6) ==
        std::vector<std::string>{"device 1 to its node's switch", "node's switch to device 6"});
  CHECK(routes.latency(1, 6) == 600ns);
  CHECK(routes.narrowest(1, 6) == 400_GB_per_s);
  // Ranks 0 and 1 share NIC 0; rank 31 is on node 3, its NIC 15, under the same leaf switch.
  CHECK(names(routes, 1, 31) ==
        std::vector<std::string>{"NIC 0 to its leaf switch", "leaf switch to NIC 15"});
  CHECK(routes.latency(1, 31) == 2200ns);
  CHECK(names(routes, 0, 32).size() == 4);  // up and down one level of the tree
  CHECK(names(routes, 0, 64).size() == 6);  // through the core
  CHECK(routes.latency(0, 64) == 3us);      // two NICs and five switches
  std::vector<LinkId> links;
  routes.route(0, 127, links);
  // Leaf switches have 16 NICs of 50 GB/s below and half of that above; pods of two lose nothing.
  const std::vector<Bandwidth> expected{
      50_GB_per_s, 400_GB_per_s, 800_GB_per_s, 800_GB_per_s, 400_GB_per_s, 50_GB_per_s};
  REQUIRE(links.size() == expected.size());
  for (std::size_t i = 0; i < links.size(); ++i) CHECK(routes.bandwidth(links[i]) == expected[i]);
}

TEST_CASE("on rails equal NICs of several nodes meet at one switch, others cross the spine") {
  Network network = nvlink();
  network.nics_per_node = 8;
  network.rails = true;
  network.leaf_ports = 4;  // nodes
  network.pod_leaves = 0;
  const Routes routes{network, 64};  // 8 nodes, 64 NICs, 2 times 8 leaf switches
  // Rank 11 is number 3 of node 1.
  CHECK(names(routes, 3, 11) ==
        std::vector<std::string>{"NIC 3 to its leaf switch", "leaf switch to NIC 11"});
  CHECK(names(routes, 3, 12) == std::vector<std::string>{"NIC 3 to its leaf switch",
                                                         "leaf switch 3 up",
                                                         "leaf switch 4 down",
                                                         "leaf switch to NIC 12"});
  // Node 4 is on the other switches.
  CHECK(names(routes, 3, 35) == std::vector<std::string>{"NIC 3 to its leaf switch",
                                                         "leaf switch 3 up",
                                                         "leaf switch 11 down",
                                                         "leaf switch to NIC 35"});
  CHECK(routes.latency(3, 11) == 2200ns);  // two NICs and one switch
  CHECK(routes.latency(3, 12) == 2600ns);  // three switches
  // Four NICs of 50 GB/s below a leaf switch, half of that above it.
  std::vector<LinkId> links;
  routes.route(3, 12, links);
  CHECK(routes.bandwidth(links[1]) == 100_GB_per_s);
}

TEST_CASE("with one NIC a node rails change nothing; several NICs of a rank are one link") {
  Network network = nvlink();
  network.nics_per_node = 1;
  network.leaf_ports = 2;
  Network on_rails = network;
  on_rails.rails = true;
  const Routes plain{network, 64};
  const Routes rails{on_rails, 64};
  for (std::uint32_t from = 0; from < 64; from += 3) {
    for (std::uint32_t to = 0; to < 64; ++to) {
      CHECK(names(plain, from, to) == names(rails, from, to));
      CHECK(plain.latency(from, to) == rails.latency(from, to));
      CHECK(plain.narrowest(from, to) == rails.narrowest(from, to));
    }
  }
  network.nics_per_node = 8;
  CHECK(Routes{network, 64}.narrowest(0, 8) == 50_GB_per_s);
  network.nics_per_node = 16;
  CHECK(Routes{network, 64}.narrowest(0, 8) == 100_GB_per_s);
}

TEST_CASE("routes of all pairs use every link at most once and links have unlike names") {
  for (const Network& network : {ring(), nvlink()}) {
    const Routes routes{network, 24};
    for (std::uint32_t from = 0; from < 24; ++from) {
      for (std::uint32_t to = 0; to < 24; ++to) {
        std::vector<LinkId> links;
        routes.route(from, to, links);
        const std::set<LinkId> distinct(links.begin(), links.end());
        CHECK(distinct.size() == links.size());
      }
    }
    std::set<std::string> called;
    for (std::uint32_t i = 0; i < routes.link_count(); ++i) called.insert(routes.name(LinkId{i}));
    CHECK(called.size() == routes.link_count());
  }
}

TEST_CASE("ten thousand ranks cost what one device costs, and a route needs no table") {
  Platform platform = ideal_platform();
  platform.ranks = 10'000;
  platform.network = nvlink();
  CHECK(platform.device_count() == 10'000);
  CHECK(platform.devices.size() == 1);
  CHECK(&platform.device(DeviceId{9'999}) == &platform.device(DeviceId{0}));
  CHECK_FALSE(platform.has_device(DeviceId{10'000}));
  const Routes routes{platform.network, platform.ranks};
  CHECK(names(routes, 0, 9'999).size() == 6);
}

TEST_CASE("without a network a way has neither links nor latency, whatever the ranks") {
  const Routes routes{Network{}, 1};
  std::vector<LinkId> links;
  CHECK(routes.route(0, 17, links) == Duration{0});
  CHECK(links.empty());
  CHECK(routes.link_count() == 0);
}
