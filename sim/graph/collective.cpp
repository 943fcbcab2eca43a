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

const std::vector<std::string>& collective_op_names() {
  static const std::vector<std::string> names{
      "all_reduce", "all_gather", "reduce_scatter", "broadcast"};
  return names;
}
std::string_view to_string(CollectiveOp op) {
  return collective_op_names()[static_cast<std::size_t>(op)];
}
std::optional<CollectiveOp> collective_op_from(std::string_view word) {
  return from_word<CollectiveOp>(collective_op_names(), word);
}

const std::vector<std::string>& collective_algorithm_names() {
  static const std::vector<std::string> names{"automatic", "ring", "tree", "hierarchical"};
  return names;
}
std::string_view to_string(CollectiveAlgorithm algorithm) {
  return collective_algorithm_names()[static_cast<std::size_t>(algorithm)];
}
std::optional<CollectiveAlgorithm> collective_algorithm_from(std::string_view word) {
  return from_word<CollectiveAlgorithm>(collective_algorithm_names(), word);
}

std::size_t CollectiveTable::memory_bytes() const {
  return specs_.raw().capacity() * sizeof(CollectiveSpec) +
         offset_.capacity() * sizeof(std::uint32_t) + tasks_.capacity() * sizeof(TaskId) +
         of_.raw().capacity() * sizeof(CollectiveId);
}

}  // namespace schedlab
