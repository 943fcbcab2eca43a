// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration/device_bench.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task.hpp"
#include "sim/machine/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// How often microbenchmarks are run.
struct BenchEffort {
  std::size_t runs = 7;  ///< that count; one more is left out, which finds code and clocks cold
};

/// A kernel and the operation that it stands for, which says how the factors of a product lie.
struct MeasuredKernel {
  std::string operation;  ///< that of the kernel's kind: "pointwise"; of products product_name()
  Kernel kernel;

  // NOLINTNEXTLINE(google-explicit-constructor): most are what their kind says
  MeasuredKernel(const Kernel& one) : MeasuredKernel(to_string(one.kind), one) {}
  MeasuredKernel(std::string_view name, const Kernel& one) : operation(name), kernel(one) {}
};

/// Collects the tasks and the calls of a microbenchmark.
class MicrobenchmarkBuilder {
 public:
  explicit MicrobenchmarkBuilder(std::string name) { made_.name = std::move(name); }

  StreamId stream(int priority = 0);
  /// A kernel that passes time: `grid` blocks that use nothing of a unit but slots.
  TaskId spin(Duration duration, KernelGrid grid = {.blocks = 1, .block = {.threads = 32}});
  TaskId kernel(const MeasuredKernel& kernel, std::int16_t layer = -1);
  void call(HostCall call) { calls_.push_back(call); }
  void launch(StreamId stream, TaskId task, bool programmatic = false) {
    call(HostCall::launch(stream, task, programmatic));
  }
  /// `to` goes on only after what is in `from` now.
  void after(StreamId from, StreamId to);
  /// The tasks, each needing those with the given places in the list, as a device graph that is
  /// launched once into the stream.
  void graph(StreamId stream,
             const std::vector<TaskId>& tasks,
             const std::vector<std::vector<std::uint32_t>>& needs);
  [[nodiscard]] Microbenchmark with_task_times() &&;
  [[nodiscard]] Microbenchmark with_placements() &&;
  /// The host synchronizes with everything at the end.
  [[nodiscard]] Microbenchmark build() &&;

 private:
  OperationId operation(Operation operation);

  Microbenchmark made_;
  TaskGraphBuilder builder_;
  std::vector<Operation> operations_;
  std::vector<HostCall> calls_;
};

/// As many blocks as fill that many units: beside them none that wants shared memory fits.
[[nodiscard]] KernelGrid whole_units(std::uint32_t units, const SmLimits& limits);
/// Blocks that take this share of a unit's shared memory.
[[nodiscard]] KernelGrid part_units(std::uint32_t blocks, double share, const SmLimits& limits);

/// `count` equal tasks one after another: of one stream, or of one device graph. They use the same
/// operands; with `flushed` bytes, each uses operands of its own, and another kernel writes so many
/// bytes before the first, so that none finds anything in a cache half as large.
[[nodiscard]] Microbenchmark stream_chain(std::size_t count, const MeasuredKernel& kernel);
[[nodiscard]] Microbenchmark stream_chain(std::size_t count, Duration spin);
/// The same, each but the first launched programmatically.
[[nodiscard]] Microbenchmark programmatic_chain(std::size_t count, Duration spin);
[[nodiscard]] Microbenchmark graph_chain(std::size_t count,
                                         const MeasuredKernel& kernel,
                                         Bytes flushed = Bytes{0});
[[nodiscard]] Microbenchmark graph_chain(std::size_t count, Duration spin);
/// The same of one stream, each of them timed.
[[nodiscard]] Microbenchmark timed_chain(std::size_t count,
                                         const MeasuredKernel& kernel,
                                         Bytes flushed = Bytes{0});

/// One value per run that counts.
[[nodiscard]] std::vector<double> read_runs(DeviceBench& bench,
                                            const Microbenchmark& benchmark,
                                            const BenchEffort& effort,
                                            const std::function<double(const BenchRun&)>& read);

/// Microseconds from the start of the first call to the return of the last.
[[nodiscard]] double makespan_us(const BenchRun& run);
[[nodiscard]] std::vector<double> makespans_us(DeviceBench& bench,
                                               const Microbenchmark& benchmark,
                                               const BenchEffort& effort);
/// What one more element costs: (longer - shorter) / difference, of the runs of equal rank. Both
/// lists are of the same size.
[[nodiscard]] std::vector<double> slopes(std::vector<double> shorter,
                                         std::vector<double> longer,
                                         std::size_t difference);

/// `chains` of them side by side in one device graph.
[[nodiscard]] Microbenchmark graph_chains(std::size_t chains,
                                          std::size_t count,
                                          const MeasuredKernel& kernel);

/// The launch of the device graph of a graph_chain().
[[nodiscard]] const HostSpan& graph_launch_span(const BenchRun& run);
/// Time of a graph_chain() from the return of its launch: the host takes no part in it.
[[nodiscard]] double after_graph_launch_us(const BenchRun& run);

/// When the task ended, microseconds; the trace must have it.
[[nodiscard]] double end_us(const BenchRun& run, TaskId task);
/// The host span of a call by its place in the program.
[[nodiscard]] const HostSpan& call_span(const BenchRun& run, std::size_t call);

}  // namespace schedlab
