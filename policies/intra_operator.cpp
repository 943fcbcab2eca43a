// SPDX-License-Identifier: Apache-2.0
#include "policies/policy_info.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/plan_builder.hpp"

#include <fmt/format.h>

namespace schedlab {
namespace {

/// Parallelism inside operators only: one operator at a time, on all core groups together, in
/// topological order. How far an operator spreads is the machine's (`units_per_kernel`), so that
/// the machine must let it: what it takes there is in the costs that policies see.
/// Errors: InfeasibleError if the costs of an operator leave units of its class idle by rule; names
/// the operator and the key to set. Cost: O(tasks + edges). Ties: lower task id first.
class IntraOperator final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "intra_operator"; }
  [[nodiscard]] Plan plan(const Problem& problem) const override;
};

/// The machine must not keep an operator from all units of its class.
void expect_all_groups(const Problem& problem) {
  const Device& device = problem.platform.device(DeviceId{0});
  const std::uint32_t most = device.rates.units_per_kernel;
  if (most == 0) return;
  for (const TaskId task : problem.graph.tasks()) {
    const UnitClassId id = problem.costs.entry(task).unit_class;
    if (!id.valid() || device.unit_classes[id].count <= most) continue;
    const UnitClass& units = device.unit_classes[id];
    throw InfeasibleError(fmt::format(
        "policy intra_operator: on device \"{}\" an operator (\"{}\") runs on {} of {} units "
        "\"{}\"\n  let it run on all: \"machine\": {{\"base\": ..., \"units_per_kernel\": {}}}",
        device.name,
        problem.graph.name(task),
        most,
        units.count,
        units.name,
        units.count));
  }
}

Plan IntraOperator::plan(const Problem& problem) const {
  expect_all_groups(problem);
  PlanBuilder builder{problem};
  const StreamId stream =
      builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = "all core groups"});
  for (const TaskId task : problem.graph.topological_order()) builder.place(task, stream);
  return std::move(builder).build("intra_operator");
}

}  // namespace

PolicyInfo intra_operator_info() {
  return {.name = "intra_operator",
          .summary =
              "One operator at a time on all core groups together; the machine must let an "
              "operator spread over all of them (units_per_kernel).",
          .source = "this project: the alternative to operators side by side",
          .options = {},
          .make = [](const Options&) { return std::make_unique<IntraOperator>(); }};
}

}  // namespace schedlab
