// SPDX-License-Identifier: Apache-2.0
#include "sim/plan/accumulations.hpp"

namespace schedlab {

Accumulations::Accumulations(const TaskGraph& graph) {
  const TensorTable& tensors = graph.tensors();
  const auto shared = [&](TensorId tensor) {
    return tensors.accumulate(tensor) && tensors.writers(tensor).size() > 1;
  };
  std::uint32_t total = 0;
  std::vector<std::uint32_t> offset(graph.task_count() + 1, 0);
  for (const TensorId tensor : tensors.ids()) {
    if (!shared(tensor)) continue;
    for (const TaskId writer : tensors.writers(tensor)) {
      ++offset[writer.value() + 1];
      ++total;
    }
  }
  if (total == 0) return;
  for (std::size_t i = 1; i < offset.size(); ++i) offset[i] += offset[i - 1];
  tensors_.resize(total);
  std::vector<std::uint32_t> next(offset.begin(), offset.end() - 1);
  for (const TensorId tensor : tensors.ids()) {
    if (!shared(tensor)) continue;
    for (const TaskId writer : tensors.writers(tensor)) tensors_[next[writer.value()]++] = tensor;
  }
  offset_ = std::move(offset);
}

}  // namespace schedlab
