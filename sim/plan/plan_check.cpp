// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/plan_check.hpp"

#include "sim/plan/check/plan_check_collectives.hpp"
#include "sim/plan/check/plan_check_index.hpp"
#include "sim/plan/check/plan_check_memory.hpp"
#include "sim/plan/check/plan_check_plain.hpp"
#include "sim/plan/check/plan_check_report.hpp"
#include "sim/plan/check/plan_check_walk.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t missing_tasks_named = 5;

void report_missing_tasks(const checker::PlanIndex& index, checker::FindingList& findings) {
  std::size_t missing = 0;
  for (const TaskId task : index.graph().tasks()) {
    if (index.launch_of(task) != checker::never) continue;
    ++missing;
    if (missing > missing_tasks_named) continue;
    findings.add(FindingKind::task_not_launched, HostId::none(), 0, [&] {
      return fmt::format("{} (task {}) is never launched", index.graph().name(task), task.value());
    });
  }
  if (missing <= missing_tasks_named) return;
  findings.add(FindingKind::task_not_launched, HostId::none(), 0, [&] {
    return fmt::format("{} more tasks are never launched, {} of {} in all",
                       missing - missing_tasks_named,
                       missing,
                       index.graph().task_count());
  });
}

}  // namespace

std::vector<Finding> check(const TaskGraph& graph,
                           const Platform& platform,
                           const Plan& plan,
                           const CheckOptions& options) {
  if (checker::passes_fast_check(graph, checker::plain_facts(platform, options), plan)) return {};
  return checker::check_fully(graph, platform, plan, options);
}

std::vector<Finding> checker::check_fully(const TaskGraph& graph,
                                          const Platform& platform,
                                          const Plan& plan,
                                          const CheckOptions& options) {
  checker::FindingList malformed(options.max_findings);
  const checker::PlanIndex index(graph, platform, plan, malformed);
  report_missing_tasks(index, malformed);
  checker::check_collectives(index, malformed);
  const auto walk_and_report = [&](bool exact, checker::FindingList& findings) {
    checker::Walk walk(index, findings, exact);
    walk.run();
    if (walk.inconclusive()) return false;
    if (options.check_memory) checker::check_memory(index, walk.launch_order(), findings);
    return true;
  };
  checker::FindingList findings = malformed;
  if (walk_and_report(false, findings)) return std::move(findings).take();
  findings = malformed;
  walk_and_report(true, findings);
  return std::move(findings).take();
}

}  // namespace schedlab
