// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/tensor_memory.hpp"

#include <algorithm>
#include <utility>

namespace schedlab::detail {

TensorMemory::TensorMemory(const TaskGraph& graph,
                           IdVector<TensorId, std::size_t> elements,
                           const IdVector<TensorId, TensorId>& lies_in,
                           IdVector<TaskId, std::uint32_t> blocks)
    : elements_(std::move(elements)),
      blocks_(std::move(blocks)),
      users_(elements_.size(), 0U),
      tasks_(graph.task_count()),
      left_(elements_.size(), 0U),
      memory_(elements_.size(), nullptr) {
  const TensorTable& tensors = graph.tensors();
  std::vector<std::pair<TaskId, TensorId>> uses;
  for (const TensorId id : tensors.ids()) {
    const TensorId in = lies_in[id];
    if (elements_[in] == 0) continue;
    for (const TaskId task : tensors.writers(id)) uses.emplace_back(task, in);
    for (const TaskId task : tensors.readers(id)) uses.emplace_back(task, in);
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  for (const auto& [task, tensor] : uses) ++users_[tensor];
  offset_.assign(graph.task_count() + 1, 0U);
  for (const auto& [task, tensor] : uses) {
    ++offset_[task.value() + 1];
    used_.push_back(tensor);
  }
  for (std::size_t i = 1; i < offset_.size(); ++i) offset_[i] += offset_[i - 1];
  reset();
}

void TensorMemory::free(TensorId tensor) {
  if (memory_[tensor] == nullptr) return;
  const std::size_t bytes = elements_[tensor] * sizeof(float);
  lines_.give_back(memory_[tensor], bytes);
  memory_[tensor] = nullptr;
  held_ -= static_cast<std::int64_t>(bytes);
}

void TensorMemory::reset() {
  for (const TensorId id : memory_.ids()) free(id);
  left_ = users_;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].allocated = false;
    tasks_[i].left = blocks_[TaskId{static_cast<std::uint32_t>(i)}];
  }
  peak_ = 0;
}

void TensorMemory::enter(TaskId task) {
  TaskState& state = tasks_[task.value()];
  if (state.allocated.load(std::memory_order_acquire)) return;
  const std::lock_guard lock{mutex_};
  if (state.allocated.load(std::memory_order_relaxed)) return;
  for (const TensorId id : used_by(task)) {
    if (memory_[id] != nullptr) continue;
    const std::size_t bytes = elements_[id] * sizeof(float);
    memory_[id] = static_cast<float*>(lines_.take(bytes));
    held_ += static_cast<std::int64_t>(bytes);
  }
  peak_ = std::max(peak_, held_);
  state.allocated.store(true, std::memory_order_release);
}

void TensorMemory::leave(TaskId task) {
  if (tasks_[task.value()].left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::lock_guard lock{mutex_};
  for (const TensorId id : used_by(task)) {
    if (--left_[id] == 0) free(id);
  }
}

}  // namespace schedlab::detail
