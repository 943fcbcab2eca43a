// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/recurrent/kept_lines.hpp"
#include "sim/base/ids.hpp"
#include "sim/base/units.hpp"
#include "sim/graph/task_graph.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace schedlab::detail {

/// Memory of the tensors of a graph while its tasks run: allocated when the first task that uses a
/// tensor begins, freed when the last one that uses it has ended. What is counted is what was
/// allocated; pages that were freed are kept for the next tensor of their size (KeptLines).
class TensorMemory {
 public:
  /// `elements`: floats of each tensor; those with 0 live elsewhere. `lies_in`: the tensor in whose
  /// memory each lies, which is there as long as any of its tensors; mostly itself. `blocks`: of
  /// all kernels of each task. `graph` is not kept.
  TensorMemory(const TaskGraph& graph,
               IdVector<TensorId, std::size_t> elements,
               const IdVector<TensorId, TensorId>& lies_in,
               IdVector<TaskId, std::uint32_t> blocks);
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  ~TensorMemory() = default;

  /// Around every block of a task, by any thread.
  void enter(TaskId task);
  void leave(TaskId task);
  /// Address of a tensor that lies in itself, between enter() and leave() of a task that uses it or
  /// one that lies in it.
  [[nodiscard]] float* at(TensorId tensor) const { return memory_[tensor]; }

  /// Before each run, by one thread: nothing is held, the peak starts again.
  void reset();
  [[nodiscard]] Bytes peak() const { return Bytes{peak_}; }
  [[nodiscard]] Bytes held() const { return Bytes{held_}; }

 private:
  struct TaskState {
    std::atomic<bool> allocated{false};
    std::atomic<std::uint32_t> left{0};  // blocks
  };
  [[nodiscard]] std::span<const TensorId> used_by(TaskId task) const {
    return {used_.data() + offset_[task.value()], used_.data() + offset_[task.value() + 1]};
  }
  void free(TensorId tensor);

  IdVector<TensorId, std::size_t> elements_;
  IdVector<TaskId, std::uint32_t> blocks_;
  std::vector<std::uint32_t> offset_;  // into used_, by task
  std::vector<TensorId> used_;
  IdVector<TensorId, std::uint32_t> users_;

  std::vector<TaskState> tasks_;
  std::mutex mutex_;                        // of what follows
  IdVector<TensorId, std::uint32_t> left_;  // users that have not ended
  IdVector<TensorId, float*> memory_;
  KeptLines lines_;
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace schedlab::detail
