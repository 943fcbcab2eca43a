// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/proxy_shapes.hpp"

#include "real_exec/recurrent/gemm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "sim/graph/product_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>

namespace schedlab::detail {
namespace {

std::size_t elements_of(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count()) / sizeof(float) + 1;
}

/// Elements that the largest operand of a kernel has.
std::size_t largest_operand(const Kernel& kernel) {
  if (!is_product(kernel)) return elements_of(kernel.bytes_read);
  const auto m = static_cast<std::size_t>(kernel.m);
  const auto n = static_cast<std::size_t>(kernel.n);
  const auto k = static_cast<std::size_t>(kernel.k);
  return std::max({m * k, k * n, m * n});
}

}  // namespace

bool is_product(const Kernel& kernel) {
  return (kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution) && kernel.m > 0 &&
         kernel.n > 0 && kernel.k > 0;
}

std::int64_t product_count(const Kernel& kernel) {
  const double one = 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                     static_cast<double>(kernel.k);
  return one > 0 ? std::max<std::int64_t>(std::llround(kernel.flops.count() / one), 1) : 0;
}

std::size_t proxy_elements(const TaskGraph& graph) {
  std::size_t wanted = min_proxy_elements;
  std::size_t sets = 2;  // of operands: one for each layer
  for (const TaskId task : graph.tasks()) {
    sets = std::max(sets, static_cast<std::size_t>(graph.tags(task).layer + 1));
  }
  for (const Operation& operation : graph.operations()) {
    for (const Kernel& kernel : operation.kernels) {
      const std::size_t largest = largest_operand(kernel);
      if (largest > max_proxy_elements / 4) {
        throw InfeasibleError(
            fmt::format("operation {} has an operand of {} elements: too large for a proxy, whose "
                        "data are at most 1 GiB; let it spin instead",
                        operation.name,
                        largest));
      }
      wanted = std::max(wanted, 8 * sets * largest);
    }
  }
  return std::min(wanted, max_proxy_elements);
}

std::size_t operand_place(const TaskGraph& graph,
                          TaskId task,
                          std::size_t capacity,
                          std::size_t elements,
                          std::size_t which) {
  const auto layer = static_cast<std::size_t>(graph.tags(task).layer + 1);
  const std::size_t operation = graph.operation_id(task).value();
  const std::size_t place = (operation * 3 + which) * 64 + layer;
  constexpr std::size_t line = 16;  // elements of a cache line
  // Layers do not overlap, as far as they fit.
  const std::size_t step = std::max<std::size_t>(40503, elements / line + 1);
  return place * step % ((capacity - elements) / line + 1) * line;
}

std::size_t proxy_result_elements(std::size_t largest) {
  constexpr std::size_t most = std::size_t{1} << 26U;  // 256 MiB of fp32: beyond any cache
  return std::max({4 * largest, std::min(32 * largest, most), min_proxy_elements});
}

ProxyShapes::ProxyShapes(const TaskGraph& graph) : graph_(graph) {
  pool_.resize(proxy_elements(graph));
  Rng rng{1};
  // A pattern that repeats: what is computed does not matter, only that nothing is a special value.
  constexpr std::size_t period = 4096;
  for (std::size_t i = 0; i < std::min(period, pool_.size()); ++i) {
    pool_[i] = static_cast<float>(rng.uniform() - 0.5);
  }
  for (std::size_t i = period; i < pool_.size(); ++i) pool_[i] = pool_[i - period];
}

const float* ProxyShapes::operand(TaskId task, std::size_t elements, std::size_t which) const {
  return pool_.data() + operand_place(graph_, task, pool_.size(), elements, which);
}

std::vector<float>& ProxyShapes::scratch(std::size_t elements) {
  const std::thread::id self = std::this_thread::get_id();
  std::vector<float>* own = nullptr;
  {
    const std::lock_guard guard(lock_);
    auto found = std::find_if(
        scratch_.begin(), scratch_.end(), [&](const Scratch& one) { return one.thread == self; });
    if (found == scratch_.end()) {
      scratch_.push_back({.thread = self, .values = std::make_unique<std::vector<float>>()});
      found = scratch_.end() - 1;
    }
    own = found->values.get();
  }
  if (own->size() < elements) own->resize(elements);
  return *own;
}

void ProxyShapes::run(TaskId task,
                      const Kernel& kernel,
                      std::uint32_t block,
                      std::uint32_t blocks) {
  if (is_product(kernel)) {
    multiply(task, kernel, block, blocks);
  } else {
    stream(task, kernel, block, blocks);
  }
}

/// C[m, columns of the block] = A[m, k] * B[k, columns] in the kernel's layout, added to C where
/// the kernel accumulates, as often as there are products.
void ProxyShapes::multiply(TaskId task,
                           const Kernel& kernel,
                           std::uint32_t block,
                           std::uint32_t blocks) {
  const std::int64_t first = kernel.n * block / blocks;
  const std::int64_t columns = kernel.n * (block + 1) / blocks - first;
  if (columns == 0) return;
  const float* const a = operand(task, static_cast<std::size_t>(kernel.m * kernel.k), 0);
  const float* const b = operand(task, static_cast<std::size_t>(kernel.k * kernel.n), 1);
  const ProductLayout layout = product_layout(graph_.operation(task).name, kernel);
  const bool a_lies = layout == ProductLayout::tn;  // transposed
  const bool b_lies = layout == ProductLayout::nt;
  std::vector<float>& c = scratch(static_cast<std::size_t>(kernel.m * columns));
  for (std::int64_t i = 0; i < product_count(kernel); ++i) {
    gemm({.m = kernel.m,
          .n = columns,
          .k = kernel.k,
          .op_a = a_lies ? Transpose::yes : Transpose::no,
          .op_b = b_lies ? Transpose::yes : Transpose::no,
          .a = a,
          .stride_a = a_lies ? kernel.m : kernel.k,
          .b = b_lies ? b + first * kernel.k : b + first,
          .stride_b = b_lies ? kernel.k : kernel.n,
          .c = c.data(),
          .stride_c = columns,
          .beta = accumulates(kernel) ? 1.0F : 0.0F});
  }
}

/// Reads and writes as many bytes as the kernel does.
void ProxyShapes::stream(TaskId task,
                         const Kernel& kernel,
                         std::uint32_t block,
                         std::uint32_t blocks) {
  const auto part = [&](Bytes bytes) {
    const std::size_t all = static_cast<std::size_t>(bytes.count()) / sizeof(float);
    return std::pair{all * block / blocks, all * (block + 1) / blocks - all * block / blocks};
  };
  const auto [from, read] = part(kernel.bytes_read);
  const auto [to, written] = part(kernel.bytes_written);
  static_cast<void>(to);
  std::vector<float>& result = scratch(std::max<std::size_t>(written, 16));
  const float* const source = operand(task, elements_of(kernel.bytes_read), 2) + from;
  const std::size_t copied = std::min(read, written);
  std::memcpy(result.data(), source, copied * sizeof(float));
  std::fill(result.begin() + static_cast<std::ptrdiff_t>(copied),
            result.begin() + static_cast<std::ptrdiff_t>(written),
            1.0F);
  // What is read and not written: sixteen sums side by side, which compilers make vectors of.
  std::array<float, 16> sums{};
  for (std::size_t i = copied; i + sums.size() <= read; i += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += source[i + j];
  }
  for (const float sum : sums) result[0] += sum;
}

}  // namespace schedlab::detail
