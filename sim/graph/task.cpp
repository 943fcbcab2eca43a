// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/task.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace schedlab {
namespace {

__extension__ using Wide = __int128;

/// rows * columns * size, at most 2^58: hostile shapes must not overflow, nor sums of a few of
/// them.
Bytes matrix_bytes(std::int64_t rows, std::int64_t columns, std::int64_t size) {
  constexpr std::int64_t most = std::int64_t{1} << 58;
  if (rows <= 0 || columns <= 0) return Bytes{0};
  if (rows > most / columns) return Bytes{most};
  return Bytes{static_cast<std::int64_t>(std::min<Wide>(Wide{rows} * columns * size, most))};
}

}  // namespace

std::int64_t bytes_per_element(DataType type) {
  switch (type) {
    case DataType::fp64:
      return 8;
    case DataType::fp32:
    case DataType::tf32:
      return 4;
    case DataType::fp16:
    case DataType::bf16:
      return 2;
    case DataType::int8:
      return 1;
  }
  return 4;
}

Kernel gemm_kernel(
    std::int64_t m, std::int64_t n, std::int64_t k, DataType type, bool accumulates) {
  const std::int64_t size = bytes_per_element(type);
  const Bytes result = matrix_bytes(m, n, size);
  return Kernel{.kind = TaskKind::gemm,
                .type = type,
                .m = m,
                .n = n,
                .k = k,
                .flops = Flops{2.0 * static_cast<double>(m) * static_cast<double>(n) *
                               static_cast<double>(k)},
                .bytes_read = matrix_bytes(m, k, size) + matrix_bytes(k, n, size) +
                              (accumulates ? result : Bytes{0}),
                .bytes_written = result};
}

bool is_valid(const AttentionShape& shape) {
  return shape.sequences > 0 && shape.queries > 0 && shape.keys >= shape.queries &&
         shape.kv_heads > 0 && shape.heads > 0 && shape.heads % shape.kv_heads == 0 &&
         shape.head > 0;
}

Flops Operation::flops() const {
  Flops sum{};
  for (const Kernel& kernel : kernels) sum += kernel.flops;
  return sum;
}

Bytes Operation::bytes_read() const {
  Bytes sum{};
  for (const Kernel& kernel : kernels) sum += kernel.bytes_read;
  return sum;
}

Bytes Operation::bytes_written() const {
  Bytes sum{};
  for (const Kernel& kernel : kernels) sum += kernel.bytes_written;
  return sum;
}

}  // namespace schedlab
