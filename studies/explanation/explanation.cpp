// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/explanation.hpp"

#include "notebooks_export/bound_chart.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {

namespace {

/// A trace alone does not say what a simulation rested on.
CostEvidence evidence_of(const Explanation& made) {
  const std::string& origin = made.run.origin;
  if (origin == "imported" || origin.starts_with("measured")) return CostEvidence::measured;
  return origin == "replayed" ? CostEvidence::replayed : made.metrics.cost_evidence;
}

}  // namespace

Explanation explain(ExplainedRun run, std::size_t bins) {
  Explanation made{std::move(run), {}, {}, {}, {}};
  const Problem problem = made.run.problem();
  made.metrics = compute_metrics(problem, made.run.plan, made.run.trace);
  made.metrics.cost_evidence = evidence_of(made);
  if (made.run.sleeps_are_work) {  // a profile: its machine has the gaps it shows, and no units
    made.metrics.critical_path =
        trace_critical_path(problem, made.run.trace, {.plan = &made.run.plan, .limits = true});
  }
  made.attribution =
      attribute(problem, made.run.plan, made.run.trace, made.metrics.critical_path, bins);
  return made;
}

Table gaps_table(const Explanation& explanation) {
  Table table;
  for (const char* name :
       {"stream", "before_task", "begin_us", "begin_ps", "gap_us", "gap_ps", "reliable"}) {
    table.columns.push_back({name});
  }
  for (std::size_t i = 0; i < wait_cause_count; ++i) {
    table.columns.push_back({fmt::format("{}_ps", to_string(static_cast<WaitCause>(i)))});
  }
  const ExplainedRun& run = explanation.run;
  for (const StreamGap& gap : explanation.attribution.gaps) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row.emplace_back(run.plan.stream_name(gap.stream));
    row.emplace_back(gap.task.valid() ? Cell{run.graph.name(gap.task)} : Cell{});
    row.emplace_back(to_us(gap.begin));
    row.emplace_back(std::int64_t{gap.begin.time_since_epoch().count()});
    row.emplace_back(to_us(gap.duration()));
    row.emplace_back(std::int64_t{gap.duration().count()});
    row.emplace_back(
        std::int64_t{run.loss.reliable(gap.begin, gap.begin + gap.duration()) ? 1 : 0});
    for (const Duration part : gap.by_cause) row.emplace_back(std::int64_t{part.count()});
  }
  return table;
}

std::string explanation_picture(const Explanation& explanation) {
  const ExplainedRun& run = explanation.run;
  BoundChartNames names{.title = run.title + run.loss.mark(), .hosts = {}, .devices = {}};
  for (const HostId host : run.plan.hosts.ids()) {
    const std::string& name = run.plan.hosts[host].name;
    names.hosts.push_back(name.empty() ? fmt::format("host {}", host.value()) : name);
  }
  for (const DeviceId device : run.platform.device_ids()) {
    const std::string name = run.platform.device_name(device);
    names.devices.push_back(name.empty() ? fmt::format("device {}", device.value()) : name);
  }
  return bound_chart_svg(explanation.attribution, run.trace, names);
}

}  // namespace schedlab
