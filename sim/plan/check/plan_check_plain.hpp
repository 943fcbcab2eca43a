// SPDX-License-Identifier: Apache-2.0
// Internal to the plan checker: plans in which there is nothing to find, told quickly.
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/plan_check.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace schedlab::checker {

/// What passes_fast_check() looks at besides graph and plan: where this is equal, so is its answer.
struct PlainFacts {
  std::uint32_t ranks = 0;
  std::size_t devices = 0;
  std::vector<Bytes> memory_capacity;  ///< of each kind of device; empty: memory is not checked

  friend bool operator==(const PlainFacts&, const PlainFacts&) = default;
};
[[nodiscard]] PlainFacts plain_facts(const Platform& platform, const CheckOptions& options);

/// Is this surely a plan in which check_fully() finds nothing? `false` says nothing: the plan may
/// be wrong, or of a kind that is not looked at here. Looked at are small plans of one host without
/// messages, device graphs, ranks, legacy default streams, programmatic launches and partitions,
/// whose tensors together fit into every device. Of these only right plans are passed, and all
/// right ones are. Most plans of a sweep are of that kind, and right; who finds out so spares all
/// that is needed to say what is wrong.
///
/// Cost  O(calls + edges + tensor uses + (records, waits, synchronizations) * streams), in one
/// pass.
[[nodiscard]] bool passes_fast_check(const TaskGraph& graph,
                                     const PlainFacts& facts,
                                     const Plan& plan);

/// What check() does with plans for which passes_fast_check() does not speak.
[[nodiscard]] std::vector<Finding> check_fully(const TaskGraph& graph,
                                               const Platform& platform,
                                               const Plan& plan,
                                               const CheckOptions& options);

}  // namespace schedlab::checker
