// SPDX-License-Identifier: Apache-2.0
#include "studies/scenario/simulate_verb.hpp"

#include "sim/base/error.hpp"
#include "studies/base/findings_text.hpp"
#include "studies/base/output_folder.hpp"
#include "studies/base/printable.hpp"
#include "studies/scenario/decision.hpp"
#include "studies/scenario/host_range.hpp"
#include "studies/scenario/problem_costs.hpp"
#include "studies/scenario/required_evidence.hpp"
#include "studies/scenario/run_files.hpp"
#include "studies/scenario/simulation.hpp"
#include "studies/spec/auto_split.hpp"
#include "studies/spec/spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace schedlab {
namespace {

std::string of_samples(const Samples& samples) {
  if (samples.count() == 0) return {};
  const SampleSummary makespan = samples.summaries().front();
  return fmt::format(
      "  {} samples: makespan {:.3f} us on average ({:.3f} to {:.3f} with 95 % confidence), "
      "median {:.3f}, 5 % below {:.3f}, 5 % above {:.3f}\n",
      makespan.count,
      makespan.mean,
      makespan.mean_low,
      makespan.mean_high,
      makespan.median,
      makespan.p5,
      makespan.p95);
}

/// Where the makespan went: the tasks of the critical path, and who decides how long it is.
std::string of_path(const Metrics& metrics) {
  const TraceCriticalPath& path = metrics.critical_path;
  const auto percent = [&](Duration part) {
    return metrics.makespan == Duration{0} ? 0.0 : 100 * to_us(part) / to_us(metrics.makespan);
  };
  std::string text = fmt::format("  critical path: {} on it, running {:.1f} % of the makespan",
                                 counted(path.steps.size(), "task"),
                                 percent(path.running));
  if (path.slowed > Duration{0}) {
    text += fmt::format(" ({:.1f} % because others run beside them)", percent(path.slowed));
  }
  return fmt::format("{}\n  {}\n", text, who_decides(path));
}

void print_text(const Terminal& terminal,
                const Simulation& made,
                const RunFiles& files,
                const std::string& folder) {
  const Metrics& metrics = made.metrics;
  terminal.out << fmt::format(
      "{}\n  makespan {:.3f} us, {:.2f} times {} ({}, {:.3f} us)\n  utilization "
      "{:.1f} "
      "%, host busy {:.1f} %, idle before a launch {:.1f} %, overlap {:.1f} %\n  {}, {}, {}, "
      "{}\n{}{}  {}: {}\n",
      made.title,
      to_us(metrics.makespan),
      metrics.gap,
      metrics.bounds.largest_name() == "host_issue" ? "what this plan's host calls take"
                                                    : "the lower bound",
      metrics.bounds.largest_name(),
      to_us(metrics.bounds.largest()),
      100 * metrics.utilization,
      100 * metrics.host_busy_share,
      100 * metrics.host_bound_share,
      100 * metrics.overlap_share,
      counted(metrics.tasks, "task"),
      counted(metrics.streams, "stream"),
      counted(metrics.events, "event"),
      counted(metrics.host_calls, "host call"),
      of_path(metrics),
      of_samples(made.run.samples),
      folder,
      fmt::join(files.files, ", "));
}

void print_json(const Terminal& terminal,
                const Simulation& made,
                const std::optional<HostRange>& host,
                const RunFiles& files,
                const std::string& folder) {
  const Metrics& metrics = made.metrics;
  const FullRun& run = made.run;
  nlohmann::ordered_json summary{{"verb", "simulate"},
                                 {"title", made.title},
                                 {"out", folder},
                                 {"files", files.files},
                                 {"makespan_us", to_us(metrics.makespan)},
                                 {"makespan_ps", metrics.makespan.count()},
                                 {"gap", metrics.gap},
                                 {"utilization", metrics.utilization},
                                 {"findings", run.findings.size()}};
  if (const auto& split = run.scenario.split) {
    nlohmann::ordered_json tried = nlohmann::ordered_json::array();
    for (const AutoSplit::Tried& each : split->tried) {
      tried.push_back({{"split", each.split}});
      if (each.failure.empty()) {
        tried.back()["makespan_us"] = to_us(each.makespan);
      } else {
        tried.back()["failure"] = each.failure;
      }
    }
    summary["split"] = {{"chosen", split->chosen}, {"tried", std::move(tried)}};
  }
  if (host) {
    summary["host"] = {{"name", host->host},
                       {"operator_us", host->operator_us},
                       {"operator_us_min", host->min_us},
                       {"operator_us_max", host->max_us},
                       {"makespan_us_min", to_us(host->shortest)},
                       {"makespan_us_max", to_us(host->longest)}};
  }
  if (run.samples.count() > 0) {
    const SampleSummary makespan = run.samples.summaries().front();
    summary["samples"] = {{"count", makespan.count},
                          {"makespan_us_mean", makespan.mean},
                          {"makespan_us_mean_low", makespan.mean_low},
                          {"makespan_us_mean_high", makespan.mean_high},
                          {"makespan_us_median", makespan.median},
                          {"makespan_us_p5", makespan.p5},
                          {"makespan_us_p95", makespan.p95}};
  }
  terminal.out << summary.dump(2) << '\n';
}

}  // namespace

int run(const SimulateOptions& options, const Terminal& terminal) {
  const Spec spec = load_spec(options.spec, &terminal.err);
  OutputFolder folder(whole_folder(options.out, "simulate", options.overwrite), terminal.leftovers);
  const Simulation made = simulate(spec, terminal.stop);
  const FullRun& run = made.run;
  const AutoSplit* const split = run.scenario.split.get();
  const RunOrigin origin{.verb = "simulate",
                         .spec = split_given_text(spec, split),
                         .spec_file = spec.file,
                         .spec_folder = spec.folder};
  const RunFiles files =
      write_run_files(folder.path(),
                      folder.target(),
                      {run.problem(), run.plan, &run.samples, origin, !options.no_trace},
                      made.document,
                      made.metrics);
  folder.publish();

  for (const std::string& notice : files.notices) terminal.err << "note: " << notice << '\n';
  const std::string note = note_on(*run.scenario.problem, run.scenario.launch.mode);
  if (!note.empty()) terminal.err << "note: " << note << '\n';
  if (!run.findings.empty()) terminal.err << findings_text(run.findings, "finding: ") << '\n';
  const std::optional<HostRange> host = host_range(run);
  if (options.json) {
    print_json(terminal, made, host, files, options.out);
  } else {
    print_text(terminal, made, files, options.out);
    if (host) terminal.out << "  " << to_text(*host) << '\n';
    terminal.out << split_text(split);
  }
  const std::string lacking = lacking_evidence(options.require, run.problem());
  if (!lacking.empty()) {
    terminal.err << fmt::format("error: --require {}: {}\n", options.require, lacking);
  }
  const bool good = run.findings.empty() || options.allow_findings;
  return good && lacking.empty() ? exit_done : exit_failed;
}

}  // namespace schedlab
