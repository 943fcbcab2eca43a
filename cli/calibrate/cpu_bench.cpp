// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate/cpu_bench.hpp"

#include "cli/calibrate/system_caches.hpp"
#include "cli/execution.hpp"
#include "real_exec/gemm.hpp"
#include "real_exec/proxy_work.hpp"
#include "real_exec/recurrent_work.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

constexpr std::uint64_t seed = 1;  // of the numbers in the models

/// Tasks with kernels copy their bytes, block by block, each task the same ones; others spin.
class CopyWork final : public CpuWork {
 public:
  explicit CopyWork(const TaskGraph& graph) : graph_(graph) {
    std::int64_t most = 0;
    for (const Operation& operation : graph.operations()) {
      for (const Kernel& kernel : operation.kernels) {
        most = std::max(most, kernel.bytes_read.count());
      }
    }
    from_.assign(static_cast<std::size_t>(most), std::byte{1});
    to_.assign(static_cast<std::size_t>(most), std::byte{0});
  }

  [[nodiscard]] std::size_t kernel_count(TaskId task) const override {
    return std::max<std::size_t>(1, graph_.operation(task).kernels.size());
  }
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const override {
    const auto& kernels = graph_.operation(task).kernels;
    return kernels.empty() ? 1 : std::max(1U, kernels[kernel].grid.blocks);
  }
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override {
    const auto& kernels = graph_.operation(task).kernels;
    if (kernels.empty()) {
      spin_.run(graph_.fixed_duration(task));
      return;
    }
    const auto bytes = static_cast<std::size_t>(kernels[kernel].bytes_read.count());
    const std::size_t all = blocks(task, kernel);
    const std::size_t begin = bytes * block / all;
    const std::size_t end = bytes * (block + 1) / all;
    std::memcpy(to_.data() + begin, from_.data() + begin, end - begin);
  }

 private:
  const TaskGraph& graph_;
  SpinWork spin_;
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
};

std::string today() {
  return fmt::format(
      "{:%Y-%m-%d}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace

CpuBench::CpuBench(std::uint32_t workers, const StopFlag* stop) {
  CpuExecutorOptions options{.workers = workers,
                             .host = HostPlacement::preloaded,
                             .stop = stop,
                             .prepare_worker = prepare_worker_thread};
  preloaded_ = std::make_unique<CpuExecutor>(options);
  options.workers = preloaded_->workers();
  options.host =
      options.workers < available_cores() ? HostPlacement::own_core : HostPlacement::shares_core;
  with_host_ = std::make_unique<CpuExecutor>(options);
}

CpuBench::~CpuBench() = default;

std::uint32_t CpuBench::workers() const {
  return preloaded_->workers();
}

BenchDevice CpuBench::device() const {
  return {.cpu = processor_name(),
          .compiler = compiler_name(),
          .library = std::string{gemm_library()},
          .date = today(),
          .last_level_cache = last_level_cache()};
}

void CpuBench::run(const BenchCase& what, const std::function<bool(const Execution&)>& again) {
  CpuExecutor& executor = what.preloaded ? *preloaded_ : *with_host_;
  const CostTable costs{what.graph, ideal_platform()};
  std::unique_ptr<CpuWork> work;
  if (what.recurrent) {
    work = std::make_unique<RecurrentWork>(*what.recurrent, what.graph, seed);
  } else if (what.stand_ins) {
    work =
        std::make_unique<ProxyWork>(what.graph, costs, ProxyOptions{.workers = executor.workers()});
  } else {
    work = std::make_unique<CopyWork>(what.graph);
  }
  Execution execution;
  do {
    executor.run(what.graph, what.plan, *work, execution);
  } while (again(execution));
}

}  // namespace schedlab
