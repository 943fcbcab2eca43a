// SPDX-License-Identifier: Apache-2.0
#include "hw_models/fitted_collective.hpp"

#include "hw_models/kernel_cost.hpp"

#include <algorithm>
#include <array>

namespace schedlab {
namespace {

constexpr std::array<ParameterInfo, 5> protocol_infos{{
    {"from_bytes", 0, 1e12, 0, "smallest number of bytes, sent by each rank, that it is used for"},
    {"base_us", 0, 1000, 8, "whatever the size and the number of ranks"},
    {"step_us", 0, 1000, 1, "for each step"},
    {"link_share", 0.001, 1, 0.3, "of a device's link that a rank's bytes reach"},
    {"local_gb_per_s", 0.1, 1e6, 300, "copying or adding a rank's own part"},
}};

constexpr std::array<ParameterInfo, 4> switch_infos{{
    {"from_bytes", 0, 1e12, 1e6, "smallest all-reduce that it is used for"},
    {"from_ranks", 2, 1e6, 5, "fewest ranks that it is used for", true},
    {"base_us", 0, 1000, 20, "whatever the size"},
    {"link_share", 0.001, 1, 0.6, "of a device's link that a rank's bytes reach"},
}};

}  // namespace

std::span<const ParameterInfo> protocol_parameters() {
  return protocol_infos;
}
std::span<const ParameterInfo> switch_parameters() {
  return switch_infos;
}

CollectiveSteps collective_steps(const NodeCollective& collective) {
  const double others = collective.ranks - 1;
  const double part = collective.bytes / collective.ranks;
  if (collective.op == CollectiveOp::broadcast) {
    return {.steps = others, .sent_bytes = collective.bytes, .local_bytes = 0};
  }
  const double steps = collective.op == CollectiveOp::all_reduce ? 2 * others : others;
  return {.steps = steps, .sent_bytes = steps * part, .local_bytes = part};
}

CollectiveTime fitted_time(std::span<const FittedParameters> protocols,
                           const NodeCollective& collective,
                           Bandwidth link,
                           Bandwidth units) {
  using enum ProtocolParameter;
  const CollectiveSteps made_of = collective_steps(collective);
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < protocols.size(); ++i) {
    if (protocols[i][from_bytes] <= made_of.sent_bytes) chosen = i;
  }
  const FittedParameters& protocol = protocols[chosen];
  const double rate = std::min(protocol[link_share] * link.count(), units.count());
  const double seconds =
      made_of.sent_bytes / rate + made_of.local_bytes / (protocol[local_gb_per_s] * 1e9);
  return {.algorithm = collective.op == CollectiveOp::all_to_all ? CollectiveAlgorithm::pairwise
                                                                 : CollectiveAlgorithm::ring,
          .base = from_us(protocol[base_us]),
          .latency = bounded_seconds(made_of.steps * protocol[step_us] / 1e6),
          .bytes = bounded_seconds(seconds)};
}

CollectiveTime in_switch_time(const FittedParameters& fitted,
                              const NodeCollective& collective,
                              Bandwidth link) {
  const double bytes = collective.bytes * (1 + 1 / collective.ranks);
  return {.algorithm = CollectiveAlgorithm::in_switch,
          .base = from_us(fitted[SwitchParameter::base_us]),
          .bytes = bounded_seconds(bytes / (fitted[SwitchParameter::link_share] * link.count()))};
}

bool in_switch_applies(const FittedParameters& fitted, const NodeCollective& collective) {
  return fitted.known() && collective.op == CollectiveOp::all_reduce &&
         collective.bytes >= fitted[SwitchParameter::from_bytes] &&
         collective.ranks >= fitted[SwitchParameter::from_ranks];
}

}  // namespace schedlab
