// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "workloads/import/imported_trace.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// An operator of an execution trace, frames apart; in the order of ids, which is that of begins.
struct TracedOperator {
  std::string_view name;
  std::int64_t record_function = 0;  ///< rf_id
  std::int64_t thread = 0;
};

/// What a profile of the same run knows of one.
struct ProfiledWork {
  bool matched = false;
  Time when{};         ///< its first launch; where it launched nothing, its begin
  Duration device{0};  ///< of all activities that it launched itself
  std::uint32_t activities = 0;
};
/// By operator.
using WorkOfOperators =
    std::function<std::vector<ProfiledWork>(const std::vector<TracedOperator>&)>;

/// Which row of the profile is which operator.
struct MatchedOperators {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> rows;  ///< by operator, in ImportedTrace::operators; none
  bool by_id = false;
  std::uint64_t other_names = 0;  ///< numbers that both have, for operators of different names
};
[[nodiscard]] MatchedOperators match_operators(const std::vector<TracedOperator>& operators,
                                               const ImportedTrace& profile);

}  // namespace schedlab::detail
