// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/machine/fitted_parameters.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// One direction of a link.
using LinkId = StrongId<struct LinkIdTag>;

/// How nodes are connected with each other.
enum class Topology : std::uint8_t {
  none,         ///< no network: messages take no time, collectives have no cost model
  ring,         ///< each node to two neighbours; the shorter way round
  mesh,         ///< two dimensions, without wrap-around; first along the row, then the column
  fat_tree,     ///< leaf switches, optionally pods of them, one core
  nvlink_node,  ///< devices of a node on a switch of their own, nodes on a fat tree
};
template <>
struct EnumNames<Topology> {
  static constexpr auto names = name_list("none", "ring", "mesh", "fat_tree", "nvlink_node");
};

/// Bandwidth of one direction and latency of one crossing. Bandwidth 0: not limited, not shared.
struct Link {
  Bandwidth bandwidth{};
  Duration latency{0};

  friend bool operator==(const Link&, const Link&) = default;
};

/// What something takes of one direction of a link.
struct LinkShare {
  LinkId link;
  double share = 0;  ///< of its bandwidth, 0 to 1

  friend bool operator==(const LinkShare&, const LinkShare&) = default;
};

/// What collectives cost beyond latency and bandwidth of the links (hw_models/collective.hpp).
struct CollectiveCosts {
  std::uint32_t units = 1;   ///< of its class that the kernel of a collective holds on each device
  double efficiency = 1.0;   ///< reachable share of the links' bandwidth
  Duration base{0};          ///< once per collective
  Duration step_in_node{0};  ///< per step between devices of one node
  Duration step_between_nodes{0};
  /// Do collectives slow down by the memory bandwidth and the links that others leave them?
  bool contend = false;
  /// What a library's protocols were fitted to take inside a node
  /// (hw_models/fitted_collective.hpp), by rising size from which they are used: those of rings,
  /// and of all-to-alls; empty: the numbers above hold there, too.
  std::vector<FittedParameters> ring_protocols{};
  std::vector<FittedParameters> pairwise_protocols{};
  bool switch_reduces = false;   ///< the switch of a node can add up
  FittedParameters in_switch{};  ///< all-reduces that the node's switch adds up
  /// Tokens sent to experts on other ranks of the node, and their results fetched and added
  /// (hw_models/expert_exchange.hpp).
  FittedParameters dispatch{};
  FittedParameters combine{};

  friend bool operator==(const CollectiveCosts&, const CollectiveCosts&) = default;
};

/// The network of a platform, by its parameters. Rank r is host r and device r; ranks fill the
/// nodes one after another. A platform without a network (Topology::none) hands messages over at
/// once.
struct Network {
  Topology topology = Topology::none;
  std::uint32_t ranks_per_node = 1;
  /// Fat tree: ranks of a node are spread over them evenly. A multiple of ranks_per_node: each rank
  /// has several, which count as one link with their summed bandwidth.
  std::uint32_t nics_per_node = 1;
  Link device{};               ///< device to its node's switch; bandwidth 0: not shared
  Link node{};                 ///< NIC to leaf switch; ring, mesh: between neighbours
  Duration switch_latency{0};  ///< per switch of the fat tree that is passed
  std::uint32_t mesh_columns = 1;
  std::uint32_t leaf_ports = 0;  ///< NICs under a leaf switch; 0 = all (rails: of a rail)
  /// Fat tree: a leaf switch has the NICs of equal number of leaf_ports nodes (a rail), not all
  /// those of some nodes. Between equal NICs there is one switch on the way, between others more.
  bool rails = false;
  std::uint32_t pod_leaves = 0;        ///< leaf switches of a pod; 0 = all: no further level
  double leaf_oversubscription = 1.0;  ///< bandwidth below over bandwidth above a leaf switch
  double pod_oversubscription = 1.0;   ///< likewise of a pod
  Bytes eager_threshold{-1};  ///< largest message that is buffered by the receiver; -1 = none is
  CollectiveCosts collectives{};

  friend bool operator==(const Network&, const Network&) = default;
};

/// Links and routes of a network of so many ranks, computed when asked for: nothing is stored per
/// pair of ranks. Every route is fixed (a fat tree's parallel links between two levels count as
/// one link with their summed bandwidth, as ideal adaptive routing would make them).
class Routes {
 public:
  Routes() = default;
  Routes(const Network& network, std::uint32_t ranks);

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::uint32_t node_count() const { return nodes_; }
  [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const {
    return rank / network_.ranks_per_node;
  }
  [[nodiscard]] std::size_t link_count() const { return link_count_; }
  /// Bandwidth of one direction; 0 = not limited.
  [[nodiscard]] Bandwidth bandwidth(LinkId link) const;
  /// Appends the limited links from one rank to another to `links`, which is not cleared, and
  /// returns the latency of the way. A rank to itself: no links, no latency. Cost O(hops).
  Duration route(std::uint32_t from, std::uint32_t to, std::vector<LinkId>& links) const;
  [[nodiscard]] Duration latency(std::uint32_t from, std::uint32_t to) const;
  /// The narrowest link of the way; 0 = not limited.
  [[nodiscard]] Bandwidth narrowest(std::uint32_t from, std::uint32_t to) const;
  /// "NIC 3 up": what a link is called in reports.
  [[nodiscard]] std::string name(LinkId link) const;

 private:
  // Links are numbered kind after kind; both directions of a kind follow each other.
  enum Kind : std::uint8_t {
    device_up,
    device_down,
    node_up,
    node_down,
    leaf_up,
    leaf_down,
    pod_up,
    pod_down,
    kinds
  };
  static constexpr std::uint32_t mesh_directions = 4;

  void add(Kind kind, std::uint32_t index, std::vector<LinkId>* links) const;
  Duration walk(std::uint32_t from, std::uint32_t to, std::vector<LinkId>* links) const;
  Duration around_ring(std::uint32_t from, std::uint32_t to, std::vector<LinkId>* links) const;
  Duration across_mesh(std::uint32_t from, std::uint32_t to, std::vector<LinkId>* links) const;
  Duration through_tree(std::uint32_t from, std::uint32_t to, std::vector<LinkId>* links) const;
  [[nodiscard]] std::uint32_t nic_of(std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t nic) const;
  [[nodiscard]] static std::uint32_t counted(std::uint32_t asked, std::uint32_t all) {
    return asked == 0 ? all : asked;
  }

  Network network_;
  std::uint32_t ranks_ = 0;
  std::uint32_t nodes_ = 0;
  std::uint32_t leaf_ports_ = 1;
  std::uint32_t pod_leaves_ = 1;
  std::size_t link_count_ = 0;
  std::array<std::uint32_t, kinds + 1> first_{};  // by Kind, as the next
  std::array<Bandwidth, kinds> bandwidth_{};
};

}  // namespace schedlab
