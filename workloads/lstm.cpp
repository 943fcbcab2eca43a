// SPDX-License-Identifier: Apache-2.0
#include "workloads/lstm.hpp"

#include "sim/base/error.hpp"
#include "workloads/lstm_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace schedlab {
namespace {

constexpr std::int64_t most_layers = std::numeric_limits<std::int16_t>::max();
constexpr std::int64_t most_nodes = 100'000'000;  // assumed: 5 * 10^8 tasks are 40 GB
constexpr double largest_tensor = 0x1p60;         // bytes; sums of a few must fit into 63 bits

void check(const LstmSpec& spec) {
  const auto at_least_one = [](std::int64_t value, const char* name) {
    SCHEDLAB_EXPECTS(value >= 1, fmt::format("lstm: {} is {}", name, value));
  };
  at_least_one(spec.layers, "layers");
  at_least_one(spec.steps, "steps");
  at_least_one(spec.batch, "batch");
  at_least_one(spec.hidden, "hidden");
  at_least_one(spec.accumulation_steps, "accumulation_steps");
  at_least_one(spec.partial_buffers, "partial_buffers");
  SCHEDLAB_EXPECTS(spec.input >= 0, fmt::format("lstm: input is {}", spec.input));

  if (spec.layers > most_layers || spec.steps > most_nodes / spec.layers) {
    throw InfeasibleError(
        fmt::format("lstm: {} layers x {} steps are too many nodes; use fewer layers or steps",
                    spec.layers,
                    spec.steps),
        "nodes",
        fmt::format("{} x {}", spec.layers, spec.steps),
        fmt::format("{} nodes in at most {} layers", most_nodes, most_layers));
  }
  const auto hidden = static_cast<double>(spec.hidden);
  const auto width = std::max(hidden, static_cast<double>(spec.input));
  const auto rows = static_cast<double>(spec.steps + 1) * static_cast<double>(spec.batch);
  // The largest shapes: activations of all steps, and one weight matrix in every buffer.
  const double buffers = static_cast<double>(spec.partial_buffers) + 1.0;
  const double bytes = 8.0 * 40.0 *
                       std::max(rows * std::max(width, 4.0 * hidden),
                                4.0 * hidden * (width + hidden + 1.0) * buffers);
  if (bytes > largest_tensor) {
    throw InfeasibleError(
        fmt::format("lstm: tensors of steps {}, batch {}, hidden {}, input {} have too many bytes "
                    "to be counted; use smaller shapes",
                    spec.steps,
                    spec.batch,
                    spec.hidden,
                    spec.input));
  }
}

}  // namespace

TaskGraph lstm(const LstmSpec& spec) {
  check(spec);
  return detail::LstmGraph{spec}.build();
}

namespace detail {

LstmGraph::LstmGraph(const LstmSpec& spec) : spec_(spec) {
  if (spec_.input == 0) spec_.input = spec_.hidden;
}

TaskGraph LstmGraph::build() && {
  const std::size_t tasks = estimated_tasks();
  builder_.reserve(tasks, 2 * tasks);
  add_parameters();
  if (spec_.pass == LstmPass::backward) add_backward_borders();
  if (training() && spec_.transfers) add_transfer_in();
  if (spec_.pass != LstmPass::backward) add_forward();
  if (training()) {
    add_loss();
    add_backward_borders();
  }
  if (spec_.pass != LstmPass::forward) add_backward();
  if (training()) {
    for (std::int64_t layer = spec_.layers - 1; layer >= 0; --layer) add_update(layer);
    if (spec_.transfers) add_transfer_out();
  }
  return std::move(builder_).build();
}

std::size_t LstmGraph::estimated_tasks() const {
  const auto nodes = static_cast<std::size_t>(spec_.layers * spec_.steps);
  const std::size_t backward = whole_nodes() ? 1 : bias_apart() ? 6 : 5;
  const std::size_t forward = whole_nodes() || data_nodes() ? 1 : 3;
  return nodes * ((spec_.pass == LstmPass::forward ? 0 : backward) +
                  (spec_.pass == LstmPass::backward ? 0 : forward));
}

/// What lives before and after the run, whatever the pass.
void LstmGraph::add_parameters() {
  const auto count = static_cast<std::size_t>(spec_.layers);
  for (auto* ids : {&input_weights_, &recurrent_weights_, &initial_h_, &initial_c_}) {
    ids->assign(count, TensorId::none());
  }
  if (!spec_.tensors) return;
  for (auto* ids : {&gates_, &c_, &h_}) {
    ids->assign(count * static_cast<std::size_t>(spec_.steps), TensorId::none());
  }
  const bool copied = training() && spec_.transfers;
  input_ = tensor("x", -1, no_step, spec_.steps * spec_.batch * spec_.input, !copied);
  for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
    const LstmShape s = shape(layer);
    const auto l = static_cast<std::size_t>(layer);
    input_weights_[l] = tensor("Wx", layer, no_step, s.width * s.gates(), true);
    recurrent_weights_[l] =
        tensor("Wh", layer, no_step, (s.hidden + 1) * s.gates(), true);  // with the bias
    if (spec_.pass != LstmPass::backward) {
      initial_h_[l] = tensor("h", layer, -1, s.batch * s.hidden, true);
      initial_c_[l] = tensor("c", layer, -1, s.batch * s.hidden, true);
    }
  }
  if (spec_.pass == LstmPass::backward) {
    output_gradient_ = tensor("dy", -1, no_step, spec_.steps * spec_.batch * spec_.hidden, true);
  }
}

void LstmGraph::add_transfer_in() {
  const std::int64_t bytes = element_bytes(spec_.steps * spec_.batch * spec_.input);
  transfer_in_ = task("transfer_in",
                      TaskClass::transfer,
                      {copy_kernel(TaskKind::copy_host_to_device, bytes, spec_.type)},
                      -1,
                      -1);
  writes(transfer_in_, input_);
}

void LstmGraph::add_loss() {
  const std::int64_t top = spec_.layers - 1;
  loss_ =
      task("loss", TaskClass::critical_pointwise, {loss_kernel(shape(top), spec_.steps)}, -1, -1);
  edge(forward_cell_[static_cast<std::size_t>(top)], loss_);  // the last step; after all others
  if (!spec_.tensors) return;
  const std::int64_t elements = spec_.steps * spec_.batch * spec_.hidden;
  for (std::int64_t step = 0; step < spec_.steps; ++step) reads(loss_, h_[at(top, step)]);
  reads(loss_, tensor("y", -1, no_step, elements, true));
  output_gradient_ = tensor("dy", -1, no_step, elements, false);
  loss_value_ = tensor("loss", -1, no_step, 1, false);
  writes(loss_, output_gradient_);
  writes(loss_, loss_value_);
}

void LstmGraph::add_update(std::int64_t layer) {
  const auto l = static_cast<std::size_t>(layer);
  const TaskId update = task("update", TaskClass::update, {update_kernel(shape(layer))}, layer, -1);
  for (const Gradient& gradient : gradients_[l]) {
    for (const TaskId last : gradient.last) edge(last, update);
    for (const auto& writers : gradient.writers) {
      for (const TaskId writer : writers) edge(writer, update);
    }
    if (!gradient.buffers.empty()) reads(update, gradient.buffers.front());
  }
  for (const TaskId reader : weight_readers_[l]) edge(reader, update);
}

void LstmGraph::add_transfer_out() {
  const TaskId transfer =
      task("transfer_out",
           TaskClass::transfer,
           {copy_kernel(TaskKind::copy_device_to_host, bytes_per_element(spec_.type), spec_.type)},
           -1,
           -1);
  edge(loss_, transfer);
  reads(transfer, loss_value_);
}

LstmShape LstmGraph::shape(std::int64_t layer) const {
  return {.batch = spec_.batch,
          .hidden = spec_.hidden,
          .width = layer == 0 ? spec_.input : spec_.hidden,
          .type = spec_.type};
}

Tags LstmGraph::tags(std::int64_t layer, std::int64_t step) {
  return {.layer = static_cast<std::int16_t>(layer), .step = static_cast<std::int32_t>(step)};
}

OperationId LstmGraph::operation(std::string_view name,
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

TaskId LstmGraph::task(std::string_view name,
                       TaskClass task_class,
                       std::vector<Kernel> kernels,
                       std::int64_t layer,
                       std::int64_t step) {
  return builder_.add_task(operation(name, task_class, std::move(kernels)), tags(layer, step));
}

/// Nothing to do where the predecessor lies outside the graph or both sub-tasks are one task.
void LstmGraph::edge(TaskId from, TaskId to) {
  if (from.valid() && from != to) builder_.add_edge(from, to);
}

TensorId LstmGraph::tensor(std::string_view name,
                           std::int64_t layer,
                           std::int64_t step,
                           std::int64_t elements,
                           bool persistent,
                           bool accumulate) {
  if (!spec_.tensors) return TensorId::none();
  TensorInfo info{.name = {},
                  .bytes = Bytes{element_bytes(elements)},
                  .accumulate = accumulate,
                  .persistent = persistent};
  if (spec_.tensor_names) {
    info.name = name;
    if (layer >= 0 && step == no_step) {
      fmt::format_to(std::back_inserter(info.name), "({})", layer);
    } else if (layer >= 0) {
      fmt::format_to(std::back_inserter(info.name), "({},{})", layer, step);
    }
  }
  return builder_.add_tensor(std::move(info));
}

/// A repeated read (all steps of a layer may share one tensor) is noted once.
void LstmGraph::reads(TaskId task, TensorId tensor) {
  if (!tensor.valid() || last_read_ == std::pair{task, tensor}) return;
  last_read_ = {task, tensor};
  builder_.reads(task, tensor);
}

void LstmGraph::writes(TaskId task, TensorId tensor) {
  if (tensor.valid()) builder_.writes(task, tensor);
}

}  // namespace detail
}  // namespace schedlab
