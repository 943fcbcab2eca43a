// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/spin_lock.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace schedlab::detail {

/// Runs kernels by their shapes, on data of no meaning: all operands lie in one array of random
/// numbers, each operation and layer at a place of its own, so that caches see about what they
/// would see of the real work. Results go to scratch memory that a block has to itself.
class ProxyShapes {
 public:
  explicit ProxyShapes(const TaskGraph& graph);

  void run(TaskId task, const Kernel& kernel, std::uint32_t block, std::uint32_t blocks);

 private:
  using Scratch = std::unique_ptr<std::vector<float>>;

  [[nodiscard]] const float* operand(TaskId task, std::size_t elements, std::size_t which) const;
  [[nodiscard]] Scratch take_scratch(std::size_t elements);
  void give_back(Scratch scratch);
  void multiply(TaskId task, const Kernel& kernel, std::uint32_t block, std::uint32_t blocks);
  void stream(TaskId task, const Kernel& kernel, std::uint32_t block, std::uint32_t blocks);

  const TaskGraph& graph_;
  std::vector<float> pool_;
  SpinLock lock_;
  std::vector<Scratch> scratch_;
};

}  // namespace schedlab::detail
