// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"
#include "workloads/traces/imported_trace.hpp"

#include <cstddef>
#include <cstdint>
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
  std::size_t place = 0;  ///< of the operator
  bool matched = false;
  Time when{};         ///< its first launch; where it launched nothing, its begin
  Duration device{0};  ///< of all activities that it launched itself
  std::uint32_t activities = 0;
};
/// A profile of the same run, as the reader of an execution trace sees it.
class OperatorProfile {
 public:
  OperatorProfile() = default;
  OperatorProfile(const OperatorProfile&) = delete;
  OperatorProfile& operator=(const OperatorProfile&) = delete;
  virtual ~OperatorProfile() = default;

  /// By operator. Asked once.
  [[nodiscard]] virtual std::vector<ProfiledWork> work_of(
      const std::vector<TracedOperator>& operators) = 0;
  /// An operator became a task.
  virtual void made(std::size_t place, TaskId task) = 0;
};

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
