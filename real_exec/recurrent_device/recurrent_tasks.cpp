// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent_device/recurrent_tasks.hpp"

#include "real_exec/recurrent/recurrent_inputs.hpp"

#include <cstddef>
#include <utility>

namespace schedlab::detail {

RecurrentTasks::RecurrentTasks(std::shared_ptr<RecurrentDevice> device,
                               const RecurrentSpec& spec,
                               const TaskGraph& graph,
                               std::uint64_t seed,
                               ProductPrecision precision,
                               bool by_tensor)
    : device_(std::move(device)),
      binding_(spec, graph),
      launches_(device_, spec, draw_recurrent_inputs(spec, seed), precision, by_tensor) {
  if (!by_tensor) return;
  map_.emplace(graph, launches_.step_arrays());
  memory_.emplace(
      graph,
      *map_,
      LaunchedMemory::Device{.allocate =
                                 [this](std::size_t elements) {
                                   return pieces_.emplace_back(*device_, elements).data();
                                 },
                             .drop = [this] { pieces_.clear(); }});
  launches_.use(*map_, *memory_);
}

void RecurrentTasks::run_forward(RecurrentQueue& queue) {
  launches_.run_forward(queue);
  arrays().keep_forward();
}

void RecurrentTasks::launch(TaskId task,
                            std::optional<std::uint32_t> stream,
                            RecurrentQueue& queue) {
  if (memory_) memory_->enter(task, stream);
  const auto& bound = binding_.task(task);
  for (const auto& kernel : binding_.kernels(task)) {
    launches_.launch(kernel.task,
                     {.id = task, .chain = bound.chain, .step = bound.step, .steps = kernel.steps},
                     queue);
  }
  if (memory_) memory_->leave(task);
}

void RecurrentTasks::reset() {
  if (memory_) {
    memory_->reset();
    for (const auto& piece : pieces_) device_->fill(piece.data(), 0xFF, piece.bytes());
  }
  arrays().reset();
}

AllocatedMemory RecurrentTasks::held() const {
  return {.tensors_peak = arrays().tensor_bytes() + (memory_ ? memory_->held() : Bytes{0}),
          .workspace = arrays().workspace_bytes(),
          .by_tensor = by_tensor()};
}

Bytes RecurrentTasks::allocated() const {
  Bytes bytes = arrays().tensor_bytes() + arrays().workspace_bytes();
  for (const auto& piece : pieces_) bytes += Bytes{static_cast<std::int64_t>(piece.bytes())};
  return bytes;
}

}  // namespace schedlab::detail
