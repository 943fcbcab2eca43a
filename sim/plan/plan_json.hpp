// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/plan/plan.hpp"

#include <string>
#include <string_view>

namespace schedlab {

/// The plan as a JSON document, one host call a line; docs/plan_format.md describes it. Tasks are
/// written by name where the name is unique in `graph`, else by number. plan_from_json() gives an
/// equal plan back. Cost O(calls + tasks log tasks); about 1 us a call.
[[nodiscard]] std::string plan_to_json(const Plan& plan, const TaskGraph& graph);

/// Reads what plan_to_json() writes. Names of tasks are looked up in `graph`. Every stream, event,
/// message and task that a call names exists in the result; whether the plan is any good is for
/// check() to say.
///
/// Errors  InputError with `file`, JSON pointer (or line), what was found, what was expected and,
/// for a
///         misspelt word or task, the closest valid one.
/// Cost    O(calls + tasks log tasks); about 1 us and 100 bytes of transient memory a call.
[[nodiscard]] Plan plan_from_json(std::string_view text,
                                  const TaskGraph& graph,
                                  const std::string& file = "plan");

}  // namespace schedlab
