// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab {

/// What a kernel does; decides the cost formula and the class of compute units it needs.
enum class TaskKind : std::uint8_t {
  gemm,
  pointwise,
  convolution,
  reduction,
  copy_host_to_device,
  copy_device_to_host,
  copy_device_to_device,
  collective,
  host,       ///< work of a host thread
  composite,  ///< several kernels of different kinds launched as one task
  fixed,      ///< only its duration is known
};
inline constexpr std::size_t task_kind_count = 11;

template <>
struct EnumNames<TaskKind> {
  static constexpr auto names = name_list("gemm",
                                          "pointwise",
                                          "convolution",
                                          "reduction",
                                          "copy_host_to_device",
                                          "copy_device_to_host",
                                          "copy_device_to_device",
                                          "collective",
                                          "host",
                                          "composite",
                                          "fixed");
};

enum class DataType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, int8 };
inline constexpr std::size_t data_type_count = 6;

template <>
struct EnumNames<DataType> {
  static constexpr auto names = name_list("fp64", "fp32", "tf32", "fp16", "bf16", "int8");
};
/// Bytes of one element in memory (tf32 is stored as fp32).
[[nodiscard]] std::int64_t bytes_per_element(DataType type);

/// Urgency of a task in recurrent training, the classes 1-5 of TurboLSTM (system S1): 1 critical
/// matrix work, 2 critical point-wise work, 3 weight gradients, 4 parameter update, 5 transfer.
enum class TaskClass : std::uint8_t {
  unclassified = 0,
  critical_matmul = 1,
  critical_pointwise = 2,
  weight_gradient = 3,
  update = 4,
  transfer = 5,
};
[[nodiscard]] constexpr bool is_critical(TaskClass c) {
  return c == TaskClass::critical_matmul || c == TaskClass::critical_pointwise;
}

/// What one thread block of a kernel needs of the unit it runs on.
struct BlockShape {
  std::uint16_t threads = 0;        ///< 0 = the shape is not known
  std::uint16_t registers = 0;      ///< per thread; 0 = none counted
  std::uint32_t shared_memory = 0;  ///< bytes, static and dynamic

  friend bool operator==(const BlockShape&, const BlockShape&) = default;
};

/// The grid that a kernel is launched with.
struct KernelGrid {
  std::uint32_t blocks = 0;  ///< 0 = the cost model chooses the grid
  BlockShape block{};
  /// Kernels of which only the duration is known: share of a unit's throughput that the blocks on
  /// it use while the kernel has the device to itself. 1: two such kernels on one unit run at half
  /// speed each; 0: blocks that only pass time. Of other kernels the cost model knows.
  float compute_share = 1.0F;

  friend bool operator==(const KernelGrid&, const KernelGrid&) = default;
};

/// Causal attention of `queries` new tokens of each sequence to `keys` tokens, themselves included.
struct AttentionShape {
  std::int64_t sequences = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t heads = 0;     ///< of queries; 0 = the kernel is no attention, or its shape unknown
  std::int64_t kv_heads = 0;  ///< of keys and values, divides heads
  std::int64_t head = 0;      ///< elements of one head

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};
/// All counts above 0, kv_heads divides heads, no more queries than keys.
[[nodiscard]] bool is_valid(const AttentionShape& shape);

/// One device kernel: its shape and its work.
struct Kernel {
  TaskKind kind = TaskKind::fixed;
  DataType type = DataType::fp32;
  // C[m, n] += A[m, k] * B[k, n] when kind == gemm; of a convolution the product it is computed as;
  // of a reduction m rows of n elements; else 0. FLOPs that are a multiple of 2mnk mean that many
  // products side by side (a batch, the groups of a convolution).
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Flops flops{};
  Bytes bytes_read{};
  Bytes bytes_written{};
  KernelGrid grid{};
  AttentionShape attention{};  ///< of a kernel that is attention as a whole, whatever its kind
  /// The part of bytes_read that the last-level cache is expected to hold. Never part of a graph
  /// file: it follows from the graph and the device (sim/machine/cache_reuse.hpp).
  Bytes bytes_cached{};
  /// The part of bytes_cached that the units' own caches are expected to hold; like it, never part
  /// of a graph file (sim/machine/cache_contents.hpp).
  Bytes bytes_unit_cached{};
  /// Bytes of all tensors of the graph that the kernel belongs to, which compete for the caches; 0
  /// = not known. Never part of a graph file: the CostTable fills it in for devices with a profile.
  Bytes working_set{};
  /// Copies between host and device: the host's memory is pageable, so that a host thread must copy
  /// it to or from a pinned buffer. Other kernels ignore it.
  bool pageable = false;

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// GEMM kernel with FLOPs 2mnk; reads A and B (and C when it accumulates), writes C.
/// Bytes of each matrix are capped at 2^58, so that no shape overflows.
[[nodiscard]] Kernel gemm_kernel(
    std::int64_t m, std::int64_t n, std::int64_t k, DataType type, bool accumulates);

/// What many tasks have in common: name, kernels, urgency. A graph of a million tasks has a handful
/// of operations, so that costs are estimated once per operation and not once per task.
struct Operation {
  std::string name{};  ///< e.g. "cell", "hidden_1"; the colour key of timelines
  TaskKind kind = TaskKind::fixed;
  TaskClass task_class = TaskClass::unclassified;
  std::vector<Kernel> kernels{};  ///< run one after another; each is a launch for the host
  Duration fixed_duration{0};     ///< kind fixed or host: how long it takes

  [[nodiscard]] Flops flops() const;
  [[nodiscard]] Bytes bytes_read() const;
  [[nodiscard]] Bytes bytes_written() const;
  /// Number of host launches, at least 1.
  [[nodiscard]] std::uint32_t launches() const {
    return kernels.empty() ? 1U : static_cast<std::uint32_t>(kernels.size());
  }
  friend bool operator==(const Operation&, const Operation&) = default;
};

/// Where a task stands in its model; -1 = does not apply.
struct Tags {
  std::int16_t layer = -1;
  std::int16_t stage = -1;
  std::int32_t step = -1;
  std::int32_t microbatch = -1;

  friend bool operator==(const Tags&, const Tags&) = default;
};

}  // namespace schedlab
