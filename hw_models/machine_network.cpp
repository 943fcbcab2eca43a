// SPDX-License-Identifier: Apache-2.0
#include "hw_models/machine_network.hpp"

#include <cmath>

namespace schedlab {
namespace {

constexpr double max_ranks = 1'000'000;
constexpr double longest_us = 1e12;
constexpr double max_gb_per_s = 1e9;

std::uint32_t count(double value) {
  return static_cast<std::uint32_t>(value);
}
Bandwidth gb_per_s(double value) {
  return Bandwidth{value * 1e9};
}
Bytes kib(double value) {
  return Bytes{std::llround(value * 1024.0)};
}

MachineNumber us(std::string_view name, std::string_view doc, void (*set)(Platform&, double)) {
  return {"network", name, doc, set, 0, longest_us};
}
MachineNumber rate(std::string_view name, std::string_view doc, void (*set)(Platform&, double)) {
  return {"network", name, doc, set, 0, max_gb_per_s};
}
MachineNumber whole(std::string_view name,
                    std::string_view doc,
                    void (*set)(Platform&, double),
                    double minimum = 0) {
  return {"network", name, doc, set, minimum, max_ranks, true};
}

std::vector<MachineNumber> shape() {
  return {
      whole(
          "ranks",
          "Ranks, each one host process with one device; absent: 1.",
          [](Platform& p, double v) { p.ranks = count(v); },
          1),
      whole(
          "ranks_per_node",
          "Ranks that share a node; absent: 1.",
          [](Platform& p, double v) { p.network.ranks_per_node = count(v); },
          1),
      whole(
          "nics_per_node",
          "NICs of a node, among which its ranks are divided, or a multiple of these; absent: 1.",
          [](Platform& p, double v) { p.network.nics_per_node = count(v); },
          1),
      whole(
          "mesh_columns",
          "Nodes in a row of a mesh; absent: 1.",
          [](Platform& p, double v) { p.network.mesh_columns = count(v); },
          1),
      whole("leaf_ports",
            "NICs under one leaf switch of a fat tree; 0 = all.",
            [](Platform& p, double v) { p.network.leaf_ports = count(v); }),
      {"network",
       "rails",
       "1: leaf switches have the NICs of equal number of several nodes; absent: 0.",
       [](Platform& p, double v) { p.network.rails = v > 0; },
       0,
       1},
      whole("pod_leaves",
            "Leaf switches of one pod; 0 = all, there is no level above.",
            [](Platform& p, double v) { p.network.pod_leaves = count(v); }),
      {"network",
       "leaf_oversubscription",
       "Bandwidth below over bandwidth above a leaf switch; absent: 1.",
       [](Platform& p, double v) { p.network.leaf_oversubscription = v; },
       0.01,
       1000},
      {"network",
       "pod_oversubscription",
       "Bandwidth below over bandwidth above a pod; absent: 1.",
       [](Platform& p, double v) { p.network.pod_oversubscription = v; },
       0.01,
       1000},
  };
}

std::vector<MachineNumber> links() {
  return {
      rate("device_link_gb_per_s",
           "Each way between a device and the switch of its node; 0 = not limited.",
           [](Platform& p, double v) { p.network.device.bandwidth = gb_per_s(v); }),
      us("device_link_latency_us",
         "Of one crossing of such a link.",
         [](Platform& p, double v) { p.network.device.latency = from_us(v); }),
      rate("node_link_gb_per_s",
           "Each way of a NIC, or between neighbours in a ring or mesh; 0 = not limited.",
           [](Platform& p, double v) { p.network.node.bandwidth = gb_per_s(v); }),
      us("node_link_latency_us",
         "Of one crossing of such a link, library and NIC included.",
         [](Platform& p, double v) { p.network.node.latency = from_us(v); }),
      us("switch_latency_us",
         "Of each switch of a fat tree on the way.",
         [](Platform& p, double v) { p.network.switch_latency = from_us(v); }),
      {"network",
       "eager_threshold_kib",
       "Largest message that leaves before its receiver asks for it; absent: none does.",
       [](Platform& p, double v) { p.network.eager_threshold = kib(v); },
       0,
       1e9},
  };
}

/// Numbers that a scenario sets hold in place of a library's fitted protocols.
void forget_protocols(CollectiveCosts& costs) {
  costs.ring_protocols.clear();
  costs.pairwise_protocols.clear();
  costs.in_switch = {};
}

std::vector<MachineNumber> collectives() {
  return {
      whole(
          "collective_units",
          "Compute units that the kernel of a collective holds on each device; absent: 1.",
          [](Platform& p, double v) { p.network.collectives.units = count(v); },
          1),
      {"network",
       "collective_efficiency",
       "Share of the links' bandwidth that collectives reach; absent: 1.",
       [](Platform& p, double v) {
         forget_protocols(p.network.collectives);
         p.network.collectives.efficiency = v;
       },
       0.01,
       1},
      {"network",
       "switch_reduces",
       "1: the switch inside a node can add up all-reduces; absent: 0.",
       [](Platform& p, double v) { p.network.collectives.switch_reduces = v > 0; },
       0,
       1},
      {"network",
       "collective_contention",
       "1: collectives slow down by the memory bandwidth and links that others leave them; 0: not.",
       [](Platform& p, double v) { p.network.collectives.contend = v > 0; },
       0,
       1},
      us("collective_base_us",
         "Part of a collective's time that depends on nothing.",
         [](Platform& p, double v) {
           forget_protocols(p.network.collectives);
           p.network.collectives.base = from_us(v);
         }),
      us("collective_step_in_node_us",
         "Per step between devices of one node, beyond the latency of the links.",
         [](Platform& p, double v) {
           forget_protocols(p.network.collectives);
           p.network.collectives.step_in_node = from_us(v);
         }),
      us("collective_step_between_nodes_us",
         "Per step between nodes, beyond the latency of links and switches.",
         [](Platform& p, double v) { p.network.collectives.step_between_nodes = from_us(v); }),
  };
}

}  // namespace

std::vector<MachineNumber> network_numbers() {
  std::vector<MachineNumber> all = shape();
  for (const auto& part : {links(), collectives()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace schedlab
