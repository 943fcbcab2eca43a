// SPDX-License-Identifier: Apache-2.0
#include "calibration/cpu_bench.hpp"

#include "calibration/system_caches.hpp"
#include "real_exec/cpu/processor_name.hpp"
#include "real_exec/cpu/proxy_work.hpp"
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/machine/cost_model.hpp"
#include "sim/machine/platform.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

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

/// Every kernel reads its bytes, in huge pages as the arrays of models are; all start at the first
/// byte, and each block reads its part of them.
class ReadWork final : public CpuWork {
 public:
  explicit ReadWork(const TaskGraph& graph) : graph_(graph) {
    std::int64_t most = 0;
    for (const Operation& operation : graph.operations()) {
      most = std::max(most, operation.bytes_read().count());
    }
    const auto bytes = static_cast<std::size_t>(most);
    words_.reset(static_cast<std::uint64_t*>(::operator new(bytes, huge_page)));
#ifdef __linux__
    // A wish: without it reads miss in the address translation too.
    static_cast<void>(madvise(words_.get(), bytes, MADV_HUGEPAGE));
#endif
    std::fill_n(words_.get(), bytes / sizeof(std::uint64_t), 1);
  }

  [[nodiscard]] std::size_t kernel_count(TaskId /*task*/) const override {
    return 1;
  }
  [[nodiscard]] std::uint32_t blocks(TaskId task, std::size_t kernel) const override {
    return std::max(1U, graph_.operation(task).kernels[kernel].grid.blocks);
  }
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override {
    constexpr std::size_t words_per_line = 8;
    const Bytes bytes = graph_.operation(task).kernels[kernel].bytes_read;
    const auto words = static_cast<std::size_t>(bytes.count()) / sizeof(std::uint64_t);
    const std::size_t all = blocks(task, kernel);
    const std::size_t end = words * (block + 1) / all;
    const std::uint64_t* const from = words_.get();
    std::uint64_t sum = 0;
    for (std::size_t i = words * block / all; i < end; i += words_per_line) sum += from[i];
    sum_.fetch_add(sum, std::memory_order_relaxed);  // so that nothing of it can be left out
  }

 private:
  const TaskGraph& graph_;
  static constexpr std::align_val_t huge_page{std::size_t{2} << 20U};  // elsewhere only alignment
  struct Free {
    void operator()(std::uint64_t* words) const { ::operator delete(words, huge_page); }
  };
  std::unique_ptr<std::uint64_t, Free> words_;
  std::atomic<std::uint64_t> sum_{0};
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
  const SystemCaches caches = system_caches();
  return {.cpu = processor_name(),
          .compiler = compiler_name(),
          .library = std::string{gemm_library()},
          .date = today(),
          .last_level_cache = caches.last,
          .unit_cache = caches.unit};
}

void CpuBench::run(const BenchCase& what, const std::function<bool(const Execution&)>& again) {
  CpuExecutor& executor = what.preloaded ? *preloaded_ : *with_host_;
  const CostTable costs{what.graph, ideal_platform()};
  std::unique_ptr<CpuWork> work;
  if (what.recurrent) {
    work = std::make_unique<RecurrentWork>(*what.recurrent, what.graph, seed);
  } else if (what.proxies) {
    work =
        std::make_unique<ProxyWork>(what.graph, costs, ProxyOptions{.workers = executor.workers()});
  } else if (what.reads) {
    work = std::make_unique<ReadWork>(what.graph);
  } else {
    work = std::make_unique<CopyWork>(what.graph);
  }
  Execution execution;
  do {
    executor.run(what.graph, what.plan, *work, execution);
  } while (again(execution));
}

}  // namespace schedlab
