// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/split_batch.hpp"

#include "sim/base/error.hpp"
#include "workloads/models/recurrent/recurrent_kernels.hpp"
#include "workloads/transforms/renumber.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace schedlab {
namespace {

/// What a tensor becomes.
enum class Fate : std::uint8_t {
  per_slice,
  shared,  ///< parameters and what is made of them alone: one for all slices
  merged,  ///< summed over the slices before it is read
};

bool is_update(const TaskGraph& graph, TaskId task) {
  return graph.operation(task).task_class == TaskClass::update;
}

bool contains(std::span<const TaskId> tasks, TaskId task) {
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

void expect_same_tasks(const TaskGraph& whole, const TaskGraph& slice) {
  const auto fail = [](const std::string& difference) {
    throw InfeasibleError("split: the graphs of the whole batch and of a slice differ: " +
                          difference);
  };
  if (whole.task_count() != slice.task_count() || whole.edge_count() != slice.edge_count() ||
      whole.tensors().size() != slice.tensors().size()) {
    fail(fmt::format("{} tasks, {} edges and {} tensors against {}, {} and {}",
                     whole.task_count(),
                     whole.edge_count(),
                     whole.tensors().size(),
                     slice.task_count(),
                     slice.edge_count(),
                     slice.tensors().size()));
  }
  for (const TaskId task : whole.tasks()) {
    if (whole.operation(task).name != slice.operation(task).name ||
        !std::ranges::equal(whole.predecessors(task), slice.predecessors(task))) {
      fail("task " + whole.name(task));
    }
  }
  if (whole.has_ranks() || !whole.collectives().empty() || whole.has_task_durations()) {
    throw InfeasibleError(
        "split: the graph has ranks, collectives or tasks of given durations, which cannot be cut");
  }
}

class BatchSplitter {
 public:
  BatchSplitter(const MakeForBatch& make, const BatchSplit& split)
      : split_(split), whole_(make(split.batch)), small_(make(split.batch / split.slices)) {
    expect_same_tasks(whole_, small_);
    if (split.batch % split.slices != 0) {
      large_ = make(split.batch / split.slices + 1);
      expect_same_tasks(whole_, large_);
    }
    find_tasks_once();
    for (const TensorId tensor : whole_.tensors().ids()) fate_.push_back(fate_of(tensor));
  }

  TaskGraph run() {
    copies_.resize(slices());
    tensor_copies_.resize(slices());
    for (std::size_t slice = 0; slice < slices(); ++slice) add_tasks(slice);
    for (const TensorId tensor : whole_.tensors().ids()) {
      merges_.push_back(fate_[tensor] == Fate::merged ? add_merge(tensor) : TaskId::none());
    }
    add_updates();
    for (std::size_t slice = 0; slice < slices(); ++slice) add_edges(slice);
    for (const TensorId tensor : whole_.tensors().ids()) {
      if (fate_[tensor] == Fate::merged) join(tensor);
    }
    if (split_.keep_tensors) {
      for (std::size_t slice = 0; slice < slices(); ++slice) add_tensors(slice);
    }
    TaskGraph graph = std::move(builder_).build();
    return graph.topologically_numbered() ? std::move(graph) : TopologicalRenumber{}.apply(graph);
  }

 private:
  [[nodiscard]] std::size_t slices() const { return static_cast<std::size_t>(split_.slices); }
  [[nodiscard]] const TaskGraph& graph_of(std::size_t slice) const {
    return static_cast<std::int64_t>(slice) < split_.batch % split_.slices ? large_ : small_;
  }
  [[nodiscard]] const TensorTable& tensors() const { return whole_.tensors(); }
  [[nodiscard]] bool writes(TaskId task, TensorId tensor) const {
    return contains(tensors().writers(tensor), task);
  }

  /// Persistent, of any batch's size, and written by updates only.
  [[nodiscard]] bool is_parameter(TensorId tensor) const;
  void find_tasks_once();
  [[nodiscard]] Fate fate_of(TensorId tensor) const;
  OperationId operation(const Operation& operation);
  TaskId add_once(TaskId task);
  void add_tasks(std::size_t slice);
  TaskId add_merge(TensorId tensor);
  void add_updates();
  void add_edges(std::size_t slice);
  void join(TensorId tensor);
  void add_tensors(std::size_t slice);
  void add_uses(TensorId tensor, std::size_t slice);
  TensorId copy_of(TensorId tensor, std::size_t slice);

  const BatchSplit& split_;
  TaskGraph whole_;
  TaskGraph small_;
  TaskGraph large_;              // one sample more; only of slices of two sizes
  IdVector<TaskId, bool> once_;  // by task of whole_
  IdVector<TensorId, Fate> fate_;
  TaskGraphBuilder builder_;
  std::vector<Operation> operations_;             // the same as in builder_, to find equal ones
  std::vector<IdVector<TaskId, TaskId>> copies_;  // by slice; once_: the same in all
  std::vector<IdVector<TensorId, TensorId>> tensor_copies_;
  IdVector<TensorId, TaskId> merges_;
};

bool BatchSplitter::is_parameter(TensorId tensor) const {
  const auto writers = tensors().writers(tensor);
  return tensors().persistent(tensor) &&
         tensors().bytes(tensor) == small_.tensors().bytes(tensor) &&
         std::all_of(writers.begin(), writers.end(), [this](TaskId task) {
           return is_update(whole_, task);
         });
}

/// Updates, and what reads parameters and nothing else (casts of them): all slices of one memory
/// can use the same result.
void BatchSplitter::find_tasks_once() {
  IdVector<TaskId, bool> reads_parameters(whole_.task_count(), false);
  IdVector<TaskId, bool> reads_others(whole_.task_count(), false);
  for (const TensorId tensor : tensors().ids()) {
    auto& reads = is_parameter(tensor) ? reads_parameters : reads_others;
    for (const TaskId reader : tensors().readers(tensor)) reads[reader] = true;
  }
  for (const TaskId task : whole_.tasks()) {
    const bool of_parameters = reads_parameters[task] && !reads_others[task] &&
                               whole_.predecessors(task).empty() &&
                               whole_.operation(task) == small_.operation(task);
    once_.push_back(is_update(whole_, task) || of_parameters);
  }
}

Fate BatchSplitter::fate_of(TensorId tensor) const {
  if (tensors().bytes(tensor) != small_.tensors().bytes(tensor)) return Fate::per_slice;
  if (is_parameter(tensor)) return Fate::shared;
  const auto updates = [this](TaskId task) { return is_update(whole_, task); };
  const auto writers = tensors().writers(tensor);
  const bool persistent = tensors().persistent(tensor);
  if (std::all_of(writers.begin(), writers.end(), updates)) return Fate::per_slice;
  if (std::all_of(writers.begin(), writers.end(), [this](TaskId task) { return once_[task]; })) {
    return Fate::shared;
  }
  const auto readers = tensors().readers(tensor);
  const bool gradient = persistent || std::any_of(readers.begin(), readers.end(), updates);
  const bool asked = std::any_of(writers.begin(), writers.end(), [this](TaskId task) {
    const auto& names = split_.merged;
    return std::find(names.begin(), names.end(), whole_.operation(task).name) != names.end();
  });
  return gradient || asked ? Fate::merged : Fate::per_slice;
}

OperationId BatchSplitter::operation(const Operation& operation) {
  const auto known = std::find(operations_.begin(), operations_.end(), operation);
  if (known != operations_.end()) {
    return OperationId{static_cast<std::uint32_t>(known - operations_.begin())};
  }
  operations_.push_back(operation);
  return builder_.add_operation(operation);
}

TaskId BatchSplitter::add_once(TaskId task) {
  return builder_.add_task(operation(whole_.operation(task)), whole_.tags(task), whole_.name(task));
}

void BatchSplitter::add_tasks(std::size_t slice) {
  const TaskGraph& graph = graph_of(slice);
  IdVector<OperationId, OperationId> copy_of_operation;
  for (const Operation& own : graph.operations()) copy_of_operation.push_back(operation(own));
  copies_[slice] = IdVector<TaskId, TaskId>(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    if (is_update(graph, task)) continue;
    if (once_[task]) {
      copies_[slice][task] = slice > 0 ? copies_[0][task] : add_once(task);
      continue;
    }
    Tags tags = graph.tags(task);
    tags.microbatch = static_cast<std::int32_t>(slice);
    copies_[slice][task] = builder_.add_task(copy_of_operation[graph.operation_id(task)],
                                             tags,
                                             fmt::format("{}/{}", graph.name(task), slice));
  }
}

/// Named after the tensor, or the last task that writes it; as urgent as who makes the parts.
TaskId BatchSplitter::add_merge(TensorId tensor) {
  const TaskId writer = tensors().writers(tensor).back();
  const Operation& maker = whole_.operation(writer);
  const DataType type = maker.kernels.empty() ? DataType::fp32 : maker.kernels.front().type;
  const std::int64_t elements =
      std::max<std::int64_t>(1, tensors().bytes(tensor).count() / bytes_per_element(type));
  const std::string name = tensors().name(tensor);
  return builder_.add_task(operation({.name = "merge",
                                      .kind = TaskKind::reduction,
                                      .task_class = maker.task_class,
                                      .kernels = {reduce_kernel(elements, split_.slices, type)}}),
                           whole_.tags(writer),
                           "merge_" + (name.empty() ? whole_.name(writer) : name));
}

void BatchSplitter::add_updates() {
  for (const TaskId task : whole_.tasks()) {
    if (!is_update(whole_, task)) continue;
    const TaskId update = add_once(task);
    for (auto& copies : copies_) copies[task] = update;
  }
}

void BatchSplitter::add_edges(std::size_t slice) {
  const auto& copies = copies_[slice];
  for (const TaskId task : whole_.tasks()) {
    for (const TaskId before : whole_.predecessors(task)) {
      const bool once = once_[task] && once_[before];
      if (!once || slice == 0) builder_.add_edge(copies[before], copies[task]);
    }
  }
}

/// Orders parts, sum and readers.
void BatchSplitter::join(TensorId tensor) {
  for (const auto& copies : copies_) {
    for (const TaskId writer : tensors().writers(tensor)) {
      builder_.add_edge(copies[writer], merges_[tensor]);
    }
    for (const TaskId reader : tensors().readers(tensor)) {
      if (!writes(reader, tensor)) builder_.add_edge(merges_[tensor], copies[reader]);
    }
  }
}

TensorId BatchSplitter::copy_of(TensorId tensor, std::size_t slice) {
  const TensorTable& own = graph_of(slice).tensors();
  const std::string name = own.name(tensor);
  if (slice > 0 && fate_[tensor] == Fate::shared) return tensor_copies_[0][tensor];
  const bool part = fate_[tensor] == Fate::merged && slice > 0;
  const bool keeps_name = name.empty() || fate_[tensor] == Fate::shared;
  return builder_.add_tensor(
      {.name = keeps_name ? name : fmt::format("{}/{}", name, slice),
       .bytes = own.bytes(tensor),
       .accumulate = own.accumulate(tensor) || (fate_[tensor] == Fate::merged && slice == 0),
       .persistent = own.persistent(tensor) && !part});
}

void BatchSplitter::add_uses(TensorId tensor, std::size_t slice) {
  const TensorId copy = tensor_copies_[slice][tensor];
  const bool merged = fate_[tensor] == Fate::merged;
  // What exists once has the uses of the first slice.
  const auto elsewhere = [&](TaskId task) { return slice > 0 && once_[task]; };
  for (const TaskId writer : tensors().writers(tensor)) {
    if (!elsewhere(writer)) builder_.writes(copies_[slice][writer], copy);
  }
  for (const TaskId reader : tensors().readers(tensor)) {
    if (elsewhere(reader)) continue;
    // What was merged lies in the first slice's buffer.
    const bool own = !merged || writes(reader, tensor);
    builder_.reads(copies_[slice][reader], own ? copy : tensor_copies_[0][tensor]);
  }
}

void BatchSplitter::add_tensors(std::size_t slice) {
  for (const TensorId tensor : tensors().ids()) {
    const TensorId copy = copy_of(tensor, slice);
    tensor_copies_[slice].push_back(copy);
    add_uses(tensor, slice);
    if (fate_[tensor] != Fate::merged) continue;
    if (slice == 0) {
      builder_.writes(merges_[tensor], copy);
    } else {
      builder_.reads(merges_[tensor], copy);
    }
  }
}

}  // namespace

TaskGraph split_batch(const MakeForBatch& make, const BatchSplit& split) {
  SCHEDLAB_EXPECTS(split.batch > 0 && split.slices > 0,
                   fmt::format("split of {} samples into {}", split.batch, split.slices));
  if (split.slices > split.batch) {
    throw InfeasibleError(
        fmt::format("split: {} slices of a batch of {}; use fewer slices or a larger batch",
                    split.slices,
                    split.batch),
        "samples",
        std::to_string(split.slices),
        std::to_string(split.batch));
  }
  return BatchSplitter{make, split}.run();
}

}  // namespace schedlab
