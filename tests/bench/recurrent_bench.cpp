// SPDX-License-Identifier: Apache-2.0
// LSTM training steps on this computer's cores: RecurrentWork under plans of several policies,
// against oneDNN's LSTM primitive on as many threads.
//
//   recurrent_bench                     the table of docs/real_kernels.md
//   recurrent_bench --seconds=1         shorter, per shape and number of threads
//   recurrent_bench --shape=4,256,32,50 layers, hidden, batch, steps
//   recurrent_bench --write=DIR         inputs, weights and outputs for scripts/torch_lstm.py
//
// Ours is the whole step: copy in, forward, loss, backward, update of the weights with their
// transposes, copy out. oneDNN's is forward and backward; its loss, update and reorders are not in
// its time. Runs of all take turns, the fastest of each counts: other programs may run beside.
#include "hw_models/roofline.hpp"
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/gemm_panels.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "real_exec/vendor/onednn_lstm.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/bench/recurrent_files.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedlab::bench {
namespace {

double milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

double to_ms(Duration duration) {
  return to_us(duration) * 1e-3;
}

/// FLOP/s of one thread's matrix products whose operands are in its first-level cache.
double cached_rate() {
  constexpr std::ptrdiff_t rows = 8;
  constexpr std::ptrdiff_t k = 128;
  constexpr std::ptrdiff_t n = 48;
  std::vector<float> memory(rows * k + k * n + rows * n + 16, 0.5F);
  void* begin = memory.data();
  std::size_t space = memory.size() * sizeof(float);
  auto* a = static_cast<float*>(std::align(64, sizeof(float), begin, space));
  const detail::PanelProduct product{
      .a = a, .b = a + rows * k, .c = a + rows * k + k * n, .rows = rows, .k = k, .b_rows = k};
  constexpr int calls = 5000;
  double best = 0;
  for (int repetition = 0; repetition < 20; ++repetition) {
    const double start = milliseconds();
    for (int i = 0; i < calls; ++i) detail::multiply(product, {0, n / 16});
    best = std::max(best, calls * 2.0 * rows * k * n / (milliseconds() - start) * 1e3);
  }
  return best;
}

Platform cores(std::uint32_t count, double rate) {
  Platform platform;
  platform.name = "cores";
  platform.sharing = SharingModel::fluid;
  Device& device = platform.devices[DeviceId{0}];
  device.name = "cores";
  device.priority_levels = 8;
  device.unit_classes.push_back({.name = "core", .count = count});
  device.unit_class_of.fill(UnitClassId{0});
  const auto fp32 = static_cast<std::size_t>(DataType::fp32);
  device.rates.matrix[fp32] = FlopRate{0.8 * rate * count};
  device.rates.vector[fp32] = FlopRate{0.05 * rate * count};
  device.rates.memory = 30_GB_per_s;
  device.rates.host_to_device = 10_GB_per_s;
  device.rates.device_to_host = 10_GB_per_s;
  return platform;
}

/// One way to run the step: a graph, a plan, and the fastest run so far.
struct Candidate {
  std::string name;
  TaskGraph graph;
  Plan plan;
  std::unique_ptr<RecurrentWork> work;
  double best = 1e30;
};

std::vector<std::unique_ptr<Candidate>> candidates(const RecurrentSpec& shape,
                                                   std::uint32_t threads,
                                                   double rate) {
  std::vector<std::unique_ptr<Candidate>> made;
  struct Choice {
    std::string policy;
    std::string_view name;
    Granularity granularity;
  };
  const Platform platform = cores(threads, rate);
  for (const Choice& choice :
       {Choice{"layer_by_layer", "fine", Granularity::fine},
        Choice{"layer_by_layer", "kernel_and_weight", Granularity::kernel_and_weight},
        Choice{"single_stream", "fine", Granularity::fine},
        Choice{"diagonal", "fine", Granularity::fine},
        Choice{"heft", "fine", Granularity::fine}}) {
    RecurrentSpec spec = shape;
    spec.granularity = choice.granularity;
    spec.accumulation = Accumulation::batched;
    auto candidate = std::make_unique<Candidate>();
    candidate->name = fmt::format("{} {}", choice.policy, choice.name);
    candidate->graph = CutKernels{{}, threads}.apply(recurrent(spec));
    const CostTable costs{candidate->graph, platform, Roofline{}};
    const Problem problem{candidate->graph, platform, costs};
    candidate->plan = make_policy(choice.policy)->plan(problem);
    candidate->work = std::make_unique<RecurrentWork>(spec, candidate->graph, 1);
    made.push_back(std::move(candidate));
  }
  return made;
}

/// Largest difference of a result of ours from oneDNN's, as a share of its norm.
double disagreement(const RecurrentResults<float>& a, const RecurrentResults<float>& b) {
  const auto difference = [](const std::vector<float>& x, const std::vector<float>& y) {
    double sum = 0;
    double norm = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
      sum += d * d;
      norm += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
    return std::sqrt(sum / norm);
  };
  double worst = std::max(difference(a.y, b.y), difference(a.dx, b.dx));
  for (std::size_t i = 0; i < a.chains.size(); ++i) {
    const auto& x = a.chains[i];
    const auto& y = b.chains[i];
    worst = std::max({worst,
                      difference(x.dwx, y.dwx),
                      difference(x.dwh, y.dwh),
                      difference(x.dbias, y.dbias),
                      difference(x.dh0, y.dh0)});
  }
  return worst;
}

struct Times {
  double forward_backward = 1e30;
  double reorder = 1e30;
};

void run_once(OnednnLstm& lstm, int threads, Times& best) {
  OnednnLstm::set_threads(threads);
  lstm.reset();
  const double start = milliseconds();
  lstm.forward();
  const double middle = milliseconds();
  lstm.loss();
  const double again = milliseconds();
  lstm.backward();
  const double end = milliseconds();
  lstm.reorder_weights();
  best.reorder = std::min(best.reorder, milliseconds() - end);
  best.forward_backward = std::min(best.forward_backward, middle - start + end - again);
}

void measure(const RecurrentSpec& spec, std::uint32_t threads, double rate, double seconds) {
  CpuExecutorOptions options;
  options.workers = threads;
  options.host = HostPlacement::preloaded;
  options.record_blocks = false;
  options.record_hosts = false;
  CpuExecutor executor{options};
  auto ours = candidates(spec, threads, rate);
  std::unique_ptr<OnednnLstm> other;
  if (OnednnLstm::available()) {
    other = std::make_unique<OnednnLstm>(spec, ours.front()->work->inputs());
  }
  Times theirs;
  Execution execution;
  const double end = milliseconds() + seconds * 1e3;
  for (int round = 0; round < 2 || milliseconds() < end; ++round) {
    for (auto& candidate : ours) {
      if (other) run_once(*other, static_cast<int>(threads), theirs);
      candidate->work->reset();
      executor.run(candidate->graph, candidate->plan, *candidate->work, execution);
      const double took = to_ms(execution.trace.ended - Time{});
      candidate->best = std::min(candidate->best, took);
    }
  }
  std::sort(
      ours.begin(), ours.end(), [](const auto& a, const auto& b) { return a->best < b->best; });
  double flops = 0;
  const TaskGraph& graph = ours.front()->graph;
  for (const TaskId task : graph.tasks()) flops += graph.operation(task).flops().count();
  fmt::print("{},{},{},{} | {} | {:.1f} |",
             spec.layers,
             spec.hidden,
             spec.batch,
             spec.steps,
             threads,
             flops / (rate * threads) * 1e3);
  if (other) {
    const double apart = disagreement(ours.front()->work->results(), other->results());
    if (apart > 1e-4) throw std::runtime_error(fmt::format("results are {:.2g} apart", apart));
    fmt::print(" {:.1f} (reorders {:.1f}) |", theirs.forward_backward, theirs.reorder);
    fmt::print(
        " {:.1f} | {:.3f} |", ours.front()->best, ours.front()->best / theirs.forward_backward);
  } else {
    fmt::print(" - | {:.1f} | - |", ours.front()->best);
  }
  fmt::print(" {} |", ours.front()->name);
  for (std::size_t i = 1; i < ours.size(); ++i) {
    fmt::print("{} {} {:.1f}", i == 1 ? "" : ",", ours[i]->name, ours[i]->best);
  }
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = -1;
  fmt::print(" | {:.1f}\n", load);
  std::fflush(stdout);
}

RecurrentSpec shape(const std::string& text) {
  RecurrentSpec spec;
  char comma = 0;
  std::istringstream in{text};
  in >> spec.layers >> comma >> spec.hidden >> comma >> spec.batch >> comma >> spec.steps;
  if (!in) throw std::runtime_error("--shape=LAYERS,HIDDEN,BATCH,STEPS, found " + text);
  spec.pass = RecurrentPass::training;
  spec.tensors = false;
  return spec;
}

}  // namespace

int run(int argc, char** argv) {
  std::vector<std::string> shapes{"4,256,32,50", "4,512,64,20", "8,256,16,50", "2,1024,32,20"};
  double seconds = 20;
  std::string folder;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.starts_with("--seconds=")) {
      seconds = std::stod(flag.substr(10));
    } else if (flag.starts_with("--shape=")) {
      shapes = {flag.substr(8)};
    } else if (flag.starts_with("--write=")) {
      folder = flag.substr(8);
    } else {
      fmt::print(stderr,
                 "usage: recurrent_bench [--seconds=S] [--shape=LAYERS,HIDDEN,BATCH,STEPS] "
                 "[--write=FOLDER]\n");
      return 2;
    }
  }
  const double rate = cached_rate();
  fmt::print("one thread on data in its cache: {:.0f} GFLOP/s\n", rate * 1e-9);
  fmt::print(
      "layers,hidden,batch,steps | threads | FLOPs / that rate | oneDNN ms | ours ms | ratio | by "
      "| others | load average\n");
  for (const std::string& text : shapes) {
    const RecurrentSpec spec = shape(text);
    for (std::uint32_t threads = 1; threads <= std::min(2U, available_cores()); ++threads) {
      measure(spec, threads, rate, seconds);
    }
    if (!folder.empty()) write_files(spec, folder);
  }
  return 0;
}

}  // namespace schedlab::bench
