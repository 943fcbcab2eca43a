// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_experiments.hpp"
#include "sim/base/robust_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t max_streams = 40;  // CUDA has up to 32 connections
constexpr std::uint32_t compared_priorities = 7;
constexpr std::uint32_t needed_connections = compared_priorities + 1;
constexpr Duration arrival_gap = 100us;  // between launches whose order of arrival matters

double yes_no(bool yes) {
  return yes ? 1.0 : 0.0;
}

/// Stream 0 holds its connection with a kernel that waits behind a long one; the others have one
/// short kernel each. The host then synchronizes with one stream after another.
Microbenchmark held_connection(Duration held) {
  MicrobenchmarkBuilder made{"connections"};
  const StreamId holder = made.stream();
  made.launch(holder, made.spin(held));
  made.launch(holder, made.spin(20us));
  std::vector<StreamId> others;
  for (std::uint32_t i = 1; i <= max_streams; ++i) {
    others.push_back(made.stream());
    made.launch(others.back(), made.spin(20us));
  }
  for (const StreamId stream : others) made.call(HostCall::synchronize_stream(stream));
  return std::move(made).build();
}

/// The first stream that had to wait for stream 0, from which it differs by the number of
/// connections.
std::vector<double> connections_seen(DeviceBench& bench, const BenchEffort& effort) {
  constexpr Duration held = 20ms;
  return read_runs(bench, held_connection(held), effort, [half = held / 2](const BenchRun& run) {
    const Time begin = run.trace.hosts.front().started;
    for (std::uint32_t i = 1; i <= max_streams; ++i) {
      const HostSpan& synchronized = call_span(run, max_streams + 1 + i);
      if (synchronized.ended - begin > half) return static_cast<double>(i);
    }
    return static_cast<double>(max_streams + 1);
  });
}

/// Empty, or why kernels in as many streams say nothing here.
std::string too_few_connections(DeviceBench& bench) {
  const double seen = median(connections_seen(bench, {.runs = 1}));
  if (seen >= needed_connections) return {};
  return fmt::format("needs {} connections and there are {}", needed_connections, seen);
}

std::string unknown_units(const DeviceBench& bench) {
  if (bench.facts().units < 2) return "needs a device with a known number of units, at least 2";
  if (!bench.limits().known()) return "needs to know what one unit can hold (sm_limits)";
  return {};
}

/// Behind a kernel that fills the device, one kernel of each priority that fills it too; the least
/// urgent was launched first.
Microbenchmark priority_race(std::uint32_t units, const SmLimits& limits) {
  MicrobenchmarkBuilder made{"priorities"};
  const KernelGrid full = whole_units(units, limits);
  std::vector<StreamId> streams;
  const StreamId holder = made.stream();
  for (std::uint32_t i = 0; i < compared_priorities; ++i) {
    streams.push_back(made.stream(-static_cast<int>(i)));
  }
  const TaskId held = made.spin(2ms, full);
  std::vector<TaskId> racers;
  for (std::uint32_t i = 0; i < compared_priorities; ++i) racers.push_back(made.spin(100us, full));
  made.launch(holder, held);
  made.call(HostCall::sleep_ns(static_cast<std::uint32_t>(arrival_gap / 1ns)));
  for (std::uint32_t i = 0; i < compared_priorities; ++i) made.launch(streams[i], racers[i]);
  return std::move(made).with_task_times();
}

/// A kernel leaves shared memory on every unit, in which `small` would fit and `large` does not.
struct BlockingScene {
  TaskId running;
  TaskId small;
  Microbenchmark benchmark;
};
/// `priority_of_large`: nullopt: there is none.
BlockingScene blocking_scene(std::uint32_t units,
                             const SmLimits& limits,
                             std::optional<int> priority_of_large) {
  constexpr double most = 0.6;  // of a unit's shared memory: no second such block fits, nor `large`
  MicrobenchmarkBuilder made{"blocking"};
  const StreamId first = made.stream();
  const StreamId second = made.stream(priority_of_large.value_or(0));
  const StreamId third = made.stream();
  const auto pause = [&] {
    made.call(HostCall::sleep_ns(static_cast<std::uint32_t>(arrival_gap / 1ns)));
  };
  BlockingScene scene;
  scene.running = made.spin(4ms, part_units(units, most, limits));
  scene.small = made.spin(50us, {.blocks = 1, .block = {.threads = 64}});
  made.launch(first, scene.running);
  pause();
  if (priority_of_large) {
    made.launch(second, made.spin(100us, whole_units(units, limits)));
    pause();
  }
  made.launch(third, scene.small);
  scene.benchmark = std::move(made).with_task_times();
  return scene;
}

std::vector<double> small_waits(DeviceBench& bench,
                                const BenchEffort& effort,
                                std::optional<int> priority) {
  const BlockingScene scene = blocking_scene(bench.facts().units, bench.limits(), priority);
  return read_runs(bench, scene.benchmark, effort, [&](const BenchRun& run) {
    return yes_no(end_us(run, scene.small) >= end_us(run, scene.running));
  });
}

/// One small kernel in each of many streams. Streams that share a connection do not wait for each
/// other: a kernel gives it free once it is dispatched.
Microbenchmark independent_kernels(std::uint32_t count, Duration duration) {
  MicrobenchmarkBuilder made{fmt::format("{} independent kernels", count)};
  for (std::uint32_t i = 0; i < count; ++i) made.launch(made.stream(), made.spin(duration));
  return std::move(made).build();
}

/// Of the blocks of `after`, those on units without a block of `before`; nullopt: none was seen.
std::optional<double> share_on_empty_units(const BenchRun& run, TaskId before, TaskId after) {
  std::set<std::uint32_t> taken;
  for (const BlockPlacement& one : run.placements) {
    if (one.blocks > 0 && one.task == before) taken.insert(one.unit);
  }
  double placed = 0;
  double on_empty = 0;
  for (const BlockPlacement& one : run.placements) {
    if (one.blocks <= 0 || one.task != after) continue;
    placed += one.blocks;
    if (!taken.contains(one.unit)) on_empty += one.blocks;
  }
  return placed > 0 ? std::optional{on_empty / placed} : std::nullopt;
}

}  // namespace

std::vector<RuleReading> measure_connections(DeviceBench& bench, const BenchEffort& effort) {
  RuleReading reading{.name = "connections",
                      .question = "How many hardware connections do streams share?",
                      .unit = "count",
                      .pointer = "/device/connections",
                      .values = connections_seen(bench, effort)};
  reading.at_least = median(reading.values) > max_streams;
  if (reading.at_least) reading.note = fmt::format("{} streams got on alone", max_streams + 1);
  return {std::move(reading)};
}

std::vector<RuleReading> measure_priorities(DeviceBench& bench, const BenchEffort& effort) {
  RuleReading reading{.name = "priority_levels",
                      .question = "How many levels of priority does the device tell apart?",
                      .unit = "count",
                      .pointer = "/device/priority_levels",
                      .note = fmt::format("the driver offers {}", bench.facts().priority_levels)};
  std::string why = unknown_units(bench);
  if (why.empty()) why = too_few_connections(bench);
  if (!why.empty()) {
    reading.note = why;
    return {std::move(reading)};
  }
  // Priorities beyond the last level are clamped to it, and equals run in the order of their
  // launches: the first to run is the first of the most urgent level.
  reading.values = read_runs(
      bench, priority_race(bench.facts().units, bench.limits()), effort, [](const BenchRun& run) {
        std::uint32_t first = 0;
        double earliest = std::numeric_limits<double>::infinity();
        for (std::uint32_t i = 0; i < compared_priorities; ++i) {
          const double end = end_us(run, TaskId{i + 1});
          if (end < earliest) first = i;
          earliest = std::min(earliest, end);
        }
        return static_cast<double>(first + 1);
      });
  reading.at_least = median(reading.values) >= compared_priorities;
  return {std::move(reading)};
}

std::vector<RuleReading> measure_blocking(DeviceBench& bench, const BenchEffort& effort) {
  RuleReading head{.name = "head_of_line_blocking",
                   .question = "Does a kernel that does not fit hold up a later one that would?",
                   .unit = "yes_no"};
  RuleReading urgent{
      .name = "priority_blocking",
      .question = "Does an urgent kernel that does not fit hold up a less urgent one that would?",
      .unit = "yes_no"};
  std::string why = unknown_units(bench);
  // Units that divide their memory otherwise for other kernels would show waiting of another sort.
  if (why.empty() && median(small_waits(bench, effort, std::nullopt)) > 0) {
    why = "a small kernel does not start beside the first one even when nothing else waits";
  }
  head.note = why;
  urgent.note = why;
  if (why.empty()) head.values = small_waits(bench, effort, 0);
  if (why.empty() && bench.facts().priority_levels > 1) {
    urgent.values = small_waits(bench, effort, -1);
  } else if (why.empty()) {
    urgent.note = "needs at least two levels of priority";
  }
  return {std::move(head), std::move(urgent)};
}

std::vector<RuleReading> measure_tail(DeviceBench& bench, const BenchEffort& effort) {
  RuleReading reading{.name = "starts_in_tail",
                      .question = "Does a kernel start in the last, partly filled wave of another?",
                      .unit = "yes_no"};
  reading.note = unknown_units(bench);
  if (!reading.note.empty()) return {std::move(reading)};
  const std::uint32_t units = bench.facts().units;
  constexpr Duration wave = 2ms;
  MicrobenchmarkBuilder made{"tail"};
  const StreamId first = made.stream();
  const StreamId second = made.stream();
  // Two waves, of which the second fills half of the units; the other kernel fits into the rest.
  made.launch(first, made.spin(2 * wave, whole_units(units + units / 2, bench.limits())));
  made.call(HostCall::sleep_ns(static_cast<std::uint32_t>(arrival_gap / 1ns)));
  made.launch(second, made.spin(wave, whole_units(units / 2, bench.limits())));
  const double between = to_us(5 * wave / 2);
  reading.values = read_runs(bench, std::move(made).build(), effort, [&](const BenchRun& run) {
    return yes_no(makespan_us(run) < between);  // two waves, or three
  });
  return {std::move(reading)};
}

std::vector<RuleReading> measure_resident_kernels(DeviceBench& bench, const BenchEffort& effort) {
  constexpr std::uint32_t most = 256;
  constexpr Duration duration = 10ms;  // many times what launching all of them takes
  const BenchEffort few{.runs = std::min<std::size_t>(effort.runs, 3)};
  const auto all_at_once = [&](std::uint32_t count) {
    const double typical = median(makespans_us(bench, independent_kernels(count, duration), few));
    return typical < to_us(3 * duration / 2);
  };
  RuleReading reading{.name = "resident_kernels",
                      .question = "How many kernels can be on the device at once?",
                      .unit = "count",
                      .pointer = "/device/resident_kernels",
                      .note = "kernels in streams of their own, one block of one warp each"};
  if (all_at_once(most)) {
    reading.values = {static_cast<double>(most)};
    reading.at_least = true;
    return {std::move(reading)};
  }
  std::uint32_t fit = 1;
  std::uint32_t do_not = most;
  while (do_not - fit > 1) {
    const std::uint32_t middle = (fit + do_not) / 2;
    (all_at_once(middle) ? fit : do_not) = middle;
  }
  reading.values = {static_cast<double>(fit)};
  return {std::move(reading)};
}

std::vector<RuleReading> measure_placement(DeviceBench& bench, const BenchEffort& effort) {
  RuleReading reading{
      .name = "empty_units_first",
      .question =
          "What share of a kernel's blocks goes to empty units while others have free slots too?",
      .unit = "ratio"};
  reading.note = unknown_units(bench);
  if (!reading.note.empty()) return {std::move(reading)};
  constexpr double share = 0.4;  // of a unit: two such blocks fit
  const std::uint32_t half = bench.facts().units / 2;
  MicrobenchmarkBuilder made{"placement"};
  const StreamId first = made.stream();
  const StreamId second = made.stream();
  const TaskId before = made.spin(4ms, part_units(half, share, bench.limits()));
  const TaskId after = made.spin(1ms, part_units(half, share, bench.limits()));
  made.launch(first, before);
  made.call(HostCall::sleep_ns(static_cast<std::uint32_t>(arrival_gap / 1ns)));
  made.launch(second, after);
  bool seen = false;
  std::vector<double> shares =
      read_runs(bench, std::move(made).with_placements(), effort, [&](const BenchRun& run) {
        const std::optional<double> on_empty = share_on_empty_units(run, before, after);
        seen = seen || on_empty.has_value();
        return on_empty.value_or(0.0);
      });
  if (seen) {
    reading.values = std::move(shares);
  } else {
    reading.note = "where blocks ran is not recorded here";
  }
  return {std::move(reading)};
}

}  // namespace schedlab
