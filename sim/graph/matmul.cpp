// SPDX-License-Identifier: Apache-2.0
#include "sim/graph/matmul.hpp"

#include <algorithm>

namespace schedlab {

bool is_matmul(const Operation& operation) {
  if (operation.kernels.empty()) {
    return operation.kind == TaskKind::gemm || operation.kind == TaskKind::convolution ||
           operation.task_class == TaskClass::critical_matmul ||
           operation.task_class == TaskClass::weight_gradient;
  }
  return std::any_of(operation.kernels.begin(), operation.kernels.end(), [](const Kernel& kernel) {
    return kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution;
  });
}

}  // namespace schedlab
