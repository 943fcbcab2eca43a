// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/launch_index.hpp"

#include <algorithm>
#include <tuple>

namespace schedlab {

LaunchIndex::LaunchIndex(const std::vector<CallRow>& calls) {
  calls_.reserve(calls.size());
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    if (calls[i].correlation != 0) calls_.emplace_back(calls[i].correlation, i);
  }
  std::sort(calls_.begin(), calls_.end(), [&](const auto& a, const auto& b) {
    const auto key = [&](const auto& entry) {
      return std::tuple{entry.first, !launches(calls[entry.second].kind), entry.second};
    };
    return key(a) < key(b);
  });
  const auto last = std::unique(calls_.begin(), calls_.end(), [](const auto& a, const auto& b) {
    return a.first == b.first;
  });
  duplicates_ = static_cast<std::uint64_t>(calls_.end() - last);
  calls_.erase(last, calls_.end());
}

std::optional<std::uint32_t> LaunchIndex::find(std::uint64_t correlation) const {
  const auto found = std::lower_bound(
      calls_.begin(), calls_.end(), correlation, [](const auto& entry, std::uint64_t wanted) {
        return entry.first < wanted;
      });
  if (found == calls_.end() || found->first != correlation) return std::nullopt;
  return found->second;
}

}  // namespace schedlab
