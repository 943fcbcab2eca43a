// SPDX-License-Identifier: Apache-2.0
#include "studies/explanation/what_if.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/launch/programmatic.hpp"
#include "sim/machine/variability.hpp"
#include "sim/plan/graph_capture.hpp"
#include "sim/plan/partitions.hpp"
#include "sim/plan/plan_check.hpp"
#include "sim/plan/stream_merge.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/lower_bounds.hpp"
#include "studies/explanation/fused_operators.hpp"
#include "studies/scenario/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace schedlab {
namespace {

constexpr double max_scaling = 1e6;  // of durations, when looking for the break-even
constexpr int scaling_steps = 60;    // halvings; the interval ends below a picosecond
/// Assumed: what the checker may look at, calls times streams, and bytes of clocks: streams
/// squared.
constexpr std::size_t max_checked_calls = 1'000'000'000;
constexpr std::size_t max_checked_streams = 4000;

class WhatIfStudy {
 public:
  WhatIfStudy(const ExplainedRun& run,
              const StopFlag* stop,
              const std::function<void(std::uint32_t)>& changed)
      : run_(run), stop_(stop), changed_(changed) {}

  [[nodiscard]] WhatIfTable table() {
    table_.trace = run_.trace.makespan();
    table_.note = run_.no_replay;
    if (!table_.note.empty()) return std::move(table_);
    table_.warning = objection(run_.graph, run_.platform, run_.plan);
    table_.replay = on_platform(run_.platform, run_.plan);
    if (run_.measured) compare_paths();
    change_host();
    change_launch();
    fuse();
    merge();
    find_break_even();
    return std::move(table_);
  }

 private:
  [[nodiscard]] Duration makespan(const Problem& problem, const Plan& plan) {
    simulator_.run_into(problem, plan, {.stop = stop_}, trace_);
    return trace_.makespan();
  }
  /// Do tasks of several kernels share their device in this plan?
  [[nodiscard]] bool by_kernel(const Plan& plan) const {
    return run_.steps != nullptr && run_.steps->needed(plan);
  }
  [[nodiscard]] Duration on_platform(const Platform& platform, const Plan& plan) {
    if (!by_kernel(plan)) return makespan({run_.graph, platform, run_.costs}, plan);
    const KernelSteps& steps = *run_.steps;
    const Problem problem{steps.graph(), platform, steps.costs(plan)};
    run_by_kernel(simulator_, &steps, problem, plan, {.stop = stop_}, trace_);
    return trace_.makespan();
  }

  void compare_paths() {
    constexpr double different = 0.05;
    const PathFacts facts{.plan = &run_.plan, .limits = run_.sleeps_are_work};
    const TraceCriticalPath own = trace_critical_path(run_.problem(), run_.trace, facts);
    simulator_.run_into(run_.problem(),
                        run_.plan,
                        {.record_hosts = true, .record_flows = true, .stop = stop_},
                        trace_);
    const TraceCriticalPath again = trace_critical_path(run_.problem(), trace_, facts);
    for (std::size_t i = 0; i < path_bound_count; ++i) {
      const auto bound = static_cast<PathBound>(i);
      if (std::abs(own.share(bound) - again.share(bound)) <= different) continue;
      table_.replay_decision = who_decides(again);
    }
  }

  /// What the checker says of a plan first; empty: nothing.
  [[nodiscard]] std::string objection(const TaskGraph& graph,
                                      const Platform& platform,
                                      const Plan& plan) {
    const std::size_t streams = plan.streams.size();
    unchecked_ = streams > max_checked_streams ||
                 streams * (plan.call_count() + graph.edge_count()) > max_checked_calls;
    if (unchecked_) return {};
    const auto found = check(graph, platform, plan, {.max_findings = 1, .check_memory = false});
    return found.empty() ? std::string{} : found.front().message;
  }
  /// Of another plan: refused if the checker has an objection that it does not have to the run's.
  void expect_ordered(const TaskGraph& graph, const Platform& platform, const Plan& plan) {
    if (!table_.warning.empty()) return;
    const std::string found = objection(graph, platform, plan);
    if (!found.empty()) throw InfeasibleError("refused, the plan loses an order: " + found);
  }
  [[nodiscard]] Duration checked(const Problem& problem, const Plan& plan) {
    expect_ordered(problem.graph, problem.platform, plan);
    return makespan(problem, plan);
  }
  [[nodiscard]] Duration checked(const Platform& platform, const Plan& plan) {
    expect_ordered(run_.graph, platform, plan);
    return on_platform(platform, plan);
  }

  /// A change that cannot be simulated says why.
  void add(std::string name, std::string description, const std::function<Duration()>& simulate) {
    WhatIf change{std::move(name), std::move(description), {}, {}};
    unchecked_ = false;
    try {
      change.makespan = simulate();
      if (unchecked_) change.note = "too many streams to check its order";
    } catch (const Interrupted&) {
      throw;
    } catch (const std::runtime_error& error) {  // InfeasibleError, InputError
      const std::string message = error.what();
      change.note = message.substr(0, message.find('\n'));
    }
    table_.changes.push_back(std::move(change));
    if (changed_) changed_(static_cast<std::uint32_t>(table_.changes.size()));
  }
  void remark(const std::string& text) {
    std::string& note = table_.changes.back().note;
    note += (note.empty() ? "" : "; ") + text;
  }

  /// The plan of a host that does its own work in so much of the time.
  [[nodiscard]] Plan with_work(double factor) const {
    Plan plan = run_.plan;
    if (!run_.sleeps_are_work) return plan;
    for (HostProgram& host : plan.hosts) {
      for (HostCall& call : host.calls) {
        if (call.kind() != HostCallKind::sleep) continue;
        call = HostCall::sleep_ns(static_cast<std::uint32_t>(
            std::llround(static_cast<double>(call.argument()) * factor)));
      }
    }
    return plan;
  }

  [[nodiscard]] Platform with_hosts(const std::function<void(Host&)>& change) const {
    Platform platform = run_.platform;
    for (Host& host : platform.hosts) change(host);
    return platform;
  }

  void expect_eager() const {
    if (run_.plan.graphs.empty()) return;
    throw InfeasibleError("the run launches device graphs already");
  }

  void expect_front_end() const {
    if (run_.front_end_known) return;
    throw InfeasibleError("a trace does not tell the framework's part of a launch");
  }

  void change_host() {
    add("host_twice_as_fast", "every host call costs half", [&] {
      const auto halve = [](Host& host) { host.costs = scaled(host.costs, 0.5); };
      return on_platform(with_hosts(halve), with_work(0.5));
    });
    add("ideal_host", "host calls cost nothing", [&] {
      return on_platform(with_hosts([](Host& host) { host.costs = {}; }), with_work(0.0));
    });
  }

  void change_launch() {
    add("eager_two_thread", "the framework prepares launches on a thread of its own", [&] {
      expect_eager();
      expect_front_end();
      Platform platform = run_.platform;
      apply_launch_mode({.mode = LaunchMode::eager_two_thread}, platform);
      return on_platform(platform, run_.plan);
    });
    add("graph_mode",
        "shapes and tilings known in advance, allocation and launch per operator",
        [&] {
          expect_eager();
          expect_front_end();
          Platform platform = run_.platform;
          apply_launch_mode({.mode = LaunchMode::graph_mode}, platform);
          return on_platform(platform, run_.plan);
        });
    add("graph_launch", "one call for all tasks between two synchronizations", [&] {
      if (run_.at_once) return checked(run_.platform, *run_.at_once);
      expect_eager();
      Platform platform = run_.platform;
      apply_launch_mode({.mode = LaunchMode::graph_launch}, platform);
      return checked(platform, capture_graphs(run_.plan));
    });
    if (run_.measured && table_.changes.back().makespan) {
      remark(run_.at_once ? run_.at_once_note
                          : "a trace does not tell what launching a graph costs: free here");
    }
    add("sink", "the whole model on the device's streams, run by one task", [&] { return sink(); });
    add("programmatic", "every kernel starts while the one before it in its stream drains", [&] {
      if (!run_.platform.devices[DeviceId{0}].programmatic_gap) {
        throw InfeasibleError("the machine has no programmatic launches");
      }
      Plan plan = run_.plan;
      launch_programmatically(plan, run_.graph, ProgrammaticLaunches::all_kernels);
      return checked(run_.platform, plan);
    });
    if (run_.plan.partitions.empty()) return;
    add("undivided_units", "all units for all streams, without partitions", [&] {
      return checked(run_.platform, undivided(run_.plan));
    });
  }

  [[nodiscard]] Duration sink() {
    expect_eager();
    const auto known = [](const Host& host) { return host.sink != SinkCosts{}; };
    if (!std::all_of(run_.platform.hosts.begin(), run_.platform.hosts.end(), known)) {
      throw InfeasibleError("the machine has no costs of sunk models");
    }
    Platform platform = run_.platform;
    const LaunchChoice choice{.mode = LaunchMode::sink};
    apply_launch_mode(choice, platform);
    apply_sink(choice.sink, run_.graph, platform);
    return checked(platform, launched_plan(run_.plan, choice, run_.graph.task_count()));
  }

  void fuse() {
    for (const std::uint32_t count : {2U, 4U, 8U}) {
      Bytes saved{0};
      add(fmt::format("fused_{}", count),
          fmt::format("up to {} consecutive operators of a stream launched as one", count),
          [&] {
            if (by_kernel(run_.plan)) {
              throw InfeasibleError("the run's tasks have several kernels each: cut them first");
            }
            const FusedRun fused =
                fuse_operators(run_.problem(), run_.plan, count, run_.sleeps_are_work);
            saved = fused.saved_traffic;
            return checked({fused.graph, run_.platform, fused.costs}, fused.plan);
          });
      if (table_.changes.back().makespan && saved > Bytes{0}) {
        remark(fmt::format("{:.3g} MB of memory traffic less",
                           static_cast<double>(saved.count()) / 1e6));
      }
    }
  }

  void merge() {
    const std::uint32_t streams = streams_in_use(run_.plan);
    const auto on = [&](const char* name, std::uint32_t count) {
      const std::string what =
          run_.plan.graphs.empty()
              ? fmt::format("the same calls on {} of {} streams", count, streams)
              : "the same calls on one stream";
      add(name, what, [&] {
        expect_eager();
        if (streams <= count) throw InfeasibleError("the run uses one stream");
        return checked(run_.platform, merge_streams(run_.plan, count));
      });
    };
    if (streams > 2 && run_.plan.graphs.empty()) on("streams_half", streams / 2);
    on("streams_1", 1);
  }

  [[nodiscard]] Duration with_free_host(const Platform& free, double factor) {
    IdVector<TaskId, Duration> durations = run_.costs.durations();
    for (Duration& duration : durations) {
      duration = Duration{std::llround(static_cast<double>(duration.count()) * factor)};
    }
    CostTable costs = run_.costs;
    costs.set_task_durations(std::move(durations));
    return makespan({run_.graph, free, costs}, run_.plan);
  }

  void find_break_even() {
    if (run_.platform.device_count() != 1 || run_.plan.hosts.size() != 1) return;
    if (by_kernel(run_.plan)) return;  // it scales whole tasks
    const auto tasks = static_cast<std::int64_t>(run_.trace.tasks.size());
    const Duration host = host_issue_time(run_.problem(), run_.plan, HostId{0});
    Duration work{0};
    for (const Duration duration : run_.costs.durations()) work += duration;
    if (tasks == 0 || work == Duration{0} || host == Duration{0}) return;

    const Platform free = with_hosts([](Host& one) { one.costs = {}; });
    if (with_free_host(free, 0.0) >= host) return;  // sleeps or latencies alone take longer
    BreakEven found;
    found.mean_operator = work / tasks;
    // Operators, with the gap after each, that run at once on average when the host is free.
    const Duration gap = run_.platform.devices[DeviceId{0}].stream_gap;
    const double at_once = to_us(work + gap * tasks) / to_us(with_free_host(free, 1.0));
    found.closed_form =
        std::max(Duration{0}, from_us(to_us(host) / static_cast<double>(tasks) * at_once) - gap);
    // The device's time grows with the factor, so that halving the interval finds where they meet.
    double low = 0;
    double high = 1;
    while (high < max_scaling && with_free_host(free, high) < host) high *= 2;
    for (int i = 0; i < scaling_steps; ++i) {
      const double middle = (low + high) / 2;
      (with_free_host(free, middle) < host ? low : high) = middle;
      if ((high - low) * static_cast<double>(found.mean_operator.count()) < 1) break;
    }
    found.simulated =
        Duration{std::llround(static_cast<double>(found.mean_operator.count()) * high)};
    table_.break_even = found;
  }

  const ExplainedRun& run_;
  const StopFlag* stop_;
  const std::function<void(std::uint32_t)>& changed_;
  bool unchecked_ = false;  // the last plan that was to be checked
  Simulator simulator_;
  Trace trace_;
  WhatIfTable table_;
};

}  // namespace

double WhatIfTable::replay_error() const {
  return trace == Duration{0} ? 0.0 : to_us(replay) / to_us(trace) - 1.0;
}

std::string WhatIf::text() const {
  if (note.empty()) return description;
  return makespan ? fmt::format("{} ({})", description, note) : note;
}

WhatIfTable what_if(const ExplainedRun& run,
                    const StopFlag* stop,
                    const std::function<void(std::uint32_t)>& changed) {
  return WhatIfStudy{run, stop, changed}.table();
}

}  // namespace schedlab
