// SPDX-License-Identifier: Apache-2.0
#include "policies/intra_operator.hpp"

#include "sim/base/error.hpp"
#include "sim/plan/plan_builder.hpp"

#include <fmt/format.h>

namespace schedlab {
namespace {

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

}  // namespace

Plan IntraOperator::plan(const Problem& problem) const {
  expect_all_groups(problem);
  PlanBuilder builder{problem};
  const StreamId stream =
      builder.add_stream({.device = DeviceId{0}, .priority = 0, .name = "all core groups"});
  for (const TaskId task : problem.graph.topological_order()) builder.place(task, stream);
  return std::move(builder).build("intra_operator");
}

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
