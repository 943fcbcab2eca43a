// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/options.hpp"
#include "sim/graph/collective.hpp"

#include <cstdint>
#include <vector>

namespace schedlab {

inline constexpr std::int64_t max_ranks = 1'000'000;

/// The scenario key "ranks": the workload on several ranks, data parallel.
struct RanksChoice {
  std::uint32_t count = 1;
  Bytes bucket{25 << 20};
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  bool overlap = true;
};

/// What the object form of the key may hold.
[[nodiscard]] const std::vector<OptionSpec>& ranks_options();
[[nodiscard]] RanksChoice ranks_choice(const Options& options);

}  // namespace schedlab
