// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/graph/task.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace schedlab::detail {

/// An operand of a framework's operator.
struct OperatorTensor {
  std::int64_t storage = 0;  ///< which buffer; views share it
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  bool on_device = false;
  DataType type = DataType::fp32;
  std::vector<std::int64_t> shape;  ///< empty: a scalar, or not known
};

/// One call of a framework's operator.
struct OperatorCall {
  std::string_view name;  ///< "aten::addmm"
  std::vector<OperatorTensor> inputs;
  std::vector<OperatorTensor> outputs;
};

enum class OperatorWork : std::uint8_t {
  none,  ///< allocates, makes a view, or works on the host
  device,
  collective,
};
struct OperatorEstimate {
  OperatorWork work = OperatorWork::none;
  TaskKind kind = TaskKind::host;
  std::vector<Kernel> kernels;
};

/// What an operator of PyTorch does, by its name and shapes: matrix products and convolutions by
/// their shapes, copies between host and device by their bytes, whatever else touches memory of a
/// device as point-wise work on the bytes of its operands. `writes`: does it write to memory, or
/// only make a view of its inputs?
[[nodiscard]] OperatorEstimate estimate_operator(const OperatorCall& call, bool writes);

}  // namespace schedlab::detail
