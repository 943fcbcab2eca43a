// SPDX-License-Identifier: Apache-2.0
#include "calibration/interference.hpp"

#include "hw_models/kernel_cost.hpp"
#include "sim/base/robust_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace schedlab {
namespace {

constexpr double row_seconds = 1e-3;    // assumed: some hundred times a wake-up
constexpr double others_last = 1.5;     // times as long as the row that is read, or longer
constexpr double min_overlap = 0.8;     // of a kernel's time, on every other worker
constexpr std::size_t min_in_row = 12;  // and are read
constexpr std::size_t min_read = 5;
constexpr double max_slow_down = 100;  // as the format has it

Kernel product(TaskKind kind, std::int64_t m, std::int64_t n, std::int64_t k) {
  Kernel made = gemm_kernel(m, n, k, DataType::fp32, false);
  made.kind = kind;
  return made;
}

/// `parts`: bytes read for each byte written.
Kernel streaming(TaskKind kind, std::int64_t kib_read, std::int64_t parts) {
  return {.kind = kind,
          .flops = Flops{static_cast<double>(kib_read * 256)},
          .bytes_read = Bytes{kib_read * 1024},
          .bytes_written = Bytes{kib_read * 1024 / parts}};
}

/// Operands that a row goes through in turn. Those of a streaming kernel are together larger than a
/// core's own caches, or than all caches; a product uses its own often enough to be in caches.
std::size_t operand_sets(const Kernel& kernel) {
  return runs_on_matrix_units(kernel.kind) ? 4 : 16;
}

/// About what a core takes (assumed rates of one with wide vectors); only rows' lengths depend on
/// it.
double rough_seconds(const Kernel& kernel) {
  constexpr double flops_per_s = 200e9;
  constexpr double bytes_per_s = 80e9;
  return kernel.flops.count() / flops_per_s +
         static_cast<double>(traffic(kernel).count()) / bytes_per_s;
}

/// Kernels of a row that last so long.
std::size_t count_in(double seconds, const Kernel& kernel) {
  return std::max(min_in_row,
                  static_cast<std::size_t>(std::lround(seconds / rough_seconds(kernel))));
}

/// Of the row that is read.
std::size_t row_length(const Kernel& kernel) {
  return operand_sets(kernel) + count_in(row_seconds, kernel);
}

/// Rows of equal kernels side by side, one on each worker: the first row is read.
struct Rows {
  std::size_t own = 0;                ///< of the kernels
  std::optional<std::size_t> others;  ///< none: the first row is alone
  std::vector<std::vector<TaskId>> tasks;
};

/// All of them, in one graph and plan: rows begin when all rows before have ended.
struct InterferenceCase {
  BenchCase what;
  std::vector<Rows> rows;
};

/// Operations by kernel and stream: equal rows work on the same operands, no two workers do.
std::vector<std::vector<OperationId>> operations_of(const std::vector<Kernel>& kernels,
                                                    std::uint32_t streams,
                                                    TaskGraphBuilder& builder) {
  std::vector<std::vector<OperationId>> operations;
  for (Kernel kernel : kernels) {
    kernel.grid.blocks = 1;
    auto& of_kernel = operations.emplace_back();
    for (std::uint32_t s = 0; s < streams; ++s) {
      of_kernel.push_back(builder.add_operation({.name = std::string{to_string(kernel.kind)},
                                                 .kind = kernel.kind,
                                                 .kernels = {kernel},
                                                 .fixed_duration = Duration{0}}));
    }
  }
  return operations;
}

Plan one_after_another(const std::vector<Rows>& rows, std::uint32_t streams) {
  Plan plan;
  plan.policy = "calibration";
  plan.streams.resize(streams);
  std::vector<HostCall>& calls = plan.hosts[HostId{0}].calls;
  std::vector<EventId> before;
  for (const Rows& one : rows) {
    std::vector<EventId> ended;
    for (std::uint32_t s = 0; s < one.tasks.size(); ++s) {
      for (const EventId event : before) calls.push_back(HostCall::wait(StreamId{s}, event));
      for (const TaskId task : one.tasks[s]) calls.push_back(HostCall::launch(StreamId{s}, task));
    }
    for (std::uint32_t s = 0; s < one.tasks.size(); ++s) {
      ended.emplace_back(plan.event_count++);
      calls.push_back(HostCall::record(StreamId{s}, ended.back()));
    }
    before = std::move(ended);
  }
  return plan;
}

InterferenceCase interference_case(const std::vector<Kernel>& kernels, std::uint32_t workers) {
  InterferenceCase made;
  for (std::size_t own = 0; own < kernels.size(); ++own) {
    // Alone before each co-run: a machine that slows down in between is no interference.
    for (std::size_t others = 0; others < kernels.size(); ++others) {
      made.rows.push_back({.own = own, .others = std::nullopt, .tasks = {}});
      made.rows.push_back({.own = own, .others = others, .tasks = {}});
    }
  }
  TaskGraphBuilder builder;
  const auto operations = operations_of(kernels, workers, builder);
  for (Rows& rows : made.rows) {
    for (std::uint32_t s = 0; s < (rows.others ? workers : 1U); ++s) {
      const std::size_t kernel = s == 0 ? rows.own : *rows.others;
      std::vector<TaskId>& row = rows.tasks.emplace_back();
      const std::size_t sets = operand_sets(kernels[kernel]);
      const double own_seconds =
          static_cast<double>(row_length(kernels[rows.own])) * rough_seconds(kernels[rows.own]);
      const std::size_t length = s == 0 ? row_length(kernels[kernel])
                                        : count_in(others_last * own_seconds, kernels[kernel]);
      for (std::size_t i = 0; i < length; ++i) {
        row.push_back(builder.add_task(operations[kernel][s],
                                       {.layer = static_cast<std::int16_t>(i % sets)}));
      }
    }
  }
  made.what = {.name = "slow-down beside others",
               .graph = std::move(builder).build(),
               .plan = one_after_another(made.rows, workers),
               .recurrent = {},
               .proxies = true};
  return made;
}

struct Span {
  Time started = Time::max();
  Time ended = Time::min();
};

double typical(const std::vector<double>& seconds) {
  return median(without_outliers(seconds));
}

/// Seconds of the kernels of the first row, of those that co-ran with others for most of their
/// time. The first `skipped` of them bring their operands into caches.
std::vector<double> seconds_of(const Rows& rows,
                               const std::vector<Span>& tasks,
                               std::size_t skipped) {
  Time from = Time::min();
  Time to = Time::max();
  for (std::size_t s = 1; s < rows.tasks.size(); ++s) {
    from = std::max(from, tasks[rows.tasks[s].front().value()].started);
    to = std::min(to, tasks[rows.tasks[s].back().value()].ended);
  }
  std::vector<double> seconds;
  const std::vector<TaskId>& row = rows.tasks.front();
  for (std::size_t i = skipped; i < row.size(); ++i) {
    const Span& span = tasks[row[i].value()];
    const double own = to_seconds(span.ended - span.started);
    const double shared = to_seconds(std::min(span.ended, to) - std::max(span.started, from));
    if (shared >= min_overlap * own) seconds.push_back(own);
  }
  return seconds;
}

}  // namespace

std::vector<Kernel> interference_kernels(bool quick) {
  std::vector<Kernel> kernels{streaming(TaskKind::pointwise, 192, 1),
                              streaming(TaskKind::pointwise, 3072, 1),
                              streaming(TaskKind::reduction, 2560, 4),
                              product(TaskKind::gemm, 80, 480, 720),
                              product(TaskKind::convolution, 640, 96, 440)};
  if (quick) return kernels;
  kernels.push_back(streaming(TaskKind::pointwise, 768, 2));
  kernels.push_back(streaming(TaskKind::pointwise, 1536, 1));
  kernels.push_back(streaming(TaskKind::reduction, 320, 1));
  kernels.push_back(streaming(TaskKind::reduction, 5120, 2));
  kernels.push_back(product(TaskKind::gemm, 440, 200, 440));
  kernels.push_back(product(TaskKind::convolution, 2400, 40, 200));
  kernels.push_back(product(TaskKind::convolution, 48, 240, 1600));
  return kernels;
}

std::vector<InterferenceSample> measure_interference(CalibrationBench& bench,
                                                     const Effort& effort,
                                                     bool quick) {
  if (bench.workers() < 2) return {};
  const std::vector<Kernel> kernels = interference_kernels(quick);
  const InterferenceCase experiment = interference_case(kernels, bench.workers());
  std::vector<std::vector<double>> seconds(experiment.rows.size());
  repeat(bench, experiment.what, effort, [&](const Execution& run) {
    std::vector<Span> tasks(experiment.what.graph.task_count());
    for (const TaskSpan& span : run.trace.tasks) {
      tasks[span.task.value()] = {.started = span.started, .ended = span.ended};
    }
    for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
      const std::vector<double> some =
          seconds_of(experiment.rows[i], tasks, operand_sets(kernels[experiment.rows[i].own]));
      seconds[i].insert(seconds[i].end(), some.begin(), some.end());
    }
  });
  std::vector<std::vector<double>> of_kernel(kernels.size());
  for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
    const Rows& rows = experiment.rows[i];
    if (rows.others) continue;
    std::vector<double>& all = of_kernel[rows.own];
    all.insert(all.end(), seconds[i].begin(), seconds[i].end());
  }
  std::vector<double> alone(kernels.size(), 0.0);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!of_kernel[k].empty()) alone[k] = typical(of_kernel[k]);
  }
  std::vector<InterferenceSample> readings;
  for (std::size_t i = 0; i < experiment.rows.size(); ++i) {
    const Rows& rows = experiment.rows[i];
    if (!rows.others || seconds[i].size() < min_read) continue;
    const double before = alone[rows.own];
    if (before <= 0) continue;
    readings.push_back({.kernel = kernels[rows.own],
                        .others = kernels[*rows.others],
                        .alone_seconds = before,
                        .slow_down = typical(seconds[i]) / before});
  }
  return readings;
}

void add_interference(const std::vector<InterferenceSample>& readings,
                      std::vector<CoRunSlowDown>& slow_downs) {
  for (const InterferenceSample& first : readings) {
    std::vector<double> factors;  // of this kernel
    for (const InterferenceSample& one : readings) {
      const bool streams = !runs_on_matrix_units(one.others.kind);
      if (one.kernel != first.kernel || !streams) continue;
      if (traffic(one.others) >= traffic(one.kernel)) factors.push_back(one.slow_down);
    }
    if (factors.empty()) continue;
    const double factor = std::clamp(median(std::move(factors)), 1.0, max_slow_down);
    const auto found = std::find_if(slow_downs.begin(), slow_downs.end(), [&](const auto& known) {
      return known.kind == first.kernel.kind;
    });
    if (found == slow_downs.end()) {
      slow_downs.push_back({first.kernel.kind, factor});
    } else {
      found->factor = std::max(found->factor, factor);
    }
  }
}

}  // namespace schedlab
