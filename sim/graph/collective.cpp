// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/collective.hpp"

#include <algorithm>

namespace schedlab {
namespace {

template <class Enum>
std::optional<Enum> from_word(const std::vector<std::string>& names, std::string_view word) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::size_t CollectiveTable::memory_bytes() const {
  return specs_.raw().capacity() * sizeof(CollectiveSpec) +
         offset_.capacity() * sizeof(std::uint32_t) + tasks_.capacity() * sizeof(TaskId) +
         of_.raw().capacity() * sizeof(CollectiveId);
}

}  // namespace schedlab
