// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/task.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace schedlab {
namespace {

const std::array<std::string_view, task_kind_count> kind_words{"gemm",
                                                               "pointwise",
                                                               "convolution",
                                                               "reduction",
                                                               "copy_host_to_device",
                                                               "copy_device_to_host",
                                                               "copy_device_to_device",
                                                               "collective",
                                                               "host",
                                                               "composite",
                                                               "fixed"};
const std::array<std::string_view, data_type_count> type_words{
    "fp64", "fp32", "tf32", "fp16", "bf16", "int8"};

std::size_t index_of(std::span<const std::string_view> words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  SCHEDLAB_EXPECTS(found != words.end(), "unknown word \"" + std::string{word} + "\"");
  return static_cast<std::size_t>(found - words.begin());
}

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

std::string_view to_string(TaskKind kind) {
  return kind_words[static_cast<std::size_t>(kind)];
}

TaskKind task_kind_from(std::string_view word) {
  return static_cast<TaskKind>(index_of(kind_words, word));
}

const std::vector<std::string>& task_kind_names() {
  static const std::vector<std::string> names(kind_words.begin(), kind_words.end());
  return names;
}

std::string_view to_string(DataType type) {
  return type_words[static_cast<std::size_t>(type)];
}

DataType data_type_from(std::string_view word) {
  return static_cast<DataType>(index_of(type_words, word));
}

const std::vector<std::string>& data_type_names() {
  static const std::vector<std::string> names(type_words.begin(), type_words.end());
  return names;
}

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
