// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/enum_names.hpp"
#include "sim/graph/task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace schedlab {

/// By which library the acceleration engine of a many-core chip runs an operator, and so by what it
/// is costed. The convolution library has one algorithm for each pass.
enum class EngineClass : std::uint8_t {
  conv_forward,
  conv_weight_gradient,
  conv_data_gradient,
  matmul,      ///< a library of column-major matrices: operands are transposed first
  activation,  ///< and its gradient
  pooling,     ///< and its gradient
  update,      ///< of parameters
  data_split,  ///< all else: data is split over the cores and moved by double-buffered DMA
};
inline constexpr std::size_t engine_class_count = 8;
template <class Value>
using ByEngineClass = std::array<Value, engine_class_count>;

template <>
struct EnumNames<EngineClass> {
  static constexpr auto names = name_list("conv_forward",
                                          "conv_weight_gradient",
                                          "conv_data_gradient",
                                          "matmul",
                                          "activation",
                                          "pooling",
                                          "update",
                                          "data_split");
};

/// By the operator's type, which is its name, and where that says nothing by kind and class of its
/// work: matrix products are `matmul`, other convolutions by task class, the rest `data_split`.
/// Source: algorithm 1 of swFLOWpro, "A Dataflow Computing System for New Generation of Domestic
/// Heterogeneous Many-Core Processors".
[[nodiscard]] EngineClass engine_class(const Operation& operation);

/// What operators of one class are costed by; may be a sum over several.
struct EngineWork {
  double operators = 0;
  /// Bytes between main memory and local stores. Of convolutions the operands of the product that
  /// they are computed as, unfolded: m n + m k + n k elements; of matrix products that, and both
  /// inputs once more read and written, transposed. Of others what they read and write.
  double moved_bytes = 0;
  double flops = 0;

  EngineWork& operator+=(const EngineWork& other) {
    operators += other.operators;
    moved_bytes += other.moved_bytes;
    flops += other.flops;
    return *this;
  }
};
/// The work of one operator; an operation with several kernels is one operator.
[[nodiscard]] EngineWork engine_work(const Operation& operation);

/// Does the many-core array suit the operator? By type: work of the device (not of hosts and
/// networks). By parameters: a floating-point type, which the array's vectors and its libraries
/// have. By shape: results of at least `array_from_bytes`, else cores stay idle.
/// The engine's own thresholds are not published.
[[nodiscard]] bool suits_array(const Operation& operation, std::int64_t array_from_bytes);

/// One vector of 512 bits for each of the 64 cores of a SW26010-Pro's core group. // assumed
inline constexpr std::int64_t default_array_from_bytes = std::int64_t{64} * 64;

}  // namespace schedlab
