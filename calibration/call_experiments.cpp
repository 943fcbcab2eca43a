// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_experiments.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

namespace schedlab {
namespace {

using namespace std::chrono_literals;

/// Median from the start of each of these calls to the start of the next call, microseconds: the
/// loop around the calls counts.
double pitch_us(const BenchRun& run, const std::function<bool(const HostCall&)>& is_one) {
  std::vector<double> pitches;
  const auto& calls = run.trace.hosts;
  for (std::size_t i = 0; i + 1 < calls.size(); ++i) {
    if (is_one(calls[i].what)) pitches.push_back(to_us(calls[i + 1].started - calls[i].started));
  }
  return median(std::move(pitches));
}

Microbenchmark many_calls() {
  constexpr int rounds = 200;
  MicrobenchmarkBuilder made{"host calls"};
  const StreamId first = made.stream();
  const StreamId second = made.stream();
  for (int i = 0; i < rounds; ++i) {
    made.launch(first, made.spin(2us));
    made.after(first, second);
    made.launch(second, made.spin(2us));
    made.call(HostCall::query(second));
  }
  return std::move(made).build();
}

/// Kernels of each kind, small ones so that the host is not held up for long.
struct CallKinds {
  Microbenchmark benchmark;
  IdVector<TaskId, TaskKind> kinds{};

  explicit CallKinds(bool products) {
    constexpr int rounds = 100;
    constexpr std::int64_t side = 64;
    constexpr std::int64_t bytes = 4096;
    std::vector<Kernel> kernels{
        {.kind = TaskKind::pointwise, .bytes_read = Bytes{bytes}, .bytes_written = Bytes{bytes}},
        copy_kernel(TaskKind::copy_host_to_device, bytes, DataType::fp32)};
    if (products) kernels.push_back(gemm_kernel(side, side, side, DataType::fp32, false));
    MicrobenchmarkBuilder made{"calls by kind"};
    const StreamId stream = made.stream();
    for (int i = 0; i < rounds; ++i) {
      made.launch(stream, made.spin(1us));
      kinds.push_back(TaskKind::fixed);
      for (const Kernel& kernel : kernels) {
        made.launch(stream, made.kernel(kernel));
        kinds.push_back(kernel.kind);
      }
    }
    benchmark = std::move(made).build();
  }

  [[nodiscard]] double launch_us(const BenchRun& run, TaskKind kind) const {
    return pitch_us(run, [&](const HostCall& call) {
      return call.kind() == HostCallKind::launch && kinds[call.task()] == kind;
    });
  }
};

constexpr Duration round_trip = 5us;  // of each kernel

Microbenchmark round_trips(bool timed) {
  constexpr int rounds = 100;
  MicrobenchmarkBuilder made{"launch and synchronize"};
  const StreamId stream = made.stream();
  for (int i = 0; i < rounds; ++i) {
    made.launch(stream, made.spin(round_trip));
    made.call(HostCall::synchronize_stream(stream));
    made.call(HostCall::synchronize_stream(stream));  // nothing to wait for
  }
  return timed ? std::move(made).with_task_times() : std::move(made).build();
}

/// Median over the rounds, microseconds.
double per_round_us(const BenchRun& run, Duration (*read)(const BenchRun&, std::size_t round)) {
  std::vector<double> values;
  for (std::size_t round = 0; 3 * round + 3 < run.trace.hosts.size(); ++round) {
    values.push_back(to_us(read(run, round)));
  }
  return median(std::move(values));
}

Microbenchmark ping_pong(std::size_t hops, Duration duration) {
  MicrobenchmarkBuilder made{fmt::format("{} hops between two streams", hops)};
  StreamId here = made.stream();
  StreamId there = made.stream();
  for (std::size_t i = 0; i < hops; ++i) {
    made.launch(here, made.spin(duration));
    made.after(here, there);
    std::swap(here, there);
  }
  return std::move(made).build();
}

constexpr std::size_t max_launches = 4096;
constexpr Duration blocker = 200ms;  // longer than it takes to launch all
constexpr Duration noticed = 2ms;    // a call that lasts longer was held up
constexpr std::size_t few_runs = 3;  // each takes as long as the blocker

/// `streams` streams, each held up by a long kernel, get short ones in turn.
Microbenchmark launches_behind_blockers(std::size_t streams, std::size_t launches) {
  MicrobenchmarkBuilder made{fmt::format("launches into {} held streams", streams)};
  std::vector<StreamId> held;
  for (std::size_t i = 0; i < streams; ++i) {
    held.push_back(made.stream());
    made.launch(held.back(), made.spin(blocker));
  }
  for (std::size_t made_so_far = 0; made_so_far < launches; made_so_far += streams) {
    for (const StreamId stream : held) made.launch(stream, made.spin(1us));
  }
  return std::move(made).build();
}

/// How many launches were made before the first that was held up; all if none was.
double launches_before_block(const BenchRun& run) {
  const auto& calls = run.trace.hosts;
  const auto held = std::find_if(calls.begin(), calls.end() - 1, [](const HostSpan& span) {
    return span.ended - span.started > noticed;
  });
  return static_cast<double>(held - calls.begin());
}

}  // namespace

std::vector<RuleReading> measure_calls(DeviceBench& bench, const BenchEffort& effort) {
  struct Asked {
    HostCallKind kind;
    const char* name;
    const char* question;
  };
  constexpr std::array<Asked, 4> all{
      {{HostCallKind::launch, "launch", "What does launching a kernel cost the host?"},
       {HostCallKind::record, "record", "What does recording an event cost the host?"},
       {HostCallKind::wait, "wait", "What does making a stream wait for an event cost the host?"},
       {HostCallKind::query, "query", "What does asking whether a stream is idle cost the host?"}}};
  std::map<HostCallKind, std::vector<double>> pitches;
  (void)read_runs(bench, many_calls(), effort, [&](const BenchRun& run) {
    for (const Asked& one : all) {
      pitches[one.kind].push_back(
          pitch_us(run, [&](const HostCall& call) { return call.kind() == one.kind; }));
    }
    return 0.0;
  });
  std::vector<RuleReading> readings;
  readings.reserve(all.size());
  for (const Asked& one : all) {
    readings.push_back({.name = fmt::format("host_{}", one.name),
                        .question = one.question,
                        .unit = "us",
                        .pointer = fmt::format("/host/{}_us", one.name),
                        .values = pitches[one.kind]});
  }
  return readings;
}

std::vector<RuleReading> measure_call_kinds(DeviceBench& bench, const BenchEffort& effort) {
  const bool products = bench.facts().computes(DataType::fp32);
  const CallKinds calls{products};
  RuleReading pointwise{.name = "host_pointwise_launch",
                        .question = "What does launching a point-wise kernel cost the host?",
                        .unit = "us"};
  RuleReading product{.name = "host_product_call",
                      .question = "What does a library's product cost the host beyond a launch?",
                      .unit = "us",
                      .pointer = "/host/product_call_us"};
  RuleReading copy{.name = "host_copy_call",
                   .question = "What does a copy's call cost the host beyond a launch?",
                   .unit = "us",
                   .pointer = "/host/copy_call_us"};
  (void)read_runs(bench, calls.benchmark, effort, [&](const BenchRun& run) {
    const double launch = calls.launch_us(run, TaskKind::fixed);
    const auto beyond = [&](TaskKind kind) {
      return std::max(0.0, calls.launch_us(run, kind) - launch);
    };
    pointwise.values.push_back(calls.launch_us(run, TaskKind::pointwise));
    if (products) product.values.push_back(beyond(TaskKind::gemm));
    copy.values.push_back(beyond(TaskKind::copy_host_to_device));
    return 0.0;
  });
  return {std::move(pointwise), std::move(product), std::move(copy)};
}

std::vector<RuleReading> measure_round_trip(DeviceBench& bench, const BenchEffort& effort) {
  std::vector<double> synchronize;
  const std::vector<double> whole =
      read_runs(bench, round_trips(false), effort, [&](const BenchRun& run) {
        synchronize.push_back(per_round_us(run, [](const BenchRun& r, std::size_t round) {
          return r.trace.hosts[3 * round + 3].started - r.trace.hosts[3 * round + 2].started;
        }));
        return per_round_us(run, [](const BenchRun& r, std::size_t round) {
          return r.trace.hosts[3 * round + 2].started - r.trace.hosts[3 * round].ended - round_trip;
        });
      });
  const std::vector<double> latency =
      read_runs(bench, round_trips(true), effort, [](const BenchRun& run) {
        return per_round_us(run, [](const BenchRun& r, std::size_t round) {
          return r.trace.tasks[round].ended - round_trip - r.trace.hosts[3 * round].ended;
        });
      });
  const double typical = median(latency);
  std::vector<double> wake_up;
  wake_up.reserve(whole.size());
  for (const double one : whole) wake_up.push_back(one - typical);
  return {{.name = "launch_latency",
           .question = "How long after the call does a kernel start on an idle device?",
           .unit = "us",
           .pointer = "/device/launch_latency_us",
           .values = latency,
           .note = "from runs with timed tasks: what recording an event costs may be missing"},
          {.name = "wake_up",
           .question = "How long after the end of its work does a synchronizing host go on?",
           .unit = "us",
           .pointer = "/host/wake_up_us",
           .values = wake_up,
           .note = "launch to return on an idle device, less kernel and launch latency"},
          {.name = "host_synchronize",
           .question = "What does synchronizing with an idle stream cost?",
           .unit = "us",
           .pointer = "/host/synchronize_us",
           .values = synchronize}};
}

namespace {

/// Between kernels in a row, microseconds.
std::vector<double> gaps_of(DeviceBench& bench,
                            const BenchEffort& effort,
                            Microbenchmark (*chain)(std::size_t, Duration)) {
  // Longer than a launch, so that the device is what counts; short, as an error of 1 % in the
  // spin is an error of 0.08 us in the gap.
  constexpr Duration spin = 8us;
  constexpr std::size_t few = 20;
  constexpr std::size_t many = 120;
  std::vector<double> gaps = slopes(makespans_us(bench, chain(few, spin), effort),
                                    makespans_us(bench, chain(many, spin), effort),
                                    many - few);
  for (double& gap : gaps) gap -= to_us(spin);
  return gaps;
}

}  // namespace

std::vector<RuleReading> measure_programmatic_gap(DeviceBench& bench, const BenchEffort& effort) {
  RuleReading reading{
      .name = "programmatic_gap",
      .question =
          "How long after a kernel's end does one go on that was launched programmatically?",
      .unit = "us",
      .pointer = "/device/programmatic_gap_us",
      .note = "as stream_gap, in a row of programmatic launches"};
  try {
    reading.values = gaps_of(bench, effort, programmatic_chain);
  } catch (const InfeasibleError& error) {
    reading.note = error.what();
  }
  return {std::move(reading)};
}

std::vector<RuleReading> measure_stream_gap(DeviceBench& bench, const BenchEffort& effort) {
  std::vector<double> gaps = gaps_of(bench, effort, stream_chain);
  return {{.name = "stream_gap",
           .question = "How long is a stream idle between two kernels in a row?",
           .unit = "us",
           .pointer = "/device/stream_gap_us",
           .values = std::move(gaps),
           .note = "what a spinning kernel takes beyond its spin in a row of them"}};
}

std::vector<RuleReading> measure_device_graph(DeviceBench& bench, const BenchEffort& effort) {
  constexpr Duration spin = 3us;
  constexpr std::size_t few = 20;
  constexpr std::size_t many = 220;
  const auto measure = [&](std::size_t count, std::vector<double>& calls) {
    return read_runs(bench, graph_chain(count, spin), effort, [&](const BenchRun& run) {
      const HostSpan& launch = graph_launch_span(run);
      calls.push_back(to_us(launch.ended - launch.started));
      return after_graph_launch_us(run);
    });
  };
  std::vector<double> few_calls;
  std::vector<double> many_calls;
  const std::vector<double> shorter = measure(few, few_calls);
  const std::vector<double> longer = measure(many, many_calls);
  std::vector<double> gaps = slopes(shorter, longer, many - few);
  for (double& gap : gaps) gap -= to_us(spin);
  const std::vector<double> per_node = slopes(few_calls, many_calls, many - few);
  std::vector<double> base;
  std::sort(few_calls.begin(), few_calls.end());
  for (std::size_t i = 0; i < few_calls.size(); ++i) {
    base.push_back(few_calls[i] - static_cast<double>(few) * per_node[i]);
  }
  return {{.name = "graph_node_gap",
           .question = "How long is the device idle between two nodes of a graph in a row?",
           .unit = "us",
           .pointer = "/device/graph_node_gap_us",
           .values = std::move(gaps),
           .note = "likewise, in a row of nodes"},
          {.name = "graph_launch",
           .question = "What does launching a device graph cost the host, without its nodes?",
           .unit = "us",
           .pointer = "/host/graph_launch_us",
           .values = std::move(base)},
          {.name = "graph_launch_node",
           .question = "What does each node of a graph add to its launch?",
           .unit = "us",
           .pointer = "/host/graph_launch_node_us",
           .values = per_node}};
}

std::vector<RuleReading> measure_event_latency(DeviceBench& bench, const BenchEffort& effort) {
  constexpr Duration spin = 12us;  // longer than the three calls of a hop
  constexpr std::size_t few = 10;
  constexpr std::size_t many = 90;
  std::vector<double> latencies = slopes(makespans_us(bench, ping_pong(few, spin), effort),
                                         makespans_us(bench, ping_pong(many, spin), effort),
                                         many - few);
  for (double& latency : latencies) latency -= to_us(spin);
  return {{.name = "event_latency",
           .question = "How long after a kernel's end does a stream that waits for it go on?",
           .unit = "us",
           .pointer = "/device/event_latency_us",
           .values = std::move(latencies)}};
}

std::vector<RuleReading> measure_launch_queue(DeviceBench& bench, const BenchEffort& effort) {
  const BenchEffort few{.runs = std::min(effort.runs, few_runs)};
  RuleReading depth{.name = "launch_queue_depth",
                    .question = "How many launches may be pending before the next blocks the host?",
                    .unit = "count",
                    .pointer = "/host/launch_queue_depth"};
  depth.values =
      read_runs(bench, launches_behind_blockers(1, max_launches), few, launches_before_block);
  depth.at_least = median(depth.values) > static_cast<double>(max_launches);
  RuleReading per_stream{.name = "launch_queue_per_stream",
                         .question = "Has every stream a queue of its own?",
                         .unit = "yes_no"};
  if (depth.at_least) {
    depth.note = "no launch was held up";
    per_stream.note = "no launch was held up";
  } else {
    const double one = median(depth.values);
    per_stream.values = read_runs(
        bench, launches_behind_blockers(2, 2 * max_launches), few, [one](const BenchRun& run) {
          return launches_before_block(run) > 1.5 * one ? 1.0 : 0.0;
        });
  }
  return {std::move(depth), std::move(per_stream)};
}

std::vector<DeviceExperiment> device_experiments() {
  return {{"host calls", measure_calls},
          {"calls by kind", measure_call_kinds},
          {"launch and synchronize", measure_round_trip},
          {"kernels in a row", measure_stream_gap},
          {"programmatic launches", measure_programmatic_gap},
          {"device graphs", measure_device_graph},
          {"events", measure_event_latency},
          {"launch queue", measure_launch_queue},
          {"connections", measure_connections},
          {"priorities", measure_priorities},
          {"blocking", measure_blocking},
          {"tail of a kernel", measure_tail},
          {"resident kernels", measure_resident_kernels},
          {"placement of blocks", measure_placement},
          {"copies", measure_copies},
          {"kernels side by side", measure_co_runs}};
}

}  // namespace schedlab
