// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/host_placement.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace schedlab {
namespace {

constexpr std::array<std::string_view, 3> placement_words{"own_core", "shares_core", "preloaded"};

}  // namespace

std::string_view to_string(HostPlacement placement) {
  return placement_words.at(static_cast<std::size_t>(placement));
}

std::optional<HostPlacement> host_placement_from(std::string_view word) {
  const auto* const found = std::find(placement_words.begin(), placement_words.end(), word);
  if (found == placement_words.end()) return std::nullopt;
  return static_cast<HostPlacement>(found - placement_words.begin());
}

const std::vector<std::string>& host_placement_names() {
  static const std::vector<std::string> names(placement_words.begin(), placement_words.end());
  return names;
}

}  // namespace schedlab
