// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/graph_emitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace schedlab::detail {

OperationId GraphEmitter::operation(std::string_view name,
                                    TaskClass task_class,
                                    std::vector<Kernel> kernels) {
  // A handful of operations: a linear search is faster than any index.
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& known = operations_[i];
    if (known.name == name && known.kernels == kernels) {
      return OperationId{static_cast<std::uint32_t>(i)};
    }
  }
  const bool mixed = std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& k) {
    return k.kind != kernels.front().kind;
  });
  Operation operation{.name = std::string{name},
                      .kind = mixed ? TaskKind::composite : kernels.front().kind,
                      .task_class = task_class,
                      .kernels = std::move(kernels)};
  operations_.push_back(operation);
  return builder_.add_operation(std::move(operation));
}

TensorId GraphEmitter::tensor(std::string_view name,
                              std::int64_t layer,
                              std::int64_t step,
                              std::int64_t elements,
                              bool persistent,
                              bool accumulate) {
  if (!with_tensors_) return TensorId::none();
  TensorInfo info{.name = {},
                  .bytes = Bytes{bytes(elements)},
                  .accumulate = accumulate,
                  .persistent = persistent};
  if (tensor_names_) {
    info.name = name;
    if (layer >= 0 && step == no_step) {
      fmt::format_to(std::back_inserter(info.name), "({})", layer);
    } else if (layer >= 0) {
      fmt::format_to(std::back_inserter(info.name), "({},{})", layer, step);
    } else if (step != no_step) {
      fmt::format_to(std::back_inserter(info.name), "({})", step);
    }
  }
  return builder_.add_tensor(std::move(info));
}

}  // namespace schedlab::detail
