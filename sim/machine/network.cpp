// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/network.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace schedlab {
namespace {

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Routes::Routes(const Network& network, std::uint32_t ranks) : network_(network), ranks_(ranks) {
  SCHEDLAB_EXPECTS(network.ranks_per_node > 0 && network.nics_per_node > 0,
                   "a node has at least one rank and one NIC");
  nodes_ = divide_up(ranks, network.ranks_per_node);
  if (network.topology == Topology::none) return;
  const bool ring = network.topology == Topology::ring;
  const bool mesh = network.topology == Topology::mesh;
  Bandwidth nic = network.node.bandwidth;
  if (!ring && !mesh && network.nics_per_node > network.ranks_per_node) {
    nic = nic * (static_cast<double>(network.nics_per_node) / network.ranks_per_node);
    network_.nics_per_node = network.ranks_per_node;
  }
  const std::uint32_t nics = nodes_ * network_.nics_per_node;
  leaf_ports_ = std::max(1U, counted(network.leaf_ports, network.rails ? nodes_ : nics));
  const std::uint32_t leaves = network.rails
                                   ? divide_up(nodes_, leaf_ports_) * network_.nics_per_node
                                   : divide_up(nics, leaf_ports_);
  pod_leaves_ = std::max(1U, counted(network.pod_leaves, leaves));
  const std::uint32_t pods = divide_up(leaves, pod_leaves_);
  const Bandwidth leaf = nic * (leaf_ports_ / network.leaf_oversubscription);
  const Bandwidth pod = leaf * (pod_leaves_ / network.pod_oversubscription);
  std::array<std::uint32_t, kinds> count{};
  count[device_up] = count[device_down] = ranks;
  if (ring) {
    count[node_up] = count[node_down] = nodes_;  // up: to the next node, down: to the one before
  } else if (mesh) {
    SCHEDLAB_EXPECTS(network.mesh_columns > 0, "a mesh has at least one column");
    count[node_up] = nodes_ * mesh_directions;
  } else {
    count[node_up] = count[node_down] = nics;
    count[leaf_up] = count[leaf_down] = leaves;
    count[pod_up] = count[pod_down] = pods;
  }
  bandwidth_[device_up] = bandwidth_[device_down] = network.device.bandwidth;
  bandwidth_[node_up] = bandwidth_[node_down] = nic;
  bandwidth_[leaf_up] = bandwidth_[leaf_down] = leaf;
  bandwidth_[pod_up] = bandwidth_[pod_down] = pod;
  for (std::size_t kind = 0; kind < kinds; ++kind) first_[kind + 1] = first_[kind] + count[kind];
  link_count_ = first_[kinds];
}

Bandwidth Routes::bandwidth(LinkId link) const {
  std::size_t kind = 0;
  while (link.value() >= first_[kind + 1]) ++kind;
  return bandwidth_[kind];
}

std::string Routes::name(LinkId link) const {
  static constexpr std::array<std::string_view, kinds> words{"device {} to its node's switch",
                                                             "node's switch to device {}",
                                                             "NIC {} to its leaf switch",
                                                             "leaf switch to NIC {}",
                                                             "leaf switch {} up",
                                                             "leaf switch {} down",
                                                             "pod {} up",
                                                             "pod {} down"};
  std::size_t kind = 0;
  while (link.value() >= first_[kind + 1]) ++kind;
  const std::uint32_t index = link.value() - first_[kind];
  if (network_.topology == Topology::ring && kind >= node_up) {
    return fmt::format("node {} to the {} node", index, kind == node_up ? "next" : "previous");
  }
  if (network_.topology == Topology::mesh && kind == node_up) {
    static constexpr std::array<std::string_view, mesh_directions> ways{
        "right", "left", "down", "up"};
    return fmt::format("node {} {}", index / mesh_directions, ways[index % mesh_directions]);
  }
  return fmt::format(fmt::runtime(words[kind]), index);
}

void Routes::add(Kind kind, std::uint32_t index, std::vector<LinkId>* links) const {
  if (links != nullptr && bandwidth_[kind].count() > 0) links->emplace_back(first_[kind] + index);
}

std::uint32_t Routes::nic_of(std::uint32_t rank) const {
  const std::uint32_t within = rank % network_.ranks_per_node;
  return node_of(rank) * network_.nics_per_node +
         static_cast<std::uint32_t>(std::uint64_t{within} * network_.nics_per_node /
                                    network_.ranks_per_node);
}

std::uint32_t Routes::leaf_of(std::uint32_t nic) const {
  if (!network_.rails) return nic / leaf_ports_;
  const std::uint32_t nics = network_.nics_per_node;
  return nic / nics / leaf_ports_ * nics + nic % nics;
}

Duration Routes::around_ring(std::uint32_t from,
                             std::uint32_t to,
                             std::vector<LinkId>* links) const {
  const std::uint32_t forward = (to + nodes_ - from) % nodes_;
  const std::uint32_t backward = nodes_ - forward;
  const bool ahead = forward <= backward;
  const std::uint32_t hops = ahead ? forward : backward;
  if (links != nullptr) {
    for (std::uint32_t node = from; node != to; node = (node + (ahead ? 1 : nodes_ - 1)) % nodes_) {
      add(ahead ? node_up : node_down, node, links);
    }
  }
  return network_.node.latency * hops;
}

Duration Routes::across_mesh(std::uint32_t from,
                             std::uint32_t to,
                             std::vector<LinkId>* links) const {
  const std::uint32_t columns = network_.mesh_columns;
  const std::uint32_t target_column = to % columns;
  std::uint32_t hops = 0;
  std::uint32_t node = from;
  const auto hop = [&](std::uint32_t direction, std::uint32_t next) {
    add(node_up, node * mesh_directions + direction, links);
    node = next;
    ++hops;
  };
  // The last row may be short: going up (towards row 0) before going along it stays on nodes that
  // exist; downwards the row is left last.
  const bool column_first = to / columns < from / columns;
  const auto along_row = [&] {
    while (node % columns < target_column) hop(0, node + 1);
    while (node % columns > target_column) hop(1, node - 1);
  };
  const auto along_column = [&] {
    while (node / columns < to / columns) hop(2, node + columns);
    while (node / columns > to / columns) hop(3, node - columns);
  };
  if (column_first) {
    along_column();
    along_row();
  } else {
    along_row();
    along_column();
  }
  return network_.node.latency * hops;
}

Duration Routes::through_tree(std::uint32_t from,
                              std::uint32_t to,
                              std::vector<LinkId>* links) const {
  add(node_up, from, links);
  const std::uint32_t leaf = leaf_of(from);
  const std::uint32_t other_leaf = leaf_of(to);
  std::uint32_t switches = 1;
  if (leaf != other_leaf) {
    add(leaf_up, leaf, links);
    const std::uint32_t pod = leaf / pod_leaves_;
    const std::uint32_t other_pod = other_leaf / pod_leaves_;
    switches = 3;
    if (pod != other_pod) {
      add(pod_up, pod, links);
      add(pod_down, other_pod, links);
      switches = 5;
    }
    add(leaf_down, other_leaf, links);
  }
  add(node_down, to, links);
  return 2 * network_.node.latency + switches * network_.switch_latency;
}

Duration Routes::walk(std::uint32_t from, std::uint32_t to, std::vector<LinkId>* links) const {
  SCHEDLAB_EXPECTS(network_.topology == Topology::none || (from < ranks_ && to < ranks_),
                   fmt::format("a way from rank {} to {} of {}", from, to, ranks_));
  if (network_.topology == Topology::none || from == to) return Duration{0};
  const std::uint32_t node = node_of(from);
  const std::uint32_t other = node_of(to);
  if (node == other) {
    add(device_up, from, links);
    add(device_down, to, links);
    return 2 * network_.device.latency;
  }
  switch (network_.topology) {
    case Topology::ring:
      return around_ring(node, other, links);
    case Topology::mesh:
      return across_mesh(node, other, links);
    default:
      return through_tree(nic_of(from), nic_of(to), links);
  }
}

Duration Routes::route(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& links) const {
  return walk(from, to, &links);
}

Duration Routes::latency(std::uint32_t from, std::uint32_t to) const {
  return walk(from, to, nullptr);
}

Bandwidth Routes::narrowest(std::uint32_t from, std::uint32_t to) const {
  std::vector<LinkId> links;
  walk(from, to, &links);
  Bandwidth least{};
  for (const LinkId link : links) {
    const Bandwidth b = bandwidth(link);
    if (least.count() == 0 || b < least) least = b;
  }
  return least;
}

}  // namespace schedlab
