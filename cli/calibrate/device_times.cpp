// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate/device_times.hpp"

#include "cli/calibrate/kernel_cases.hpp"
#include "cli/calibrate/kernel_times.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t copied_bytes = std::int64_t{32} << 20U;  // per worker, beyond caches
constexpr Duration spin_time = std::chrono::microseconds{5};
constexpr double busy_share = 0.8;
constexpr double shortest_compared = 2e-6;  // seconds; in shorter ones the clock's part is large

/// Seconds, of one kind of event.
using Times = std::vector<double>;

double median_us(const Times& times) {
  return times.empty() ? 0.0 : std::max(0.0, median(without_outliers(times))) * 1e6;
}

TaskGraph spinning(std::size_t tasks, bool chained) {
  TaskGraphBuilder builder;
  const OperationId spin = builder.add_operation(
      {.name = "spin", .kind = TaskKind::fixed, .kernels = {}, .fixed_duration = spin_time});
  for (std::size_t i = 0; i < tasks; ++i) {
    const TaskId task = builder.add_task(spin);
    if (chained && i > 0) builder.add_edge(TaskId{task.value() - 1}, task);
  }
  return std::move(builder).build();
}

Plan on_two_streams(std::vector<HostCall> calls, std::uint32_t events) {
  Plan plan;
  plan.policy = "calibration";
  plan.streams.push_back({});
  plan.streams.push_back({});
  plan.event_count = events;
  plan.hosts[HostId{0}].calls = std::move(calls);
  return plan;
}

constexpr StreamId first{0};
constexpr StreamId second{1};

BenchCase many_calls(std::uint32_t rounds) {
  std::vector<HostCall> calls;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    calls.push_back(HostCall::launch(first, TaskId{2 * i}));
    calls.push_back(HostCall::record(first, EventId{i}));
    calls.push_back(HostCall::wait(second, EventId{i}));
    calls.push_back(HostCall::launch(second, TaskId{2 * i + 1}));
    calls.push_back(HostCall::query(second));
  }
  calls.push_back(HostCall::synchronize_all());
  return {.name = "host calls",
          .graph = spinning(std::size_t{2} * rounds, false),
          .plan = on_two_streams(std::move(calls), rounds),
          .recurrent = {},
          .preloaded = false};
}

BenchCase one_by_one(std::uint32_t rounds) {
  std::vector<HostCall> calls;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    calls.push_back(HostCall::launch(first, TaskId{i}));
    calls.push_back(HostCall::synchronize_all());
    calls.push_back(HostCall::synchronize_all());  // nothing to wait for
  }
  return {.name = "launch and wake-up",
          .graph = spinning(rounds, false),
          .plan = on_two_streams(std::move(calls), 0),
          .recurrent = {},
          .preloaded = false};
}

MeasuredNumber us(const char* pointer, const Times& times, const char* how) {
  return {pointer, median_us(times), fmt::format("{} (median of {})", how, times.size())};
}

std::map<TaskId, KernelSpan> by_task(const Execution& execution) {
  std::map<TaskId, KernelSpan> spans;
  for (const KernelSpan& span : kernel_spans(execution)) {
    if (span.kernel == 0) spans.emplace(span.task, span);
  }
  return spans;
}

/// Share of a span's time in which other tasks ran blocks, counted once per worker that did.
double others_busy(const KernelSpan& span, const std::vector<KernelSpan>& all) {
  Duration shared{0};
  for (const KernelSpan& other : all) {
    if (other.task == span.task) continue;
    const Duration both = std::min(span.ended, other.ended) - std::max(span.started, other.started);
    shared += std::max(both, Duration{0});
  }
  return to_seconds(shared) / to_seconds(std::max(span.ended - span.started, Duration{1}));
}

}  // namespace

void repeat(CalibrationBench& bench,
            const BenchCase& what,
            const Effort& effort,
            const std::function<void(const Execution&)>& use) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::size_t runs = 0;
  bench.run(what, [&](const Execution& execution) {
    if (runs > 0) use(execution);
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    const bool enough = runs >= effort.fewest && spent >= effort.seconds;
    return ++runs <= effort.most && !enough;
  });
}

std::vector<MeasuredNumber> measure_host(CalibrationBench& bench, const Effort& effort) {
  std::map<HostCallKind, Times> pitch;
  repeat(bench, many_calls(200), effort, [&](const Execution& execution) {
    const auto& calls = execution.trace.hosts;
    for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
      pitch[calls[i].what.kind()].push_back(to_seconds(calls[i + 1].started - calls[i].started));
    }
  });
  Times latency;
  Times wake_up;
  Times synchronize;
  repeat(bench, one_by_one(200), effort, [&](const Execution& execution) {
    const auto& calls = execution.trace.hosts;
    const auto& tasks = execution.trace.tasks;
    for (std::size_t i = 0; i < tasks.size() && 3 * i + 3 < calls.size(); ++i) {
      latency.push_back(to_seconds(tasks[i].started - calls[3 * i].ended));
      wake_up.push_back(to_seconds(calls[3 * i + 2].started - tasks[i].ended));
      synchronize.push_back(to_seconds(calls[3 * i + 3].started - calls[3 * i + 2].started));
    }
  });
  return {us("/host/launch_us", pitch[HostCallKind::launch], "time from one call to the next"),
          us("/host/record_us", pitch[HostCallKind::record], "time from one call to the next"),
          us("/host/wait_us", pitch[HostCallKind::wait], "time from one call to the next"),
          us("/host/query_us", pitch[HostCallKind::query], "time from one call to the next"),
          us("/host/synchronize_us", synchronize, "synchronize with nothing to wait for"),
          us("/host/wake_up_us",
             wake_up,
             "from the end of the task that the host waits for to its next call"),
          us("/device/launch_latency_us",
             latency,
             "from the end of a launch call to the start of the task on an idle device")};
}

MeasuredNumber measure_event_latency(CalibrationBench& bench, const Effort& effort) {
  constexpr std::uint32_t tasks = 200;
  std::vector<HostCall> calls;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const StreamId stream = i % 2 == 0 ? first : second;
    if (i > 0) calls.push_back(HostCall::wait(stream, EventId{i - 1}));
    calls.push_back(HostCall::launch(stream, TaskId{i}));
    calls.push_back(HostCall::record(stream, EventId{i}));
  }
  const BenchCase ping_pong{.name = "events",
                            .graph = spinning(tasks, true),
                            .plan = on_two_streams(std::move(calls), tasks),
                            .recurrent = {},
                            .preloaded = true};
  Times latency;
  repeat(bench, ping_pong, effort, [&](const Execution& execution) {
    const auto& spans = execution.trace.tasks;
    for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
      latency.push_back(to_seconds(spans[i + 1].started - spans[i].ended));
    }
  });
  return us("/device/event_latency_us",
            latency,
            "from the end of a task to the start of one in another stream that waits for it");
}

std::vector<MeasuredNumber> measure_bandwidth(CalibrationBench& bench, const Effort& effort) {
  constexpr std::uint32_t tasks = 4;
  const auto gb_per_s = [&](std::uint32_t workers) {
    TaskGraphBuilder builder;
    const Bytes bytes{copied_bytes * workers};
    Kernel kernel{
        .kind = TaskKind::copy_device_to_device, .bytes_read = bytes, .bytes_written = bytes};
    kernel.grid.blocks = workers;
    const OperationId copy = builder.add_operation(
        {.name = "copy", .kind = TaskKind::copy_device_to_device, .kernels = {kernel}});
    std::vector<HostCall> calls;
    for (std::uint32_t i = 0; i < tasks; ++i) {
      calls.push_back(HostCall::launch(first, builder.add_task(copy)));
    }
    const BenchCase what{.name = fmt::format("bandwidth of {} workers", workers),
                         .graph = std::move(builder).build(),
                         .plan = on_two_streams(std::move(calls), 0),
                         .recurrent = {},
                         .preloaded = true};
    Times seconds;
    repeat(bench, what, effort, [&](const Execution& execution) {
      for (const TaskSpan& span : execution.trace.tasks) {
        seconds.push_back(to_seconds(span.duration()));
      }
    });
    return 2 * static_cast<double>(bytes.count()) / median(without_outliers(seconds)) / 1e9;
  };
  const std::uint32_t all = bench.workers();
  const double one = gb_per_s(1);
  double most = one;
  for (std::uint32_t workers = all; workers > 1; workers /= 2) {
    most = std::max(most, gb_per_s(workers));
  }
  return {
      {"/device/memory_bandwidth_gb_per_s",
       most,
       fmt::format("copies of 32 MiB by each of up to {} workers, bytes read and written", all)},
      {"/device/unit_bandwidth_gb_per_s", one, "the same by one worker"}};
}

std::vector<CoRunSlowDown> measure_co_run(CalibrationBench& bench,
                                          const Effort& effort,
                                          bool quick) {
  if (bench.workers() < 2) return {};
  std::map<TaskKind, Times> factors;
  const std::vector<ShapePoint>& shapes = calibrated_shapes();
  for (std::size_t i = 0; i < (quick ? 2U : 5U); ++i) {
    const KernelCase what{.spec = {.layers = std::max<std::int64_t>(4, bench.workers()),
                                   .steps = 6,
                                   .batch = shapes[i].batch,
                                   .hidden = shapes[i].hidden,
                                   .pass = RecurrentPass::training},
                          .blocks = 1};
    const BenchCase alone = bench_case(what, "single_stream");
    std::map<TaskId, Times> single;
    repeat(bench, alone, effort, [&](const Execution& execution) {
      for (const auto& [task, span] : by_task(execution)) {
        single[task].push_back(to_seconds(span.ended - span.started));
      }
    });
    repeat(bench, bench_case(what, "diagonal"), effort, [&](const Execution& execution) {
      const std::vector<KernelSpan> all = kernel_spans(execution);
      for (const KernelSpan& span : all) {
        if (span.kernel != 0 || single[span.task].empty()) continue;
        if (median(single[span.task]) < shortest_compared) continue;
        if (others_busy(span, all) < busy_share * (bench.workers() - 1)) continue;
        factors[alone.graph.operation(span.task).kind].push_back(
            to_seconds(span.ended - span.started) / median(single[span.task]));
      }
    });
  }
  std::vector<CoRunSlowDown> result;
  for (const auto& [kind, ratios] : factors) {
    constexpr std::size_t enough = 20;
    if (ratios.size() < enough) continue;
    result.push_back({kind, std::clamp(median(without_outliers(ratios)), 1.0, 100.0)});
  }
  return result;
}

}  // namespace schedlab
