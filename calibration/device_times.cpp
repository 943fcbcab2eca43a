// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_times.hpp"

#include "calibration/kernel_cases.hpp"
#include "calibration/kernel_times.hpp"
#include "hw_models/measured.hpp"
#include "policies/registry.hpp"
#include "sim/base/error.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t copied_bytes = std::int64_t{32} << 20U;  // per worker, beyond caches
constexpr Duration spin_time = std::chrono::microseconds{5};
constexpr double busy_share = 0.8;          // assumed
constexpr double shortest_compared = 2e-6;  // seconds; in shorter ones the clock's part is large

/// Seconds, of one kind of event.
using Times = std::vector<double>;

double median_us(const Times& times) {
  return times.empty() ? 0.0 : std::max(0.0, median(without_outliers(times))) * 1e6;
}

TaskGraph spinning(std::size_t tasks, bool chained, Duration length = spin_time) {
  TaskGraphBuilder builder;
  const OperationId spin = builder.add_operation(
      {.name = "spin", .kind = TaskKind::fixed, .kernels = {}, .fixed_duration = length});
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

/// A device that has nothing to do before each launch, for longer than its threads look for work.
BenchCase launches_after_pauses(std::uint32_t rounds) {
  std::vector<HostCall> calls;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    calls.push_back(HostCall::sleep_ns(2'000'000));
    calls.push_back(HostCall::launch(first, TaskId{i}));
    calls.push_back(HostCall::synchronize_all());
  }
  return {.name = "wake-up of workers",
          .graph = spinning(rounds, false),
          .plan = on_two_streams(std::move(calls), 0),
          .recurrent = {},
          .preloaded = false};
}

/// A host that sleeps between launches while all workers are busy, as polling policies do.
BenchCase sleeps_beside_work(std::uint32_t workers) {
  constexpr Duration length = std::chrono::microseconds{30};
  constexpr std::uint32_t rounds = 100;
  constexpr std::uint32_t tasks_per_round = 4;  // for each worker: more than a sleep lasts
  Plan plan;
  plan.policy = "calibration";
  plan.streams.resize(workers);
  auto& calls = plan.hosts[HostId{0}].calls;
  std::uint32_t task = 0;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    for (std::uint32_t j = 0; j < tasks_per_round * workers; ++j) {
      calls.push_back(HostCall::launch(StreamId{j % workers}, TaskId{task++}));
    }
    calls.push_back(HostCall::sleep_ns(20'000));
  }
  return {.name = "sleeps",
          .graph = spinning(task, false, length),
          .plan = std::move(plan),
          .recurrent = {},
          .preloaded = false};
}

MeasuredNumber us(const char* pointer, const Times& times, std::string_view how) {
  return {pointer, median_us(times), fmt::format("{} (median of {})", how, times.size())};
}

using BlockKey = std::tuple<TaskId, std::uint32_t, std::uint32_t>;
BlockKey key_of(const BlockSpan& block) {
  return {block.task, block.kernel, block.block};
}
double seconds_of(const BlockSpan& block) {
  return to_seconds(block.ended - block.started);
}

/// Seconds in which blocks of other tasks run at the same time, counted once for each of them.
/// `blocks`: in the order in which they started.
double overlapped_seconds(const std::vector<BlockSpan>& blocks, std::size_t of) {
  const BlockSpan& own = blocks[of];
  Duration shared{0};
  const auto count = [&](const BlockSpan& other) {
    if (other.task == own.task) return;
    const Duration both = std::min(own.ended, other.ended) - std::max(own.started, other.started);
    shared += std::max(both, Duration{0});
  };
  for (std::size_t i = of + 1; i < blocks.size() && blocks[i].started < own.ended; ++i) {
    count(blocks[i]);
  }
  constexpr std::size_t far = 64;  // more than can still run of what started before
  for (std::size_t i = of; i > 0 && of - i < far; --i) count(blocks[i - 1]);
  return to_seconds(shared);
}

using BlockTimes = std::map<BlockKey, Times>;
using SlowDowns = std::map<TaskKind, std::vector<double>>;

BlockTimes block_times(CalibrationBench& bench, const BenchCase& what, const Effort& effort) {
  BlockTimes times;
  repeat(bench, what, effort, [&](const Execution& execution) {
    for (const BlockSpan& block : execution.blocks)
      times[key_of(block)].push_back(seconds_of(block));
  });
  return times;
}

/// Of blocks beside which all other workers were busy, over their median time alone.
void add_slow_downs(const TaskGraph& graph,
                    const std::vector<BlockSpan>& blocks,
                    const BlockTimes& alone,
                    std::uint32_t workers,
                    SlowDowns& factors) {
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto before = alone.find(key_of(blocks[b]));
    if (before == alone.end()) continue;
    const double single = median(before->second);
    const double own = seconds_of(blocks[b]);
    if (single < shortest_compared ||
        overlapped_seconds(blocks, b) < busy_share * own * (workers - 1))
      continue;
    const Operation& operation = graph.operation(blocks[b].task);
    factors[operation.kernels[blocks[b].kernel].kind].push_back(own / single);
  }
}

BenchCase cut_case(const ShapePoint& point,
                   std::string_view policy,
                   const Platform& platform,
                   const Measured& measured,
                   std::uint32_t workers) {
  const RecurrentSpec spec{.layers = std::max<std::int64_t>(4, workers),
                           .steps = 6,
                           .batch = point.batch,
                           .hidden = point.hidden,
                           .pass = RecurrentPass::training};
  BenchCase made{
      .name = std::string{policy},
      .graph = CutKernels::for_device(platform.devices[DeviceId{0}])->apply(recurrent(spec)),
      .plan = {},
      .recurrent = spec};
  const CostTable costs{made.graph, platform, measured};
  made.plan = make_policy(policy)->plan({made.graph, platform, costs});
  return made;
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
    const bool enough = runs >= effort.min_runs && spent >= effort.seconds;
    return ++runs <= effort.max_runs && !enough;
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
  Times after_pause;
  repeat(bench, launches_after_pauses(25), effort, [&](const Execution& execution) {
    const auto& calls = execution.trace.hosts;
    const auto& tasks = execution.trace.tasks;
    for (std::size_t i = 0; i < tasks.size() && 3 * i + 1 < calls.size(); ++i) {
      after_pause.push_back(to_seconds(tasks[i].started - calls[3 * i + 1].ended));
    }
  });
  Times oversleep;
  repeat(bench, sleeps_beside_work(bench.workers()), effort, [&](const Execution& execution) {
    for (const HostSpan& span : execution.trace.hosts) {
      if (span.what.kind() != HostCallKind::sleep) continue;
      oversleep.push_back(
          std::max(to_seconds(span.ended - span.started - span.what.sleep_time()), 0.0));
    }
  });
  return {
      us("/host/oversleep_us",
         oversleep,
         "what sleeps of 20 us take beyond that while all workers are busy"),
      us("/host/launch_us", pitch[HostCallKind::launch], "time from one call to the next"),
      us("/host/record_us", pitch[HostCallKind::record], "time from one call to the next"),
      us("/host/wait_us", pitch[HostCallKind::wait], "time from one call to the next"),
      us("/host/query_us", pitch[HostCallKind::query], "time from one call to the next"),
      us("/host/synchronize_us", synchronize, "synchronize with nothing to wait for"),
      us("/host/wake_up_us",
         wake_up,
         "from the end of the task that the host waits for to its next call"),
      us("/device/launch_latency_us",
         latency,
         fmt::format("from the end of a launch call to the start of the task on an idle device; "
                     "{:.1f} us after pauses of 2 ms, in which workers go to sleep",
                     median_us(after_pause)))};
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
                                          const Platform& platform,
                                          bool quick) {
  if (bench.workers() < 2) return {};
  constexpr std::size_t turns = 3;
  const Effort part{.seconds = effort.seconds / (2.0 * turns),
                    .min_runs = std::max<std::size_t>(2, effort.min_runs / turns),
                    .max_runs = std::max<std::size_t>(2, effort.max_runs / turns)};
  SlowDowns factors;
  const std::vector<ShapePoint>& shapes = calibrated_shapes();
  const Measured measured;  // one for all cases: it fits the profile once
  for (std::size_t i = 0; i < (quick ? 2U : 5U); ++i) {
    const auto planned = [&](std::string_view policy) {
      return cut_case(shapes[i], policy, platform, measured, bench.workers());
    };
    const BenchCase alone = planned("single_stream");
    const std::array together{planned("diagonal"), planned("heft")};
    // In turns: a machine that becomes slower in between is no slow-down beside others.
    for (std::size_t turn = 0; turn < 2 * turns; ++turn) {
      const BenchCase& several = together[turn % 2];
      const BlockTimes single = block_times(bench, alone, part);
      repeat(bench, several, part, [&](const Execution& execution) {
        add_slow_downs(several.graph, execution.blocks, single, bench.workers(), factors);
      });
    }
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
