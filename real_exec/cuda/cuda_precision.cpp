// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/cuda_work.hpp"

namespace schedlab {
namespace {}  // namespace

std::optional<CudaPrecision> cuda_precision_of(DataType type) {
  return enum_from<CudaPrecision>(to_string(type));
}

}  // namespace schedlab
