// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/update_kernels.hpp"

#include "workloads/models/recurrent/recurrent_kernels.hpp"

namespace schedlab::detail {

Kernel optimizer_kernel(Optimizer optimizer, std::int64_t parameters, DataType type) {
  if (optimizer == Optimizer::sgd) return update_kernel(parameters, type);
  return pointwise_kernel(
      type, 14.0 * static_cast<double>(parameters), 4 * parameters, 3 * parameters);
}

void add_optimizer_state(GraphEmitter& out,
                         TaskId update,
                         Optimizer optimizer,
                         std::int64_t layer,
                         std::int64_t parameters) {
  if (optimizer == Optimizer::sgd) return;
  out.reads(update, out.tensor("moments", layer, GraphEmitter::no_step, 2 * parameters, true));
}

}  // namespace schedlab::detail
