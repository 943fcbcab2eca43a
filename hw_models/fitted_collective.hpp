// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw_models/collective.hpp"
#include "sim/machine/fitted_parameters.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace schedlab {

/// A protocol of a library: how it hands data from device to device of a node.
enum class ProtocolParameter : std::uint8_t {
  from_bytes,
  base_us,
  step_us,
  link_share,
  local_gb_per_s,
};
[[nodiscard]] std::span<const ParameterInfo> protocol_parameters();

/// All-reduces in the switch of a node.
enum class SwitchParameter : std::uint8_t { from_bytes, from_ranks, base_us, link_share };
[[nodiscard]] std::span<const ParameterInfo> switch_parameters();

/// A collective of S bytes among n ranks of one node.
struct NodeCollective {
  CollectiveOp op = CollectiveOp::all_reduce;
  double bytes = 0;
  double ranks = 2;
};

/// What a collective consists of, by its algorithm alone: rings (all_reduce 2 (n - 1) steps of S/n
/// bytes, all_gather and reduce_scatter n - 1, broadcast n - 1 and S bytes) and pairwise exchanges
/// (all_to_all: S/n to each of n - 1 others).
struct CollectiveSteps {
  double steps = 0;
  double sent_bytes = 0;   ///< by each rank
  double local_bytes = 0;  ///< a rank's own part, copied or added while nothing is on the way
};
[[nodiscard]] CollectiveSteps collective_steps(const NodeCollective& collective);

inline constexpr Bandwidth unlimited_units{1e30};

/// Time by the protocol for the size, us:
///
///   rate = link_share x link, at most what the kernel's units move
///   time = base_us + steps step_us + sent / rate + local / local_gb_per_s
///
/// The protocol is the last of `protocols` whose from_bytes is at most what a rank sends. `link`:
/// of a device, one way. `units`: what those that the kernel holds move together. What other ranks
/// add is in the steps and the bytes alone, so that two and four ranks say what eight take. Source:
/// NCCL's tuning model has the same terms (NVIDIA/nccl, src/graph/tuning.cc), without the local
/// part.
[[nodiscard]] CollectiveTime fitted_time(std::span<const FittedParameters> protocols,
                                         const NodeCollective& collective,
                                         Bandwidth link,
                                         Bandwidth units = unlimited_units);

/// Time of an all-reduce that the node's switch adds up: each rank's bytes go into it once, the
/// sums of 1/n of them come back to be handed out, and all come back once:
///
///   time = base_us + S (1 + 1/n) / (link_share x link)
[[nodiscard]] CollectiveTime in_switch_time(const FittedParameters& fitted,
                                            const NodeCollective& collective,
                                            Bandwidth link);
/// From as many bytes and ranks as the parameters say.
[[nodiscard]] bool in_switch_applies(const FittedParameters& fitted,
                                     const NodeCollective& collective);

}  // namespace schedlab
