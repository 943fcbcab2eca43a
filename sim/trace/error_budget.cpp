// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/error_budget.hpp"

#include "sim/base/error.hpp"
#include "sim/trace/critical_path.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace schedlab {

namespace {

/// What else ran on a task's device, for each span of a trace.
struct CoRun {
  std::vector<bool> during;    ///< at any moment of it
  std::vector<bool> at_start;  ///< from before its start to after it
};

[[nodiscard]] CoRun co_runs_of(const Trace& trace) {
  std::vector<std::uint32_t> order(trace.tasks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const TaskSpan& first = trace.tasks[a];
    const TaskSpan& second = trace.tasks[b];
    if (first.device != second.device) return first.device < second.device;
    return first.started != second.started ? first.started < second.started : a < b;
  });
  const std::vector<bool> none(trace.tasks.size(), false);
  CoRun co_run{none, none};
  std::uint32_t longest = 0;  // of those that started before, the one that ends last
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TaskSpan& span = trace.tasks[order[i]];
    if (i == 0 || trace.tasks[longest].device != span.device) {
      longest = order[i];
      continue;
    }
    const TaskSpan& other = trace.tasks[longest];
    if (other.ended > span.started && span.ended > span.started) {
      co_run.during[order[i]] = true;
      co_run.during[longest] = true;
    }
    co_run.at_start[order[i]] = other.started < span.started && other.ended > span.started;
    if (span.ended > other.ended) longest = order[i];
  }
  return co_run;
}

class Budget {
 public:
  explicit Budget(const BudgetInput& input)
      : in_(input),
        simulated_(input.problem.graph.task_count(), none),
        measured_(input.problem.graph.task_count(), none),
        cause_(input.problem.graph.task_count(), PathCause::run_start),
        on_path_(input.problem.graph.task_count(), 0),
        simulated_co_run_(co_runs_of(input.simulated)),
        measured_co_run_(co_runs_of(input.measured)) {
    for (std::uint32_t i = 0; i < in_.simulated.tasks.size(); ++i) {
      const TaskSpan& span = in_.simulated.tasks[i];
      simulated_[span.task] = i;
      last_simulated_ = std::max(last_simulated_, span.ended);
    }
    for (std::uint32_t i = 0; i < in_.measured.tasks.size(); ++i) {
      measured_[in_.measured.tasks[i].task] = i;
    }
    for (const PathStep& step : trace_critical_path(in_.problem, in_.simulated).steps) {
      cause_[step.task] = step.cause;
      on_path_[step.task] = 1;
    }
  }

  [[nodiscard]] ErrorBudget make() {
    Time simulated_end{};
    Time measured_end{};
    for (const PathStep& step : trace_critical_path(in_.problem, in_.measured).steps) {
      const TaskSpan* simulated = simulated_span(step.task);
      SCHEDLAB_EXPECTS(simulated != nullptr, in_.problem.graph.name(step.task));
      const std::uint32_t index = measured_[step.task];
      const TaskSpan& measured = in_.measured.tasks[index];
      add_wait(
          step, *simulated, simulated->started - simulated_end, measured.started - measured_end);
      add_duration(*simulated, measured, measured_co_run_.during[index]);
      simulated_end = simulated->ended;
      measured_end = measured.ended;
    }
    const Time last = std::max(last_simulated_, simulated_end);
    add(ErrorPart::rest, last - simulated_end);
    add(ErrorPart::host, (in_.simulated.ended - last) - (in_.measured.ended - measured_end));
    add(ErrorPart::rest, in_.measured.makespan() - in_.median);
    split_noise();
    budget_.total = in_.simulated.makespan() - in_.median;
    budget_.noise_floor = in_.noise_floor;
    return budget_;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] const TaskSpan* simulated_span(TaskId task) const {
    return simulated_[task] == none ? nullptr : &in_.simulated.tasks[simulated_[task]];
  }

  void add(ErrorPart part, Duration difference) {
    budget_.parts[static_cast<std::size_t>(part)] += difference;
  }

  void add_duration(const TaskSpan& simulated, const TaskSpan& measured, bool co_run) {
    const OperationId operation = in_.problem.graph.operation_id(measured.task);
    const bool collective = in_.problem.graph.collectives().of(measured.task).valid();
    const Duration estimate = in_.problem.costs.duration(measured.task, simulated.device);
    const Duration known = in_.alone.contains(operation) ? in_.alone[operation] : Duration{0};
    // Parts of a collective wait for each other, which is not interference.
    const Duration simulated_alone = collective ? simulated.duration() : estimate;
    // No task is faster co-running than alone: if it seems so, the isolated run was disturbed.
    const Duration alone = known > Duration{0} ? known : estimate;
    const Duration measured_alone =
        collective || !co_run ? measured.duration() : std::min(alone, measured.duration());
    const bool by_memory =
        in_.problem.costs.entry(measured.task, simulated.device).estimate.bound == Bound::memory;
    add(by_memory ? ErrorPart::memory : ErrorPart::kernel_time, simulated_alone - measured_alone);
    add(ErrorPart::contention,
        (simulated.duration() - simulated_alone) - (measured.duration() - measured_alone));
  }

  /// From the end of the path's task before to the start of this one, in both traces.
  void add_wait(const PathStep& step,
                const TaskSpan& simulated,
                Duration simulated_wait,
                Duration measured_wait) {
    // Simulated, the two tasks may have run side by side: of a task that waited for units that is
    // the point; else the order was another one.
    const Duration overlapped = std::min(simulated_wait, Duration{0});
    const bool other_order =
        step.cause == PathCause::dependency || step.cause == PathCause::stream_order;
    add(other_order ? ErrorPart::rest : part_of(step.cause, false), overlapped);
    const Duration waited = simulated_wait - overlapped;
    // A task that could go on, but started while another held units, waited for those.
    const bool beside = measured_co_run_.at_start[measured_[step.task]];
    const ErrorPart part = waited <= measured_wait ? part_of(step.cause, beside)
                                                   : simulated_part(step, simulated, waited);
    add(part, waited - measured_wait);
  }

  [[nodiscard]] static ErrorPart part_of(PathCause cause, bool beside) {
    switch (cause) {
      case PathCause::dependency:
      case PathCause::stream_order:
        return beside ? ErrorPart::contention : ErrorPart::gaps;
      case PathCause::resource:
        return ErrorPart::contention;
      case PathCause::host:
      case PathCause::launch:
      case PathCause::message:
      case PathCause::run_start:
        break;
    }
    return ErrorPart::host;
  }

  /// Why the simulated task waited longer than the measured one.
  [[nodiscard]] ErrorPart simulated_part(const PathStep& step,
                                         const TaskSpan& span,
                                         Duration wait) const {
    const Device& device = in_.problem.platform.device(span.device);
    const bool on_arrival = span.submitted + device.launch_latency >= span.started;
    if (on_arrival && span.submitted > Time{}) return ErrorPart::host;
    if (on_path_[span.task] != 0 && cause_[span.task] == PathCause::resource) {
      return ErrorPart::contention;
    }
    const Duration latency =
        std::max({device.stream_gap, device.event_latency, device.graph_node_gap});
    if (wait <= latency) return ErrorPart::gaps;
    const bool beside = simulated_co_run_.at_start[simulated_[span.task]];
    return beside || step.cause == PathCause::resource ? ErrorPart::contention : ErrorPart::rest;
  }

  void split_noise() {
    Duration& rest = budget_.parts[static_cast<std::size_t>(ErrorPart::rest)];
    const Duration noise = std::clamp(rest, -in_.noise_floor, in_.noise_floor);
    rest -= noise;
    add(ErrorPart::noise, noise);
  }

  const BudgetInput& in_;
  ErrorBudget budget_;
  IdVector<TaskId, std::uint32_t> simulated_;  // index of its span
  IdVector<TaskId, std::uint32_t> measured_;   // likewise
  IdVector<TaskId, PathCause> cause_;          // on the simulated critical path
  IdVector<TaskId, std::uint8_t> on_path_;
  CoRun simulated_co_run_;
  CoRun measured_co_run_;
  Time last_simulated_{};
};

}  // namespace

IdVector<OperationId, Duration> durations_alone(const TaskGraph& graph,
                                                std::span<const Trace> traces) {
  IdVector<OperationId, std::vector<Duration>> found(graph.operations().size());
  for (const Trace& trace : traces) {
    const CoRun co_run = co_runs_of(trace);
    for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
      if (co_run.during[i]) continue;
      found[graph.operation_id(trace.tasks[i].task)].push_back(trace.tasks[i].duration());
    }
  }
  IdVector<OperationId, Duration> alone(graph.operations().size(), Duration{0});
  for (const OperationId operation : found.ids()) {
    auto& durations = found[operation];
    if (durations.empty()) continue;
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    alone[operation] = *middle;
  }
  return alone;
}

void add_drift(Duration longer, ErrorBudget& budget) {
  budget.parts[static_cast<std::size_t>(ErrorPart::drift)] += longer;
  budget.total += longer;
}

ErrorBudget error_budget(const BudgetInput& input) {
  return Budget{input}.make();
}

}  // namespace schedlab
