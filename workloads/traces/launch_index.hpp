// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/traces/imported_trace.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace schedlab {

/// Finds the call with a given correlation. 16 bytes per call; refers to nothing once built.
class LaunchIndex {
 public:
  explicit LaunchIndex(const std::vector<CallRow>& calls);

  /// Index into the calls: of several with this correlation, the first that launches something, or
  /// else the first. nullopt for 0 and for a correlation that no call has.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t correlation) const;
  /// Calls whose correlation an earlier call has.
  [[nodiscard]] std::uint64_t duplicates() const { return duplicates_; }

 private:
  std::vector<std::pair<std::uint64_t, std::uint32_t>> calls_;  // sorted, each correlation once
  std::uint64_t duplicates_ = 0;
};

}  // namespace schedlab
