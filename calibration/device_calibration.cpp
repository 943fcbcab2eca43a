// SPDX-License-Identifier: Apache-2.0
#include "calibration/device_calibration.hpp"

#include "calibration/co_residency_fit.hpp"
#include "calibration/hidden_latency.hpp"
#include "calibration/micro_sweep.hpp"
#include "calibration/product_transfer.hpp"
#include "hw_models/profile_fits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/robust_statistics.hpp"
#include "sim/graph/product_layout.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <utility>

namespace schedlab {
namespace {

constexpr BenchEffort full_effort{.runs = 15};
constexpr BenchEffort quick_effort{.runs = 5};

// One output tile of 128 x 128 with a depth of 256, and what 2048 threads move in eight tensors of
// four bytes: assumed, libraries do not say how they cut.
constexpr CutRule assumed_cut{.flops_per_block = 2.0 * 128 * 128 * 256,
                              .bytes_per_block = 8.0 * 4 * 2048};

/// " nvidia h200 ": lower case, words between single spaces.
std::string in_words(std::string_view name) {
  std::string words = " ";
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      words += static_cast<char>(std::tolower(letter));
    } else if (words.back() != ' ') {
      words += ' ';
    }
  }
  if (words.back() != ' ') words += ' ';
  return words;
}

// No kernel has a second block.
constexpr CutRule uncut{.flops_per_block = 1e18, .bytes_per_block = 1e18};

// A kernel shorter than the scatter of the gap still takes some time.
constexpr double shortest_us = 0.01;

// The largest operands of proxy kernels.
constexpr Bytes most_flushed{std::int64_t{256} << 20U};

constexpr std::int64_t min_kib = 4;
constexpr std::int64_t max_kib = std::int64_t{64} << 10U;

/// The product of so many rows, in the sense of its layout: those of a batch are summed over where
/// the gradients of weights are computed.
MeasuredKernel product_of(
    ProductLayout layout, std::int64_t rows, std::int64_t n, std::int64_t k, DataType type) {
  const bool weights = layout == ProductLayout::tn;
  return {product_name(layout),
          weights ? gemm_kernel(k, n, rows, type, true) : gemm_kernel(rows, n, k, type, false)};
}

void add_products(DataType type, std::int64_t step, std::vector<MeasuredKernel>& kernels) {
  for (const ProductLayout layout : product_layouts) {
    for (std::int64_t rows = 16; rows <= 4096; rows *= step) {
      for (std::int64_t n = 64; n <= 4096; n *= step) {
        for (std::int64_t k = 64; k <= 4096; k *= 4) {
          kernels.push_back(product_of(layout, rows, n, k, type));
        }
      }
    }
  }
}

/// Of the layouts of gradients half as many.
void add_micro_sweep(DataType type, std::size_t count, std::vector<MeasuredKernel>& kernels) {
  for (const ProductLayout layout : product_layouts) {
    for (const MeasuredProduct& one :
         micro_sweep(layout == ProductLayout::nn ? count : count / 2)) {
      kernels.push_back(product_of(layout, one.m, one.n, one.k, type));
    }
  }
}

void add_memory_bound(DataType type, std::int64_t step, std::vector<MeasuredKernel>& kernels) {
  for (const TaskKind kind : {TaskKind::pointwise, TaskKind::reduction}) {
    for (std::int64_t kib = min_kib; kib <= max_kib; kib *= step) {
      for (const std::int64_t parts : {1, 4}) {  // bytes read per byte written
        kernels.emplace_back(Kernel{.kind = kind,
                                    .type = type,
                                    .flops = Flops{static_cast<double>(kib * 256)},
                                    .bytes_read = Bytes{kib * 1024},
                                    .bytes_written = Bytes{kib * 1024 / parts}});
      }
    }
  }
}

bool is_host_copy(TaskKind kind) {
  return kind == TaskKind::copy_host_to_device || kind == TaskKind::copy_device_to_host;
}

// Tasks that are scheduled are shorter; // assumed
constexpr Duration longest = std::chrono::milliseconds{50};

/// Is an operand larger than those of proxy kernels (a quarter of 2^28 elements)?
bool is_too_large(const Kernel& kernel) {
  constexpr std::int64_t most = std::int64_t{1} << 26U;
  return std::max({kernel.m * kernel.k, kernel.k * kernel.n, kernel.m * kernel.n}) > most;
}

/// Is it at least as large as one that was measured to be too long? Slow devices need no large
/// ones.
bool is_too_long(const Kernel& kernel, const std::vector<KernelSample>& measured) {
  return std::any_of(measured.begin(), measured.end(), [&](const KernelSample& sample) {
    const Kernel& other = sample.kernel;
    return sample.duration > longest && kernel.kind == other.kind && kernel.type == other.type &&
           kernel.m >= other.m && kernel.n >= other.n && kernel.k >= other.k &&
           kernel.bytes_read >= other.bytes_read;
  });
}

KernelProfile profile_of(DeviceBench& bench,
                         const Device& device,
                         double node_gap_us,
                         bool quick,
                         const RuleProgress& progress) {
  const DeviceFacts facts = bench.facts();
  KernelProfile profile;
  profile.date = facts.date;
  profile.cpu = facts.name;
  profile.compiler = facts.software;
  profile.units = std::max(1U, facts.units);
  profile.cut = facts.unit_kernels ? uncut : assumed_cut;
  profile.how = fmt::format(
      "schedlab calibrate --device {}{}: equal kernels in a row, {}; with their operands in the "
      "last-level cache and from memory; how kernels are cut is assumed",
      facts.kind,
      quick ? " --quick" : "",
      facts.device_graphs ? "in a device graph, what one more takes" : "each timed by events");
  const std::vector<MeasuredKernel> kernels = profiled_kernels(device, quick, !facts.device_graphs);
  std::vector<double> spreads;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i].kernel;
    progress(kernels[i].operation, i, kernels.size());
    if (!facts.computes(kernel.type) || is_too_large(kernel) ||
        is_too_long(kernel, profile.samples)) {
      continue;
    }
    for (KernelSample& sample : measure_in_and_out_of_cache(bench,
                                                            quick ? quick_effort : full_effort,
                                                            kernels[i],
                                                            device,
                                                            node_gap_us,
                                                            profile.cut)) {
      spreads.push_back(sample.spread);
      profile.samples.push_back(std::move(sample));
    }
  }
  profile.noise = median(std::move(spreads));
  for (const TaskKind kind : {TaskKind::pointwise, TaskKind::reduction}) {
    profile.co_run.push_back(measure_kernel_co_run(
        bench, quick ? quick_effort : full_effort, kind, node_gap_us, profile.cut, profile.units));
  }
  const ProfileFits fits{profile};
  profile.hidden_latency =
      measure_hidden_latency(bench, quick ? quick_effort : full_effort, profile, fits, node_gap_us);
  for (const KernelClass& one : fits.classes()) {
    profile.valid += fmt::format("{}{} {}: {}",
                                 profile.valid.empty() ? "" : "; ",
                                 one.operation(),
                                 to_string(one.type()),
                                 one.range_text());
  }
  return profile;
}

}  // namespace

MachineSpec with_number(MachineSpec machine, NumberSource number) {
  const auto known =
      std::find_if(machine.sources.begin(), machine.sources.end(), [&](const NumberSource& source) {
        return source.pointer == number.pointer;
      });
  if (known == machine.sources.end()) {
    machine.sources.push_back(std::move(number));
  } else {
    *known = std::move(number);
  }
  return machine;
}

MachineSpec base_machine(std::string_view device_name, const std::string& chosen) {
  if (!chosen.empty()) return load_machine(chosen);
  const std::string name = in_words(device_name);
  std::string best;
  for (const std::string& machine : machine_names()) {
    if (name.find(in_words(machine)) == std::string::npos) continue;
    if (machine.size() > best.size()) best = machine;
  }
  if (best.empty()) {
    throw InputError({.file = "--base",
                      .pointer = {},
                      .found = fmt::format("device \"{}\"", device_name),
                      .expected = "a machine that it resembles",
                      .hint = fmt::format("name one of: {}", fmt::join(machine_names(), ", "))});
  }
  return load_machine(best);
}

std::vector<MeasuredKernel> profiled_kernels(const Device& device, bool quick, bool all_sizes) {
  const std::int64_t step = quick ? 16 : 4;
  const std::int64_t bytes_step = all_sizes && !quick ? 2 : step;
  std::vector<MeasuredKernel> kernels;
  for (const DataType type : {DataType::fp32, DataType::tf32, DataType::bf16}) {
    if (device.rates.matrix[static_cast<std::size_t>(type)].count() == 0.0) continue;
    if (pipelined_library(device, type) != nullptr) {
      add_micro_sweep(type, quick ? 20 : 50, kernels);
    } else {
      add_products(type, step, kernels);
    }
    add_memory_bound(type, bytes_step, kernels);
  }
  for (const TaskKind kind : {TaskKind::copy_device_to_device,
                              TaskKind::copy_host_to_device,
                              TaskKind::copy_device_to_host}) {
    for (std::int64_t kib = min_kib; kib <= max_kib; kib *= bytes_step) {
      kernels.emplace_back(copy_kernel(kind, kib * 1024, DataType::fp32));
    }
  }
  return kernels;
}

namespace {

/// Kernels in a row in each of several streams, launched in turn and timed.
Microbenchmark timed_streams(std::size_t streams, std::size_t count, const Kernel& kernel) {
  MicrobenchmarkBuilder made{fmt::format("{} streams of {} kernels", streams, count)};
  std::vector<StreamId> all;
  for (std::size_t i = 0; i < streams; ++i) all.push_back(made.stream());
  for (std::size_t i = 0; i < count; ++i) {
    for (const StreamId stream : all) made.launch(stream, made.kernel(kernel));
  }
  return std::move(made).with_task_times();
}

/// Of a kernel beside as many as the units run, by the device's own clock, over one alone.
double co_run_by_events(DeviceBench& bench,
                        const BenchEffort& effort,
                        Kernel kernel,
                        std::uint32_t chains,
                        std::uint32_t units) {
  constexpr std::size_t count = 50;
  kernel.grid.blocks = std::max(1U, units / chains);
  const auto typical = [&](std::size_t streams) {
    const Microbenchmark benchmark = timed_streams(streams, count, kernel);
    return median(read_runs(bench, benchmark, effort, [](const BenchRun& run) {
      std::vector<double> each;
      for (const TaskSpan& span : run.trace.tasks) each.push_back(to_us(span.ended - span.started));
      return median(std::move(each));
    }));
  };
  return typical(chains) / std::max(typical(1), shortest_us);
}

}  // namespace

CoRunSlowDown measure_kernel_co_run(DeviceBench& bench,
                                    const BenchEffort& effort,
                                    TaskKind kind,
                                    double node_gap_us,
                                    const CutRule& cut,
                                    std::uint32_t units) {
  constexpr std::uint32_t max_chains = 16;
  constexpr std::size_t few = 5;
  constexpr std::size_t many = 25;
  const std::uint32_t chains = std::min(max_chains, units);
  // Each chain has an equal part of the units: half of the bytes are read, half written.
  const auto bytes =
      static_cast<std::int64_t>(cut.bytes_per_block / 2) * std::max(1U, units / chains);
  const Kernel kernel{.kind = kind,
                      .flops = Flops{static_cast<double>(bytes) / 4},
                      .bytes_read = Bytes{bytes},
                      .bytes_written = Bytes{bytes}};
  if (!bench.facts().device_graphs) {  // between single launches the host would decide
    return {.kind = kind,
            .factor = std::max(1.0, co_run_by_events(bench, effort, kernel, chains, units))};
  }
  const auto per_kernel = [&](std::size_t side_by_side) {
    const std::vector<double> each = slopes(
        read_runs(bench, graph_chains(side_by_side, few, kernel), effort, after_graph_launch_us),
        read_runs(bench, graph_chains(side_by_side, many, kernel), effort, after_graph_launch_us),
        many - few);
    return std::max(median(each) - node_gap_us, shortest_us);
  };
  return {.kind = kind, .factor = std::max(1.0, per_kernel(chains) / per_kernel(1))};
}

namespace {

/// What one more kernel takes in a device graph.
std::vector<double> durations_in_graphs(DeviceBench& bench,
                                        const BenchEffort& effort,
                                        const MeasuredKernel& kernel,
                                        double node_gap_us,
                                        Bytes flushed) {
  const auto read = [&](std::size_t count, std::size_t runs) {
    return read_runs(
        bench, graph_chain(count, kernel, flushed), {.runs = runs}, after_graph_launch_us);
  };
  // Of kernels that last, a few are enough.
  constexpr std::size_t few = 5;
  constexpr std::size_t few_runs = 3;
  const bool lasts = read(few, 1).front() > to_us(longest) / 5;
  const std::size_t many = few * (lasts ? 2 : 5);
  const std::size_t runs = lasts ? std::min(effort.runs, few_runs) : effort.runs;
  std::vector<double> durations = slopes(read(few, runs), read(many, runs), many - few);
  for (double& one : durations) one = std::max(one - node_gap_us, shortest_us);
  return durations;
}

/// What the device's own clock says of each kernel; of a run the median.
std::vector<double> durations_by_events(DeviceBench& bench,
                                        const BenchEffort& effort,
                                        const MeasuredKernel& kernel,
                                        Bytes flushed) {
  const auto read = [&](std::size_t count, std::size_t runs) {
    const Microbenchmark benchmark = timed_chain(count, kernel, flushed);
    return read_runs(bench, benchmark, {.runs = runs}, [&](const BenchRun& run) {
      std::vector<double> each;
      for (const TaskSpan& span : run.trace.tasks) {
        if (benchmark.graph.operation(span.task).name != kernel.operation) continue;  // the flush
        each.push_back(to_us(span.ended - span.started));
      }
      return std::max(median(std::move(each)), shortest_us);
    });
  };
  // Of kernels that last, a few are enough.
  constexpr std::size_t few = 3;
  constexpr std::size_t many = 10;
  const std::vector<double> first = read(1, 1);
  // The flush before each kernel takes longer than most of them.
  const std::size_t runs = flushed > Bytes{0} ? (effort.runs + 1) / 2 : effort.runs;
  return first.front() > to_us(longest) / many ? read(1, std::min(effort.runs, few))
                                               : read(many, runs);
}

}  // namespace

KernelSample measure_kernel(DeviceBench& bench,
                            const BenchEffort& effort,
                            const MeasuredKernel& kernel,
                            double node_gap_us,
                            const CutRule& cut,
                            std::uint32_t units,
                            Bytes flushed) {
  const std::vector<double> durations =
      bench.facts().device_graphs ? durations_in_graphs(bench, effort, kernel, node_gap_us, flushed)
                                  : durations_by_events(bench, effort, kernel, flushed);
  const RobustSummary summary = robust_summary(durations);
  KernelSample sample{.operation = kernel.operation,
                      .kernel = kernel.kernel,
                      .units = units,
                      .duration = from_us(summary.median),
                      .spread = summary.spread,
                      .repetitions = static_cast<std::uint32_t>(summary.count)};
  sample.kernel.grid.blocks =
      is_host_copy(kernel.kernel.kind) ? 1 : cut.blocks(kernel.kernel, units);
  return sample;
}

std::vector<KernelSample> measure_in_and_out_of_cache(DeviceBench& bench,
                                                      const BenchEffort& effort,
                                                      const MeasuredKernel& kernel,
                                                      const Device& device,
                                                      double node_gap_us,
                                                      const CutRule& cut) {
  const std::uint32_t units = std::max(1U, bench.facts().units);
  const Bytes cache = is_host_copy(kernel.kernel.kind) ? Bytes{0} : device.rates.l2;
  const Bytes moved = kernel.kernel.bytes_read + kernel.kernel.bytes_written;
  std::vector<KernelSample> samples;
  if (cache == Bytes{0} || moved + moved <= cache) {
    samples.push_back(measure_kernel(bench, effort, kernel, node_gap_us, cut, units));
    if (cache == Bytes{0}) return samples;
    samples.back().kernel.bytes_cached = kernel.kernel.bytes_read;
    samples.back().kernel.working_set = moved;
  }
  const Bytes flushed = std::min(cache + cache, most_flushed);
  samples.push_back(measure_kernel(bench, effort, kernel, node_gap_us, cut, units, flushed));
  samples.back().kernel.working_set = flushed + moved;
  return samples;
}

MachineSpec with_measured_rules(MachineSpec base, const DeviceReport& sheet) {
  for (const MeasuredRule& rule : sheet.rules) {
    if (rule.pointer.empty() || !rule.value || rule.at_least) continue;
    const bool counts = rule.unit == "count";
    const double value = counts ? std::round(*rule.value) : std::max(0.0, *rule.value);
    base =
        with_number(std::move(base),
                    {.pointer = rule.pointer,
                     .value = value,
                     .origin = Origin::measured,
                     .text = fmt::format("schedlab calibrate on {}, {}: rule {}, median of {} runs",
                                         sheet.device,
                                         sheet.date.empty() ? "undated" : sheet.date,
                                         rule.name,
                                         rule.runs),
                     .low = counts ? 0.0 : std::max(0.0, rule.low),
                     .high = counts ? 0.0 : std::max(0.0, rule.high)});
  }
  // What a reader makes of the text is what the caller gets: numbers where they belong.
  const std::string file = base.name;
  return read_machine(write_machine(base), file);
}

DeviceCalibration calibrate_device(DeviceBench& bench,
                                   const MachineSpec& base,
                                   const DeviceCalibrationOptions& options,
                                   const RuleProgress& progress) {
  MachineSpec named = base;
  for (NumberSource& number : bench.tune(options.quick, progress)) {
    named = with_number(std::move(named), std::move(number));
  }
  const DeviceFacts facts = bench.facts();
  DeviceCalibration made;
  made.rules = make_device_report(
      bench, base.platform, options.quick ? quick_effort : full_effort, progress);

  named.name = options.name;
  named.platform.name = options.name;
  named.description = fmt::format("{}, measured on {} with {}; what was not measured is that of {}",
                                  facts.name,
                                  facts.date.empty() ? "an unknown date" : facts.date,
                                  facts.software,
                                  base.name);
  named.platform.devices[DeviceId{0}].name = facts.name;
  MachineSpec measured = with_measured_rules(std::move(named), made.rules);
  if (const auto fit = fit_co_residency(measured.platform, made.rules)) {
    measured = with_number(std::move(measured), co_residency_source(*fit, made.rules));
  }
  const MeasuredRule* const gap = made.rules.find("graph_node_gap");
  const double node_gap_us = gap != nullptr && gap->value ? *gap->value : 0.0;
  Device& device = measured.platform.devices[DeviceId{0}];
  device.profile = std::make_shared<const KernelProfile>(
      profile_of(bench, device, node_gap_us, options.quick, progress));
  made.machine = read_machine(write_machine(measured), options.name);
  return made;
}

}  // namespace schedlab
