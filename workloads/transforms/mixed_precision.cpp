// SPDX-License-Identifier: Apache-2.0
#include "workloads/transforms/mixed_precision.hpp"

#include "sim/base/error.hpp"
#include "workloads/transforms/copy_graph.hpp"
#include "workloads/transforms/renumber.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {
namespace {

/// How a tensor is kept.
enum class Kept : std::uint8_t {
  as_it_is,
  narrow,     ///< only narrow tasks use it
  cast_down,  ///< and a narrow copy of it for narrow readers
  cast_up,    ///< made from a narrow copy that narrow tasks write
};

class Casting {
 public:
  Casting(const TaskGraph& graph, DataType narrow, DataType wide)
      : graph_(graph),
        narrow_(narrow),
        wide_(wide),
        operations_(builder_),
        new_id_(graph.task_count(), TaskId::none()) {}

  [[nodiscard]] TaskGraph run() {
    for (const TensorId tensor : tensors().ids()) kept_.push_back(kept_of(tensor));
    for (const TaskId task : graph_.tasks()) {
      const Operation& own = graph_.operation(task);
      new_id_[task] = detail::copy_task(
          graph_, task, operations_.add(is_narrow(task) ? narrowed(own) : own), builder_);
    }
    for (const TaskId task : graph_.tasks()) {
      for (const TaskId next : graph_.successors(task)) {
        builder_.add_edge(new_id_[task], new_id_[next]);
      }
    }
    for (const TensorId tensor : tensors().ids()) add_tensor(tensor);
    const TaskGraph cast = std::move(builder_).build();
    return TopologicalRenumber{}.apply(cast);
  }

 private:
  [[nodiscard]] const TensorTable& tensors() const { return graph_.tensors(); }

  [[nodiscard]] bool is_narrow(TaskId task) const {
    const Operation& operation = graph_.operation(task);
    return operation.task_class != TaskClass::update &&
           operation.task_class != TaskClass::transfer && !operation.kernels.empty();
  }

  [[nodiscard]] std::int64_t narrow_bytes(std::int64_t bytes) const {
    return bytes / bytes_per_element(wide_) * bytes_per_element(narrow_);
  }

  [[nodiscard]] Operation narrowed(Operation operation) const {
    for (Kernel& kernel : operation.kernels) {
      if (kernel.type != wide_) continue;
      kernel.type = narrow_;
      kernel.bytes_read = Bytes{narrow_bytes(kernel.bytes_read.count())};
      kernel.bytes_written = Bytes{narrow_bytes(kernel.bytes_written.count())};
    }
    return operation;
  }

  [[nodiscard]] Kept kept_of(TensorId tensor) const {
    const auto narrow = [this](TaskId task) { return is_narrow(task); };
    const auto writers = tensors().writers(tensor);
    const auto readers = tensors().readers(tensor);
    const bool written_narrow =
        !writers.empty() && std::all_of(writers.begin(), writers.end(), narrow);
    if (!written_narrow && std::any_of(writers.begin(), writers.end(), narrow)) {
      throw InfeasibleError(fmt::format(
          "mixed_precision: an update or a transfer and another task both write the tensor \"{}\"",
          tensors().name(tensor)));
    }
    const bool read_narrow = std::any_of(readers.begin(), readers.end(), narrow);
    const bool others_read = !std::all_of(readers.begin(), readers.end(), narrow);
    if (written_narrow) {
      return others_read || tensors().persistent(tensor) ? Kept::cast_up : Kept::narrow;
    }
    return read_narrow ? Kept::cast_down : Kept::as_it_is;
  }

  TensorId copy_of(TensorId tensor, bool narrow, bool persistent) {
    const std::int64_t bytes = tensors().bytes(tensor).count();
    const std::string name = tensors().name(tensor);
    const std::string suffix =
        narrow && kept_[tensor] != Kept::narrow && !name.empty() ? "_narrow" : "";
    return builder_.add_tensor(
        {.name = name + suffix,
         .bytes = Bytes{narrow ? narrow_bytes(bytes) : bytes},
         .accumulate = tensors().accumulate(tensor) && (narrow || kept_[tensor] != Kept::cast_up),
         .persistent = persistent});
  }

  TaskId add_cast(TensorId tensor, bool down) {
    const Bytes wide = tensors().bytes(tensor);
    const Bytes narrow{narrow_bytes(wide.count())};
    const auto users = down ? tensors().readers(tensor) : tensors().writers(tensor);
    const TaskId like =
        *std::find_if(users.begin(), users.end(), [this](TaskId task) { return is_narrow(task); });
    const Operation& maker = graph_.operation(like);
    // Parameters are read by whoever is in most of a hurry.
    const TaskClass urgency = down ? TaskClass::critical_pointwise : maker.task_class;
    const std::int64_t elements = wide.count() / bytes_per_element(wide_);
    const Kernel kernel{.kind = TaskKind::pointwise,
                        .type = narrow_,
                        .flops = Flops{static_cast<double>(elements)},
                        .bytes_read = down ? wide : narrow,
                        .bytes_written = down ? narrow : wide};
    const std::string name = tensors().name(tensor);
    return builder_.add_task(operations_.add({.name = "cast",
                                              .kind = TaskKind::pointwise,
                                              .task_class = urgency,
                                              .kernels = {kernel},
                                              .fixed_duration = Duration{0}}),
                             graph_.tags(like),
                             "cast_" + (name.empty() ? graph_.name(like) : name));
  }

  void add_tensor(TensorId tensor) {
    const Kept kept = kept_[tensor];
    const bool casts = kept == Kept::cast_down || kept == Kept::cast_up;
    const bool persistent = tensors().persistent(tensor);
    const TensorId main = copy_of(tensor, kept == Kept::narrow, persistent);
    const TensorId narrow = casts ? copy_of(tensor, true, false) : main;
    for (const TaskId task : tensors().writers(tensor)) {
      builder_.writes(new_id_[task], is_narrow(task) ? narrow : main);
    }
    for (const TaskId task : tensors().readers(tensor)) {
      builder_.reads(new_id_[task], is_narrow(task) ? narrow : main);
    }
    if (!casts) return;
    const TaskId cast = add_cast(tensor, kept == Kept::cast_down);
    builder_.reads(cast, kept == Kept::cast_down ? main : narrow);
    builder_.writes(cast, kept == Kept::cast_down ? narrow : main);
  }

  const TaskGraph& graph_;
  DataType narrow_;
  DataType wide_;
  TaskGraphBuilder builder_;
  detail::OperationSet operations_;
  IdVector<TaskId, TaskId> new_id_;
  IdVector<TensorId, Kept> kept_;
};

}  // namespace

MixedPrecision::MixedPrecision(DataType narrow, DataType wide) : narrow_(narrow), wide_(wide) {
  SCHEDLAB_EXPECTS(bytes_per_element(narrow) < bytes_per_element(wide),
                   fmt::format("{} is not narrower than {}", to_string(narrow), to_string(wide)));
}

TaskGraph MixedPrecision::apply(const TaskGraph& graph) const {
  detail::expect_tensors_on_one_device(graph, name());
  return Casting{graph, narrow_, wide_}.run();
}

}  // namespace schedlab
