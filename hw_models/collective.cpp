// SPDX-License-Identifier: Apache-2.0
#include "hw_models/collective.hpp"

#include "hw_models/expert_exchange.hpp"
#include "hw_models/fitted_collective.hpp"
#include "hw_models/kernel_cost.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

/// How much of one flow's bytes each link carries, for all flows that are under way at once.
class LinkLoads {
 public:
  explicit LinkLoads(const Routes& routes) : routes_(routes) {}

  void add(std::uint32_t from, std::uint32_t to, double weight) {
    links_.clear();
    routes_.route(from, to, links_);
    for (const LinkId link : links_) loads_.emplace_back(link, weight);
  }
  /// Time that the busiest link needs for `bytes` of every flow.
  [[nodiscard]] double seconds(double bytes, double efficiency) {
    std::sort(loads_.begin(), loads_.end());
    double most = 0;
    for (std::size_t i = 0; i < loads_.size();) {
      double load = 0;
      const LinkId link = loads_[i].first;
      for (; i < loads_.size() && loads_[i].first == link; ++i) load += loads_[i].second;
      most = std::max(most, load / routes_.bandwidth(link).count());
    }
    return most * bytes / efficiency;
  }
  /// Adds `bytes` of every flow to what goes over each link.
  void add_bytes(double bytes, std::map<LinkId, double>& sums) const {
    for (const auto& [link, weight] : loads_) sums[link] += weight * bytes;
  }

 private:
  const Routes& routes_;
  std::vector<std::pair<LinkId, double>> loads_;
  std::vector<LinkId> links_;
};

/// The ranks of a collective, node by node.
class Group {
 public:
  Group(std::span<const std::uint32_t> ranks, const Platform& platform)
      : network_(platform.network),
        routes_(platform.network, static_cast<std::uint32_t>(platform.device_count())),
        ranks_(ranks.begin(), ranks.end()) {
    std::sort(ranks_.begin(), ranks_.end());
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      if (i == 0 || node(i) != node(i - 1)) first_.push_back(i);
    }
    first_.push_back(static_cast<std::uint32_t>(ranks_.size()));
    for (std::uint32_t n = 0; n < nodes(); ++n) max_in_node_ = std::max(max_in_node_, in_node(n));
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  [[nodiscard]] std::uint32_t nodes() const {
    return static_cast<std::uint32_t>(first_.size()) - 1;
  }
  [[nodiscard]] std::uint32_t in_node(std::uint32_t n) const { return first_[n + 1] - first_[n]; }
  [[nodiscard]] std::uint32_t max_in_node() const { return max_in_node_; }
  [[nodiscard]] bool equally_filled() const { return max_in_node_ * nodes() == size(); }
  [[nodiscard]] std::uint32_t rank(std::uint32_t n, std::uint32_t i) const {
    return ranks_[first_[n] + i];
  }
  [[nodiscard]] const Routes& routes() const { return routes_; }

  /// Of a step inside a node, and between nodes `from` and `to` of the group.
  [[nodiscard]] Duration step_in_node() const {
    return network_.collectives.step_in_node + 2 * network_.device.latency;
  }
  [[nodiscard]] Duration step(std::uint32_t from, std::uint32_t to) const {
    return network_.collectives.step_between_nodes + routes_.latency(rank(from, 0), rank(to, 0));
  }
  /// The longest step of a ring over the nodes.
  [[nodiscard]] Duration ring_step() const {
    Duration longest{0};
    if (nodes() == 1) return longest;
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      longest = std::max(longest, step(n, (n + 1) % nodes()));
    }
    return longest;
  }

  /// One flow from node to node, spread over their NICs.
  void add_between(LinkLoads& loads, std::uint32_t from, std::uint32_t to, double weight) const {
    const std::uint32_t per_node = network_.ranks_per_node;
    const std::uint32_t nics = std::min(network_.nics_per_node, per_node);
    const auto place = [&](std::uint32_t n, std::uint32_t nic) {
      const std::uint32_t base = routes_.node_of(rank(n, 0)) * per_node;
      // The first rank of the node that uses this NIC; the last node may not be full.
      const std::uint32_t within = (nic * per_node + nics - 1) / nics;
      return std::min(base + std::min(within, per_node - 1), routes_.ranks() - 1);
    };
    for (std::uint32_t nic = 0; nic < nics; ++nic) {
      loads.add(place(from, nic), place(to, nic), weight / nics);
    }
  }
  /// One flow from each rank to the next, round and round.
  void add_ring(LinkLoads& loads) const {
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      for (std::uint32_t i = 0; i + 1 < in_node(n); ++i) loads.add(rank(n, i), rank(n, i + 1), 1.0);
      if (nodes() > 1) add_between(loads, n, (n + 1) % nodes(), 1.0);
    }
    if (nodes() == 1) loads.add(rank(0, in_node(0) - 1), rank(0, 0), 1.0);
  }
  /// One flow from each rank to each other; those between two nodes as one over all their NICs.
  void add_pairs(LinkLoads& loads) const {
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      for (std::uint32_t i = 0; i < in_node(n); ++i) {
        for (std::uint32_t j = 0; j < in_node(n); ++j) {
          if (i != j) loads.add(rank(n, i), rank(n, j), 1.0);
        }
      }
      for (std::uint32_t m = 0; m < nodes(); ++m) {
        if (m != n) add_between(loads, n, m, double{1} * in_node(n) * in_node(m));
      }
    }
  }
  /// Rings inside nodes, and rings of the equal ranks of all nodes.
  void add_levels(LinkLoads& inside, LinkLoads& across) const {
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      for (std::uint32_t i = 0; i < max_in_node_; ++i) {
        inside.add(rank(n, i), rank(n, (i + 1) % max_in_node_), 1.0);
        across.add(rank(n, i), rank((n + 1) % nodes(), i), 1.0);
      }
    }
  }
  /// Chains inside nodes; between nodes two binary trees with half the bytes each, the second with
  /// the nodes in reverse, so that (nearly) no node is inside both. `up`: also towards the root.
  void add_trees(LinkLoads& loads, bool up) const {
    for (std::uint32_t n = 0; n < nodes(); ++n) {
      for (std::uint32_t i = 0; i + 1 < in_node(n); ++i) {
        loads.add(rank(n, i), rank(n, i + 1), 1.0);
        if (up) loads.add(rank(n, i + 1), rank(n, i), 1.0);
      }
    }
    for (std::uint32_t n = 1; n < nodes(); ++n) {
      const std::uint32_t parent = (n - 1) / 2;
      for (const bool reversed : {false, true}) {
        const std::uint32_t child_node = reversed ? nodes() - 1 - n : n;
        const std::uint32_t parent_node = reversed ? nodes() - 1 - parent : parent;
        add_between(loads, parent_node, child_node, 0.5);
        if (up) add_between(loads, child_node, parent_node, 0.5);
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t node(std::uint32_t i) const { return routes_.node_of(ranks_[i]); }

  const Network& network_;
  Routes routes_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint32_t> first_;  // by node of the group, and the end
  std::uint32_t max_in_node_ = 0;
};

double fraction(std::uint32_t n) {
  return static_cast<double>(n - 1) / n;
}

int passes_of(CollectiveOp op) {
  return op == CollectiveOp::all_reduce ? 2 : 1;
}

/// What each rank of a ring hands on.
double ring_bytes(const CollectiveSpec& spec, std::uint32_t ranks) {
  const bool broadcast = spec.op == CollectiveOp::broadcast;
  return static_cast<double>(spec.bytes.count()) *
         (broadcast ? 1.0 : passes_of(spec.op) * fraction(ranks));
}

CollectiveTime ring_time(const CollectiveSpec& spec, const Group& group, double efficiency) {
  LinkLoads loads{group.routes()};
  group.add_ring(loads);
  const int passes = passes_of(spec.op);
  const std::int64_t across = group.nodes() - 1;
  const std::int64_t inside = group.size() - group.nodes();
  const double bytes = ring_bytes(spec, group.size());
  return {.algorithm = CollectiveAlgorithm::ring,
          .latency = passes * (inside * group.step_in_node() + across * group.ring_step()),
          .bytes = round_up_seconds(loads.seconds(bytes, efficiency))};
}

CollectiveTime tree_time(const CollectiveSpec& spec, const Group& group, double efficiency) {
  LinkLoads loads{group.routes()};
  const bool up = spec.op == CollectiveOp::all_reduce;
  group.add_trees(loads, up);
  Duration longest{0};
  for (std::uint32_t n = 1; n < group.nodes(); ++n) {
    longest = std::max(longest, group.step((n - 1) / 2, n));
  }
  const int passes = up ? 2 : 1;
  const auto depth = static_cast<int>(std::bit_width(group.nodes() - 1));  // ceil(log2(nodes))
  const std::int64_t inside = group.max_in_node() - 1;
  const auto bytes = static_cast<double>(spec.bytes.count());
  return {.algorithm = CollectiveAlgorithm::tree,
          .latency = passes * (inside * group.step_in_node() + depth * longest),
          .bytes = round_up_seconds(loads.seconds(bytes, efficiency))};
}

/// Everybody's part to everybody else, one after another.
CollectiveTime pairwise_time(const CollectiveSpec& spec, const Group& group, double efficiency) {
  LinkLoads loads{group.routes()};
  group.add_pairs(loads);
  const std::int64_t inside = group.max_in_node() - 1;
  const std::int64_t across = group.size() - group.max_in_node();
  const double part = static_cast<double>(spec.bytes.count()) / group.size();
  return {.algorithm = CollectiveAlgorithm::pairwise,
          .latency = inside * group.step_in_node() + across * group.ring_step(),
          .bytes = round_up_seconds(loads.seconds(part, efficiency))};
}

CollectiveTime hierarchical_time(const CollectiveSpec& spec,
                                 const Group& group,
                                 double efficiency) {
  LinkLoads inside{group.routes()};
  LinkLoads across{group.routes()};
  group.add_levels(inside, across);
  const std::uint32_t per_node = group.max_in_node();
  const int passes = passes_of(spec.op);
  const auto bytes = static_cast<double>(spec.bytes.count());
  const std::int64_t steps_inside = per_node - 1;
  const std::int64_t steps_across = group.nodes() - 1;
  const double seconds =
      inside.seconds(passes * fraction(per_node) * bytes, efficiency) +
      across.seconds(passes * fraction(group.nodes()) * bytes / per_node, efficiency);
  return {
      .algorithm = CollectiveAlgorithm::hierarchical,
      .latency = passes * (steps_inside * group.step_in_node() + steps_across * group.ring_step()),
      .bytes = round_up_seconds(seconds)};
}

bool applies(CollectiveAlgorithm algorithm, CollectiveOp op, const Group& group) {
  if (op == CollectiveOp::all_to_all) return algorithm == CollectiveAlgorithm::pairwise;
  switch (algorithm) {
    case CollectiveAlgorithm::pairwise:
    case CollectiveAlgorithm::in_switch:
      return false;
    case CollectiveAlgorithm::tree:
      return op == CollectiveOp::all_reduce || op == CollectiveOp::broadcast;
    case CollectiveAlgorithm::hierarchical:
      return op != CollectiveOp::broadcast && group.nodes() > 1 && group.max_in_node() > 1 &&
             group.equally_filled();
    default:
      return true;
  }
}

void expect_network(std::span<const std::uint32_t> ranks, const Platform& platform) {
  if (platform.network.topology == Topology::none) {
    throw InfeasibleError(
        fmt::format("machine \"{}\" has no network, so a collective among {} ranks has no cost\n  "
                    "give the machine a section \"network\", or the operation a fixed duration",
                    platform.name,
                    ranks.size()));
  }
  for (const std::uint32_t rank : ranks) {
    if (rank < platform.device_count()) continue;
    throw InfeasibleError(fmt::format("a collective has a part on rank {}, but there are {} ranks",
                                      rank,
                                      platform.device_count()));
  }
}

/// What the units of a collective move at most.
Bandwidth units_bandwidth(const CollectiveCosts& costs) {
  return costs.combine.known()
             ? Bandwidth{costs.units * costs.combine[ExpertParameter::unit_gb_per_s] * 1e9}
             : unlimited_units;
}

/// By what a library was fitted to take inside a node; nothing where that is not known, or another
/// algorithm is asked for.
std::optional<CollectiveTime> time_in_node(const CollectiveSpec& spec,
                                           const Group& group,
                                           const Network& network) {
  using enum CollectiveAlgorithm;
  const CollectiveCosts& costs = network.collectives;
  const bool exchange = spec.op == CollectiveOp::all_to_all;
  const auto& protocols = exchange ? costs.pairwise_protocols : costs.ring_protocols;
  const CollectiveAlgorithm usual = exchange ? pairwise : ring;
  if (group.nodes() > 1 || protocols.empty() || network.device.bandwidth <= Bandwidth{0.0}) {
    return std::nullopt;
  }
  const NodeCollective one{.op = spec.op,
                           .bytes = static_cast<double>(spec.bytes.count()),
                           .ranks = static_cast<double>(group.size())};
  std::optional<CollectiveTime> best;
  if (spec.algorithm == automatic || spec.algorithm == usual) {
    best = fitted_time(protocols, one, network.device.bandwidth, units_bandwidth(costs));
  }
  if ((spec.algorithm == automatic || spec.algorithm == in_switch) && costs.switch_reduces &&
      in_switch_applies(costs.in_switch, one)) {
    const CollectiveTime added = in_switch_time(costs.in_switch, one, network.device.bandwidth);
    if (!best || added.total() < best->total()) best = added;
  }
  return best;
}

/// Memory traffic of one rank for each byte of the collective.
double traffic_factor(CollectiveOp op, CollectiveAlgorithm algorithm, std::uint32_t ranks) {
  if (algorithm == CollectiveAlgorithm::in_switch) return 2 * (1 + 1.0 / ranks);  // out and in
  switch (op) {
    case CollectiveOp::all_reduce:
      return 5 * fraction(ranks);  // a reduce_scatter and an all_gather
    case CollectiveOp::reduce_scatter:
      return 3 * fraction(ranks);
    case CollectiveOp::all_gather:
      return 2 * fraction(ranks);
    case CollectiveOp::broadcast:
      return 2;
    case CollectiveOp::all_to_all:
      return 2 * fraction(ranks);
  }
  return 0;
}

/// Bytes over each link, from the beginning to the end.
std::map<LinkId, double> bytes_over_links(const CollectiveSpec& spec,
                                          CollectiveAlgorithm algorithm,
                                          const Group& group) {
  std::map<LinkId, double> sums;
  LinkLoads loads{group.routes()};
  const auto bytes = static_cast<double>(spec.bytes.count());
  switch (algorithm) {
    case CollectiveAlgorithm::tree:
      group.add_trees(loads, spec.op == CollectiveOp::all_reduce);
      loads.add_bytes(bytes, sums);
      break;
    case CollectiveAlgorithm::pairwise:
      group.add_pairs(loads);
      loads.add_bytes(bytes / group.size(), sums);
      break;
    case CollectiveAlgorithm::hierarchical: {
      LinkLoads across{group.routes()};
      group.add_levels(loads, across);
      const int passes = passes_of(spec.op);
      const std::uint32_t in_node = group.max_in_node();
      loads.add_bytes(passes * fraction(in_node) * bytes, sums);
      across.add_bytes(passes * fraction(group.nodes()) * bytes / in_node, sums);
      break;
    }
    case CollectiveAlgorithm::in_switch:  // in and out of every device, as in a ring
      group.add_ring(loads);
      loads.add_bytes(bytes * (1 + 1.0 / group.size()), sums);
      break;
    default:
      group.add_ring(loads);
      loads.add_bytes(ring_bytes(spec, group.size()), sums);
      break;
  }
  return sums;
}

/// What collectives by this algorithm reach of a link at best.
double best_link_share(CollectiveAlgorithm algorithm, const Group& group, const Network& network) {
  const CollectiveCosts& costs = network.collectives;
  if (algorithm == CollectiveAlgorithm::in_switch) {
    return costs.in_switch[SwitchParameter::link_share];
  }
  const auto& protocols =
      algorithm == CollectiveAlgorithm::pairwise ? costs.pairwise_protocols : costs.ring_protocols;
  const bool fitted =
      group.nodes() == 1 && !protocols.empty() && network.device.bandwidth > Bandwidth{0.0};
  return fitted ? protocols.back()[ProtocolParameter::link_share] : costs.efficiency;
}

}  // namespace

std::vector<LinkShare> collective_link_shares(const CollectiveSpec& spec,
                                              std::span<const std::uint32_t> ranks,
                                              const Platform& platform) {
  if (ranks.size() <= 1) return {};
  const CollectiveTime time = collective_time(spec, ranks, platform);
  const Group group{ranks, platform};
  const double reached = best_link_share(time.algorithm, group, platform.network);
  const double seconds = to_seconds(time.total());
  std::vector<LinkShare> uses;
  if (!(seconds > 0.0)) return uses;
  for (const auto& [link, bytes] : bytes_over_links(spec, time.algorithm, group)) {
    const double share = bytes / (group.routes().bandwidth(link).count() * reached * seconds);
    if (share > 0.0) uses.push_back({.link = link, .share = std::min(share, 1.0)});
  }
  return uses;
}

CollectiveTime collective_time(const CollectiveSpec& spec,
                               std::span<const std::uint32_t> ranks,
                               const Platform& platform) {
  if (ranks.size() <= 1) return {};
  expect_network(ranks, platform);
  const Group group{ranks, platform};
  const CollectiveCosts& costs = platform.network.collectives;
  if (std::optional<CollectiveTime> fitted = time_in_node(spec, group, platform.network)) {
    return *fitted;
  }
  std::optional<CollectiveTime> best;
  using enum CollectiveAlgorithm;
  for (const CollectiveAlgorithm algorithm : {ring, tree, hierarchical, pairwise}) {
    if (spec.algorithm != automatic && spec.algorithm != algorithm) continue;
    if (!applies(algorithm, spec.op, group)) continue;
    CollectiveTime time = algorithm == ring   ? ring_time(spec, group, costs.efficiency)
                          : algorithm == tree ? tree_time(spec, group, costs.efficiency)
                          : algorithm == pairwise
                              ? pairwise_time(spec, group, costs.efficiency)
                              : hierarchical_time(spec, group, costs.efficiency);
    time.base = costs.base;
    if (costs.combine.known()) {
      const double moved = ring_bytes(spec, group.size()) / units_bandwidth(costs).count();
      time.bytes = std::max(time.bytes, round_up_seconds(moved));
    }
    if (!best || time.total() < best->total()) best = time;
  }
  if (!best) {
    throw InfeasibleError(
        fmt::format("algorithm {} does not do {} among {} ranks on {} nodes; leave it to "
                    "\"automatic\", or use \"ring\"",
                    to_string(spec.algorithm),
                    to_string(spec.op),
                    group.size(),
                    group.nodes()));
  }
  return *best;
}

Estimate collective_cost(const Operation& operation,
                         const CollectiveSpec& spec,
                         std::span<const std::uint32_t> ranks,
                         const Platform& platform,
                         DeviceId kind) {
  const Device& device = platform.devices[kind];
  Estimate result{.duration = operation.fixed_duration, .share = 1.0, .bound = Bound::fixed};
  CollectiveAlgorithm algorithm = spec.algorithm;
  if (result.duration == Duration{0}) {
    const CollectiveTime time = collective_time(spec, ranks, platform);
    result.duration = std::clamp(time.total(), device.kernel_floor, longest_operation);
    algorithm = time.algorithm;
    result.bound = time.bytes > time.base + time.latency ? Bound::memory : Bound::latency;
  }
  const UnitClassId unit_class = device.unit_class_of[static_cast<std::size_t>(operation.kind)];
  const std::uint32_t count = unit_class.valid() ? device.unit_classes[unit_class].count : 0;
  if (count != 0) {
    result.blocks = std::clamp(platform.network.collectives.units, 1U, count);
    result.share = static_cast<double>(result.blocks) / count;
  }
  double bytes = static_cast<double>((operation.bytes_read() + operation.bytes_written()).count());
  if (bytes == 0 && ranks.size() > 1) {
    bytes = traffic_factor(spec.op, algorithm, static_cast<std::uint32_t>(ranks.size())) *
            static_cast<double>(spec.bytes.count());
  }
  const double seconds = to_seconds(result.duration);
  if (seconds > 0) result.bandwidth = Bandwidth{bytes / seconds};
  return result;
}

}  // namespace schedlab
