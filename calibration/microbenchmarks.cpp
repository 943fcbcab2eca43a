// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbenchmarks.hpp"

#include "sim/base/error.hpp"
#include "sim/machine/occupancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace schedlab {

StreamId MicrobenchmarkBuilder::stream(int priority) {
  return made_.plan.streams.push_back({.device = DeviceId{0}, .priority = priority});
}

OperationId MicrobenchmarkBuilder::operation(Operation operation) {
  const auto known = std::find(operations_.begin(), operations_.end(), operation);
  if (known != operations_.end()) {
    return OperationId{static_cast<std::uint32_t>(known - operations_.begin())};
  }
  operations_.push_back(operation);
  return builder_.add_operation(std::move(operation));
}

TaskId MicrobenchmarkBuilder::spin(Duration duration, KernelGrid grid) {
  grid.compute_share = 0;
  return builder_.add_task(operation({.name = "spin",
                                      .kind = TaskKind::fixed,
                                      .kernels = {{.kind = TaskKind::fixed, .grid = grid}},
                                      .fixed_duration = duration}));
}

TaskId MicrobenchmarkBuilder::kernel(const MeasuredKernel& kernel, std::int16_t layer) {
  return builder_.add_task(
      operation({.name = kernel.operation, .kind = kernel.kernel.kind, .kernels = {kernel.kernel}}),
      {.layer = layer});
}

void MicrobenchmarkBuilder::after(StreamId from, StreamId to) {
  const EventId event{made_.plan.event_count++};
  call(HostCall::record(from, event));
  call(HostCall::wait(to, event));
}

void MicrobenchmarkBuilder::graph(StreamId stream,
                                  const std::vector<TaskId>& tasks,
                                  const std::vector<std::vector<std::uint32_t>>& needs) {
  DeviceGraph graph;
  graph.name = made_.name;
  for (std::size_t i = 0; i < tasks.size(); ++i) (void)graph.add_node(stream, needs[i]);
  graph.add_launch(tasks);
  const auto number = static_cast<std::uint32_t>(made_.plan.graphs.size());
  made_.plan.graphs.push_back(std::move(graph));
  call(HostCall::graph_load(number));
  call(HostCall::graph_launch(stream, number));
}

Microbenchmark MicrobenchmarkBuilder::with_task_times() && {
  made_.time_tasks = true;
  return std::move(*this).build();
}

Microbenchmark MicrobenchmarkBuilder::with_placements() && {
  made_.place_blocks = true;
  return std::move(*this).build();
}

Microbenchmark MicrobenchmarkBuilder::build() && {
  call(HostCall::synchronize_all());
  made_.plan.policy = "calibration";
  made_.plan.hosts[HostId{0}].calls = std::move(calls_);
  made_.graph = std::move(builder_).build();
  return std::move(made_);
}

KernelGrid part_units(std::uint32_t blocks, double share, const SmLimits& limits) {
  // What the driver takes of every block comes on top of what the block asks for.
  const double capacity = share * limits.shared_memory - limits.reserved_shared_memory;
  const double asked =
      std::clamp(capacity, 0.0, static_cast<double>(limits.shared_memory_per_block));
  constexpr std::uint16_t threads = 256;
  return {.blocks = blocks,
          .block = {.threads = threads, .shared_memory = static_cast<std::uint32_t>(asked)},
          .compute_share = 0};
}

KernelGrid whole_units(std::uint32_t units, const SmLimits& limits) {
  KernelGrid grid = part_units(units, 1.0, limits);
  // Where one block cannot ask for most of a unit's shared memory, several fill it.
  if (limits.known()) grid.blocks *= std::max(1U, occupancy(grid.block, limits).blocks);
  return grid;
}

namespace {

/// Appends a task to a microbenchmark, the one with this number.
using MakeTask = std::function<TaskId(MicrobenchmarkBuilder&, std::size_t)>;

MicrobenchmarkBuilder chain_maker(std::size_t count, const MakeTask& task) {
  MicrobenchmarkBuilder made{fmt::format("{} kernels in a row", count)};
  const StreamId stream = made.stream();
  for (std::size_t i = 0; i < count; ++i) made.launch(stream, task(made, i));
  return made;
}

Microbenchmark stream_chain(std::size_t count, const MakeTask& task) {
  return chain_maker(count, task).build();
}

Microbenchmark graph_chains(std::size_t chains, std::size_t count, const MakeTask& task) {
  MicrobenchmarkBuilder made{fmt::format("graph of {} times {} nodes in a row", chains, count)};
  const StreamId stream = made.stream();
  std::vector<TaskId> tasks;
  std::vector<std::vector<std::uint32_t>> needs;
  for (std::size_t i = 0; i < chains * count; ++i) {
    tasks.push_back(task(made, i));
    needs.emplace_back();
    if (i >= chains) needs.back().push_back(static_cast<std::uint32_t>(i - chains));
  }
  made.graph(stream, tasks, needs);
  return std::move(made).build();
}

/// Writes so many bytes, which is what caches then hold.
Kernel flush(Bytes flushed) {
  return {.kind = TaskKind::pointwise,
          .flops = Flops{static_cast<double>(flushed.count()) / 4},
          .bytes_read = Bytes{4096},
          .bytes_written = flushed};
}

MakeTask of_kernel(const MeasuredKernel& kernel, Bytes flushed = Bytes{0}) {
  return [&kernel, flushed](MicrobenchmarkBuilder& made, std::size_t number) {
    if (flushed == Bytes{0}) return made.kernel(kernel);
    if (number == 0) return made.kernel({"flush", flush(flushed)});
    return made.kernel(kernel, static_cast<std::int16_t>(number));
  };
}
MakeTask of_spin(Duration spin) {
  return [spin](MicrobenchmarkBuilder& made, std::size_t) { return made.spin(spin); };
}
std::size_t with_flush(std::size_t count, Bytes flushed) {
  return count + (flushed > Bytes{0} ? 1 : 0);
}

}  // namespace

Microbenchmark stream_chain(std::size_t count, const MeasuredKernel& kernel) {
  return stream_chain(count, of_kernel(kernel));
}
Microbenchmark timed_chain(std::size_t count, const MeasuredKernel& kernel, Bytes flushed) {
  return chain_maker(with_flush(count, flushed), of_kernel(kernel, flushed)).with_task_times();
}
Microbenchmark stream_chain(std::size_t count, Duration spin) {
  return stream_chain(count, of_spin(spin));
}
Microbenchmark graph_chain(std::size_t count, const MeasuredKernel& kernel, Bytes flushed) {
  return graph_chains(1, with_flush(count, flushed), of_kernel(kernel, flushed));
}
Microbenchmark graph_chains(std::size_t chains, std::size_t count, const MeasuredKernel& kernel) {
  return graph_chains(chains, count, of_kernel(kernel));
}
Microbenchmark programmatic_chain(std::size_t count, Duration spin) {
  MicrobenchmarkBuilder made{fmt::format("{} kernels in a row, launched programmatically", count)};
  const StreamId stream = made.stream();
  for (std::size_t i = 0; i < count; ++i) made.launch(stream, made.spin(spin), i > 0);
  return std::move(made).build();
}
Microbenchmark graph_chain(std::size_t count, Duration spin) {
  return graph_chains(1, count, of_spin(spin));
}

const HostSpan& graph_launch_span(const BenchRun& run) {
  constexpr std::size_t launch_call = 1;  // after graph_load
  return call_span(run, launch_call);
}

double after_graph_launch_us(const BenchRun& run) {
  return to_us(run.trace.hosts.back().ended - graph_launch_span(run).ended);
}

std::vector<double> read_runs(DeviceBench& bench,
                              const Microbenchmark& benchmark,
                              const BenchEffort& effort,
                              const std::function<double(const BenchRun&)>& read) {
  std::vector<double> values;
  bool first = true;
  bench.run(benchmark, [&](const BenchRun& run) {
    if (!std::exchange(first, false)) values.push_back(read(run));
    return values.size() < effort.runs;
  });
  return values;
}

double makespan_us(const BenchRun& run) {
  SCHEDLAB_EXPECTS(!run.trace.hosts.empty(), "a microbenchmark's run has no host calls");
  return to_us(run.trace.hosts.back().ended - run.trace.hosts.front().started);
}

std::vector<double> makespans_us(DeviceBench& bench,
                                 const Microbenchmark& benchmark,
                                 const BenchEffort& effort) {
  return read_runs(bench, benchmark, effort, makespan_us);
}

std::vector<double> slopes(std::vector<double> shorter,
                           std::vector<double> longer,
                           std::size_t difference) {
  SCHEDLAB_EXPECTS(shorter.size() == longer.size(), "slopes need as many long runs as short ones");
  std::sort(shorter.begin(), shorter.end());
  std::sort(longer.begin(), longer.end());
  for (std::size_t i = 0; i < longer.size(); ++i) {
    longer[i] = (longer[i] - shorter[i]) / static_cast<double>(difference);
  }
  return longer;
}

double end_us(const BenchRun& run, TaskId task) {
  const auto found = std::find_if(run.trace.tasks.begin(),
                                  run.trace.tasks.end(),
                                  [&](const TaskSpan& span) { return span.task == task; });
  SCHEDLAB_EXPECTS(found != run.trace.tasks.end(),
                   fmt::format("task {} of a microbenchmark was not timed", task.value()));
  return to_us(found->ended);
}

const HostSpan& call_span(const BenchRun& run, std::size_t call) {
  const auto found = std::find_if(run.trace.hosts.begin(),
                                  run.trace.hosts.end(),
                                  [&](const HostSpan& span) { return span.call == call; });
  SCHEDLAB_EXPECTS(found != run.trace.hosts.end(),
                   fmt::format("call {} of a microbenchmark was not recorded", call));
  return *found;
}

}  // namespace schedlab
