// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: collecting findings, and how things are called in messages.
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace schedlab::checker {

inline constexpr std::size_t finding_kind_count = 10;

/// Keeps a bounded number of findings per kind, so that a flood of one kind never hides another.
class FindingList {
 public:
  explicit FindingList(std::size_t limit) : limit_(limit) {}

  /// `describe` is called only if the finding is kept: messages are costly, floods are not.
  template <class Describe>
  void add(FindingKind kind, HostId host, std::size_t call, Describe&& describe) {
    std::size_t& kept = kept_[static_cast<std::size_t>(kind)];
    if (kept >= limit_) return;
    ++kept;
    findings_.push_back({kind, host, static_cast<std::uint32_t>(call), describe()});
  }

  /// In host order, at most the limit; when there are more, the most frequent kinds lose their last
  /// ones.
  [[nodiscard]] std::vector<Finding> take() &&;

 private:
  std::size_t limit_;
  std::array<std::size_t, finding_kind_count> kept_{};
  std::vector<Finding> findings_;
};

/// "host \"rank 0\"", or "host 0" for a host without a name.
[[nodiscard]] std::string host_name(const Plan& plan, HostId host);
/// "call 7", with the host's name when there are several.
[[nodiscard]] std::string call_name(const Plan& plan, HostId host, std::size_t call);
/// Its name, or "output of TASK".
[[nodiscard]] std::string tensor_name(const TaskGraph& graph, TensorId tensor);
/// "18.2 GiB"; below 1 KiB "17 bytes".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace schedlab::checker
