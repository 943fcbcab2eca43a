// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/executor/spin_lock.hpp"
#include "sim/graph/task_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace schedlab::detail {

// What proxy kernels have in common, whatever runs them.
inline constexpr std::size_t max_proxy_elements = std::size_t{1} << 28U;  ///< 1 GiB of fp32
/// So that operands of small kernels do not overlap.
inline constexpr std::size_t min_proxy_elements = std::size_t{1} << 20U;
/// Is the kernel a matrix product of a known shape?
[[nodiscard]] bool is_product(const Kernel& kernel);
/// Products of the kernel's shape side by side; of a product at least 1.
[[nodiscard]] std::int64_t product_count(const Kernel& kernel);
/// Elements of the array that all operands of a graph's kernels lie in. Throws InfeasibleError for
/// an operand of more than a quarter of the most.
[[nodiscard]] std::size_t proxy_elements(const TaskGraph& graph);
/// Elements of the array that all results lie in, the largest of which has so many: space for
/// several side by side, so that tasks at once do not share lines of a cache, and for more than
/// caches hold.
[[nodiscard]] std::size_t proxy_result_elements(std::size_t largest);
/// Where in an array of `capacity` elements an operand of `elements` begins: the same for all tasks
/// of an operation in one layer, as weights do. `which` operand of the operation.
[[nodiscard]] std::size_t operand_place(const TaskGraph& graph,
                                        TaskId task,
                                        std::size_t capacity,
                                        std::size_t elements,
                                        std::size_t which);

/// Runs kernels by their shapes, on data of no meaning: all operands lie in one array of random
/// numbers, each operation and layer at a place of its own, so that caches see about what they
/// would see of the real work. Results go to scratch memory that a block has to itself.
class ProxyShapes {
 public:
  explicit ProxyShapes(const TaskGraph& graph);

  void run(TaskId task, const Kernel& kernel, std::uint32_t block, std::uint32_t blocks);

 private:
  /// Where a thread puts results. Of its own: memory that another core wrote last is slow to write.
  struct Scratch {
    std::thread::id thread;
    std::unique_ptr<std::vector<float>> values;
  };

  [[nodiscard]] const float* operand(TaskId task, std::size_t elements, std::size_t which) const;
  /// That of the calling thread, of at least so many elements.
  [[nodiscard]] std::vector<float>& scratch(std::size_t elements);
  void multiply(TaskId task, const Kernel& kernel, std::uint32_t block, std::uint32_t blocks);
  void stream(TaskId task, const Kernel& kernel, std::uint32_t block, std::uint32_t blocks);

  const TaskGraph& graph_;
  std::vector<float> pool_;
  SpinLock lock_;
  std::vector<Scratch> scratch_;
};

}  // namespace schedlab::detail
