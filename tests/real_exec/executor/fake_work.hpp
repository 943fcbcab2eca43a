// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/cpu/cpu_work.hpp"
#include "sim/graph/task_graph.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace schedlab::testing {

/// Tasks of one kernel that count how often they ran, and find out whether what they need is done.
class FakeWork : public CpuWork {
 public:
  explicit FakeWork(const TaskGraph& graph, std::uint32_t blocks = 1)
      : graph_(graph), blocks_(blocks), done_(graph.task_count()) {}

  [[nodiscard]] std::size_t kernel_count(TaskId /*task*/) const override { return kernels; }
  [[nodiscard]] std::uint32_t blocks(TaskId /*task*/, std::size_t /*kernel*/) const override {
    return blocks_;
  }
  void run(TaskId task, std::size_t kernel, std::uint32_t block) override {
    for (const TaskId needed : graph_.predecessors(task)) {
      if (done_[needed.value()].load() != blocks_ * kernels) ++too_early;
    }
    if (kernel > 0 && done_[task.value()].load() < blocks_ * kernel) ++too_early;
    if (body) body(task, block);
    ++done_[task.value()];
  }
  void reset() override {
    for (auto& count : done_) count = 0;
  }

  [[nodiscard]] std::uint32_t runs(TaskId task) const { return done_[task.value()].load(); }
  [[nodiscard]] bool all_ran_once() const {
    for (const auto& count : done_) {
      if (count.load() != blocks_ * kernels) return false;
    }
    return true;
  }

  std::size_t kernels = 1;
  std::atomic<int> too_early{0};
  std::function<void(TaskId, std::uint32_t)> body;

 private:
  const TaskGraph& graph_;
  std::uint32_t blocks_;
  std::vector<std::atomic<std::uint32_t>> done_;
};

}  // namespace schedlab::testing
