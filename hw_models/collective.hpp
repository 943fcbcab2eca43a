// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/machine/cost_model.hpp"

#include <span>
#include <vector>

namespace schedlab {

/// What a collective's time is made of. Latency and bytes add up: duration = base + latency +
/// bytes.
struct CollectiveTime {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  Duration base{0};
  Duration latency{0};  ///< steps one after another
  Duration bytes{0};    ///< through the busiest link
  [[nodiscard]] Duration total() const { return base + latency + bytes; }
};

/// Time of a collective among `ranks` by one algorithm, in the latency-bandwidth model (Thakur,
/// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005), with
/// S bytes, n ranks on m nodes, a step's latency `a` (library and route, unlike inside a node and
/// between nodes) and B the bandwidth that the busiest link leaves to each flow when all flows of a
/// step are under way:
///
///   ring          all_reduce      2 ((n-m) a_in + (m-1) a_out) + 2 (n-1)/n S/B
///                 all_gather, reduce_scatter: half of that; broadcast: one way round + S/B
///   tree          all_reduce      2 (ceil(log2 m) a_out + (g-1) a_in) + S/B, B with all edges of
///                 two complementary binary trees of half the bytes each (Sanders, Speck, Traeff:
///                 Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009), a
///                 chain of the g ranks inside a node; broadcast: one way
///   hierarchical  reduce-scatter inside nodes, the operation among equal ranks of all nodes with
///                 S/g bytes, all-gather inside nodes (needs equally filled nodes)
///
///   pairwise      all_to_all: n - 1 steps, S/n from each rank to each other
///   in_switch     all_reduce inside one node, where the machine has its parameters
///
/// Inside one node a ring or pairwise exchange is what the library's protocols take, where the
/// machine has them (hw_models/fitted_collective.hpp); `automatic` is then these, or in_switch.
///
/// Where the machine has `expert_combine`, no rank sends faster than its units (of that
/// unit_gb_per_s each) move.
///
/// Between nodes a ring or tree spreads over all NICs of a node, as libraries do with several
/// channels. The steps' latencies follow NCCL's tuning model (NVIDIA/nccl, src/graph/tuning.cc):
/// counted along the way of one chunk.
///
/// automatic: the fastest of those that apply. One rank: no time. Other traffic on the same links:
/// collective_link_shares().
/// Throws InfeasibleError if the platform has no network, a rank has no place in it, or the
/// algorithm does not do the operation.
[[nodiscard]] CollectiveTime collective_time(const CollectiveSpec& spec,
                                             std::span<const std::uint32_t> ranks,
                                             const Platform& platform);

/// The estimate that cost models give of a collective's part on a device like
/// `platform.devices[kind]`: collective_time(), or the operation's fixed duration if it has one;
/// Network::collectives.units of its class; memory traffic of the operation's kernels, or else what
/// moving and adding takes: per byte that a rank receives one is written, one read to be sent, and
/// in a reduction one more read, but for one that the switch adds up.
[[nodiscard]] Estimate collective_cost(const Operation& operation,
                                       const CollectiveSpec& spec,
                                       std::span<const std::uint32_t> ranks,
                                       const Platform& platform,
                                       DeviceId kind);

/// What the collective takes of links, on average over collective_time(): of each the bytes that go
/// over it, over that time and what collectives reach of it at best (collective_efficiency; the
/// link_share of the protocol for the largest sizes). The busiest link of a large collective is
/// nearly full.
[[nodiscard]] std::vector<LinkShare> collective_link_shares(const CollectiveSpec& spec,
                                                            std::span<const std::uint32_t> ranks,
                                                            const Platform& platform);

/// A cost model of devices whose collectives cost what collective_cost() says.
class NetworkCostModel : public CostModel {
 public:
  [[nodiscard]] Estimate estimate_collective(const Operation& operation,
                                             const CollectiveSpec& spec,
                                             std::span<const std::uint32_t> ranks,
                                             const Platform& platform,
                                             DeviceId kind) const final {
    return collective_cost(operation, spec, ranks, platform, kind);
  }
  [[nodiscard]] std::vector<LinkShare> collective_links(const Operation& operation,
                                                        const CollectiveSpec& spec,
                                                        std::span<const std::uint32_t> ranks,
                                                        const Platform& platform) const final {
    // Of a measured or fixed time the links are unknown.
    if (operation.fixed_duration > Duration{0}) return {};
    return collective_link_shares(spec, ranks, platform);
  }
};

}  // namespace schedlab
