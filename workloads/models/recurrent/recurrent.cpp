// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/recurrent/recurrent.hpp"

#include "sim/base/error.hpp"
#include "workloads/buckets/checkpoints.hpp"
#include "workloads/models/model_limits.hpp"
#include "workloads/models/recurrent/recurrent_stack.hpp"
#include "workloads/models/recurrent/separate_gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace schedlab {
namespace {

using detail::ChainSpec;
using detail::GraphEmitter;
using detail::RecurrentChain;
using detail::RecurrentStack;
using detail::Steps;

std::int64_t checkpoints_of(const RecurrentSpec& spec) {
  return spec.checkpoints > 0 ? spec.checkpoints : default_checkpoints(spec.cell, spec.steps);
}

void check_recomputation(const RecurrentSpec& spec) {
  if (spec.recompute == Recompute::keep_backward) return;
  const std::string word{to_string(spec.recompute)};
  if (spec.pass != RecurrentPass::training) {
    throw InfeasibleError(
        fmt::format("recompute {} needs the forward pass that it keeps less or more of in the same "
                    "graph; set \"pass\": \"training\"",
                    word),
        "pass",
        spec.pass == RecurrentPass::forward ? "forward" : "backward",
        "training");
  }
  const auto expect_single = [&](std::int64_t steps, const char* option) {
    if (steps == 1) return;
    throw InfeasibleError(
        fmt::format("recompute {} keeps and computes the products of single steps; set \"{}\": 1",
                    word,
                    option),
        option,
        fmt::format("{}", steps),
        "1");
  };
  expect_single(spec.input_steps, "input_steps");
  expect_single(spec.hidden_2_steps, "hidden_2_steps");
  if (spec.recompute != Recompute::sqrt && spec.recompute != Recompute::optimal) return;
  if (spec.bidirectional != Bidirectional::none) {
    throw InfeasibleError(
        fmt::format("recompute {} advances all layers step by step, which bidirectional layers "
                    "cannot; use data_drop, or \"bidirectional\": \"none\"",
                    word),
        "bidirectional",
        spec.bidirectional == Bidirectional::first ? "first" : "all",
        "none");
  }
  if (spec.recompute == Recompute::optimal) {
    const std::int64_t slots = std::min(checkpoints_of(spec), spec.steps - 1);
    detail::check_nodes("lstm", spec.layers, min_forward_steps(spec.steps, slots));
  }
}

/// Segments follow each other, step by step.
void check_truncation(const RecurrentSpec& spec) {
  if (spec.truncate_steps == 0) return;
  const auto expect = [](bool met, const char* option, std::string found, const char* expected) {
    if (met) return;
    throw InfeasibleError(
        fmt::format("truncate_steps trains segment by segment; set \"{}\": {}", option, expected),
        option,
        std::move(found),
        expected);
  };
  const bool by_segments =
      spec.recompute != Recompute::sqrt && spec.recompute != Recompute::optimal;
  expect(spec.pass == RecurrentPass::training,
         "pass",
         spec.pass == RecurrentPass::forward ? "forward" : "backward",
         "\"training\"");
  expect(spec.bidirectional == Bidirectional::none,
         "bidirectional",
         spec.bidirectional == Bidirectional::first ? "first" : "all",
         "\"none\"");
  expect(by_segments,
         "recompute",
         std::string{to_string(spec.recompute)},
         "\"keep_backward\", \"data_drop\" or \"keep_all\"");
  expect(spec.input_steps == 1, "input_steps", std::to_string(spec.input_steps), "1");
  expect(spec.hidden_2_steps == 1, "hidden_2_steps", std::to_string(spec.hidden_2_steps), "1");
  expect(spec.hidden_1_slices == 1, "hidden_1_slices", std::to_string(spec.hidden_1_slices), "1");
}

/// A task of its own before two products that are tasks, once for all who read it.
void check_k_major(const RecurrentSpec& spec) {
  if (!spec.k_major) return;
  const auto expect = [](bool met, const char* option, std::string found, const char* expected) {
    if (met) return;
    throw InfeasibleError(
        fmt::format(
            "k_major copies the factors of two products for weight gradients that are tasks "
            "of their own; set \"{}\": {}, or leave out \"k_major\"",
            option,
            expected),
        option,
        std::move(found),
        expected);
  };
  expect(spec.granularity != Granularity::coarse, "granularity", "coarse", "\"fine\"");
  expect(spec.cell != RecurrentCell::gru_reset_before, "reset", "before", "\"after\"");
  expect(spec.projection == 0, "projection", std::to_string(spec.projection), "0");
  expect(spec.recompute == Recompute::keep_backward,
         "recompute",
         std::string{to_string(spec.recompute)},
         "\"keep_backward\"");
  expect(spec.truncate_steps == 0, "truncate_steps", std::to_string(spec.truncate_steps), "0");
  expect(!spec.separate_gates, "separate_gates", "true", "false");
}

void check_slices(const RecurrentSpec& spec) {
  if (spec.hidden_1_slices == 1) return;
  const std::int64_t k = cell_shape(spec.cell).recurrent_gates * spec.hidden;
  if (k % spec.hidden_1_slices != 0) {
    throw InfeasibleError(
        fmt::format("hidden_1 sums {} products for each result, which is no multiple of {} slices; "
                    "set \"hidden_1_slices\" to a divisor",
                    k,
                    spec.hidden_1_slices),
        "hidden_1_slices",
        fmt::format("{}", spec.hidden_1_slices),
        fmt::format("a divisor of {}", k));
  }
}

void check_projection(const RecurrentSpec& spec) {
  if (spec.projection == 0) return;
  const auto refuse = [&](const char* what, const char* limit) {
    throw InfeasibleError(what, "projection", fmt::format("{}", spec.projection), limit);
  };
  if (spec.cell != RecurrentCell::lstm) {
    refuse("a projection is of an LSTM's output; set \"projection\": 0", "0");
  }
  if (spec.projection > spec.hidden) {
    refuse("a projection is at most as wide as the hidden state", "hidden");
  }
  if (spec.separate_gates) {
    refuse("separate_gates cuts LSTMs without projection; set \"projection\": 0", "0");
  }
}

void check(const RecurrentSpec& spec) {
  const auto at_least_one = [](std::int64_t value, const char* name) {
    SCHEDLAB_EXPECTS(value >= 1, fmt::format("recurrent: {} is {}", name, value));
  };
  at_least_one(spec.layers, "layers");
  at_least_one(spec.steps, "steps");
  at_least_one(spec.batch, "batch");
  at_least_one(spec.hidden, "hidden");
  at_least_one(spec.accumulation_steps, "accumulation_steps");
  at_least_one(spec.partial_buffers, "partial_buffers");
  SCHEDLAB_EXPECTS(spec.input >= 0, fmt::format("recurrent: input is {}", spec.input));
  at_least_one(spec.hidden_1_slices, "hidden_1_slices");
  const auto not_negative = [](std::int64_t value, const char* name) {
    SCHEDLAB_EXPECTS(value >= 0, fmt::format("recurrent: {} is {}", name, value));
  };
  not_negative(spec.input_steps, "input_steps");
  not_negative(spec.hidden_2_steps, "hidden_2_steps");
  not_negative(spec.weight_units, "weight_units");
  not_negative(spec.last_accumulation_steps, "last_accumulation_steps");
  detail::check_nodes("lstm", chain_count(spec), spec.steps);
  const auto hidden = static_cast<double>(spec.hidden);
  // Two directions double the width of an input.
  const double width = std::max(2 * hidden, static_cast<double>(spec.input));
  detail::check_recurrent_tensors({.steps = spec.steps,
                                   .batch = spec.batch,
                                   .hidden = hidden,
                                   .width = width,
                                   .buffers = spec.partial_buffers});
  SCHEDLAB_EXPECTS(spec.checkpoints >= 0,
                   fmt::format("recurrent: checkpoints is {}", spec.checkpoints));
  SCHEDLAB_EXPECTS(spec.projection >= 0,
                   fmt::format("recurrent: projection is {}", spec.projection));
  not_negative(spec.truncate_steps, "truncate_steps");
  check_projection(spec);
  check_recomputation(spec);
  check_truncation(spec);
  check_slices(spec);
  check_k_major(spec);
}

/// The whole graph; used once.
class Generator {
 public:
  explicit Generator(const RecurrentSpec& spec)
      : spec_(spec), out_(spec.type, spec.tensors, spec.tensor_names) {
    if (spec_.input == 0) spec_.input = spec_.hidden;
    input_.resize(static_cast<std::size_t>(spec_.steps));
    output_gradient_.resize(input_.size());
  }

  [[nodiscard]] TaskGraph build() &&;

 private:
  [[nodiscard]] bool training() const { return spec_.pass == RecurrentPass::training; }
  [[nodiscard]] std::size_t estimated_tasks() const;
  /// Of one step.
  [[nodiscard]] std::int64_t output_elements(RecurrentStack& stack) const {
    const std::int64_t width = stack.top().front()->shape().output();
    return spec_.batch * width * static_cast<std::int64_t>(stack.top().size());
  }
  void fill(Steps& steps, TaskId task, TensorId tensor) {
    std::fill(steps.begin(), steps.end(), detail::Value{task, tensor, true});
  }
  void add_transfer_in();
  void add_loss(RecurrentStack& stack, std::int64_t first);
  void add_segments(RecurrentStack& stack);
  void add_backward(RecurrentStack& stack);
  void add_transfer_out();

  RecurrentSpec spec_;
  GraphEmitter out_;
  Steps input_;            // x, one tensor
  Steps output_gradient_;  // dy, one tensor
  TaskId loss_;            // of the segment emitted last
  TensorId target_;
  TensorId loss_value_;
};

TaskGraph Generator::build() && {
  out_.reserve(estimated_tasks());
  const bool copied = training() && spec_.transfers;
  const TensorId x =
      out_.tensor("x", -1, GraphEmitter::no_step, spec_.steps * spec_.batch * spec_.input, !copied);
  fill(input_, TaskId::none(), x);
  ChainSpec chain;
  chain.shape = {.batch = spec_.batch,
                 .hidden = spec_.hidden,
                 .width = spec_.input,
                 .type = spec_.type,
                 .cell = spec_.cell,
                 .projection = spec_.projection};
  chain.steps = spec_.steps;
  chain.cut = {.granularity = spec_.granularity,
               .accumulation = spec_.accumulation,
               .accumulation_steps = spec_.accumulation_steps,
               .partial_buffers = spec_.partial_buffers,
               .buffer_order = spec_.buffer_order,
               .input_steps = spec_.input_steps,
               .hidden_2_steps = spec_.hidden_2_steps,
               .hidden_1_slices = spec_.hidden_1_slices,
               .weight_units = spec_.weight_units,
               .k_major = spec_.k_major};
  chain.pass = spec_.pass;
  chain.recompute = spec_.recompute;
  if (truncated(spec_)) chain.segment = segment_steps(spec_);
  RecurrentStack stack{out_,
                       chain,
                       {.count = spec_.layers,
                        .bidirectional = spec_.bidirectional,
                        .returns_input_gradients = true,
                        .last_accumulation_steps = spec_.last_accumulation_steps},
                       {&input_}};
  stack.add_upstream(&output_gradient_);
  stack.add_parameters();
  if (spec_.pass == RecurrentPass::backward) {
    fill(output_gradient_,
         TaskId::none(),
         out_.tensor("dy", -1, GraphEmitter::no_step, spec_.steps * output_elements(stack), true));
    stack.add_borders();
  }
  if (copied) add_transfer_in();
  if (truncated(spec_)) {
    stack.add_borders();
    add_segments(stack);
  } else {
    if (spec_.pass != RecurrentPass::backward) stack.forward();
    if (training()) {
      add_loss(stack, 0);
      stack.add_borders();
    }
    if (spec_.pass != RecurrentPass::forward) add_backward(stack);
  }
  if (spec_.pass != RecurrentPass::forward) stack.add_reductions();
  if (training()) {
    stack.add_updates(spec_.optimizer);
    if (spec_.transfers) add_transfer_out();
  }
  return std::move(out_).build();
}

std::size_t Generator::estimated_tasks() const {
  const auto nodes = static_cast<std::size_t>(chain_count(spec_) * spec_.steps);
  const bool whole = spec_.granularity == Granularity::coarse;
  const bool apart = spec_.granularity == Granularity::matmul;
  const bool forward_whole = whole || spec_.granularity == Granularity::data_and_weight;
  const bool three = spec_.cell == RecurrentCell::gru_reset_before || spec_.projection > 0;
  const std::size_t more = three ? 3 : 0;
  const std::size_t backward = whole ? 1 : (apart ? 6 : 5) + more;
  const std::size_t forward = forward_whole ? 1 : 3 + more;
  return nodes * ((spec_.pass == RecurrentPass::forward ? 0 : backward) +
                  (spec_.pass == RecurrentPass::backward ? 0 : forward));
}

void Generator::add_transfer_in() {
  const std::int64_t bytes = out_.bytes(spec_.steps * spec_.batch * spec_.input);
  Kernel copy = copy_kernel(TaskKind::copy_host_to_device, bytes, spec_.type);
  copy.pageable = spec_.pageable;
  const TaskId transfer =
      out_.task(out_.operation("transfer_in", TaskClass::transfer, {copy}), -1, -1);
  out_.writes(transfer, input_.front().tensor);
  fill(input_, transfer, input_.front().tensor);
}

/// Of the segment that begins with step `first`.
void Generator::add_loss(RecurrentStack& stack, std::int64_t first) {
  const std::int64_t steps = std::min(segment_steps(spec_), spec_.steps - first);
  const std::int64_t elements = steps * output_elements(stack);
  const TaskId before = loss_;
  loss_ = out_.task(
      out_.operation("loss", TaskClass::critical_pointwise, {loss_kernel(elements, spec_.type)}),
      -1,
      truncated(spec_) ? first : -1);
  out_.edge(before, loss_);
  const auto of_segment = [&](const Steps& all) {
    return std::span{all}.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(steps));
  };
  for (const RecurrentChain* chain : stack.top()) {
    out_.edge(chain->final_h().task, loss_);  // the last step; after all others
    for (const detail::Value& value : of_segment(chain->outputs())) out_.reads(loss_, value.tensor);
  }
  if (first == 0) {
    const std::int64_t of_all = spec_.steps * output_elements(stack);
    target_ = out_.tensor("y", -1, GraphEmitter::no_step, of_all, true);
  }
  out_.reads(loss_, target_);
  const TensorId gradient =
      out_.tensor("dy", -1, truncated(spec_) ? first : GraphEmitter::no_step, elements, false);
  if (first == 0) {
    loss_value_ = out_.tensor("loss", -1, GraphEmitter::no_step, 1, false, truncated(spec_));
  }
  out_.writes(loss_, gradient);
  out_.writes(loss_, loss_value_);
  for (std::int64_t step = first; step < first + steps; ++step) {
    output_gradient_[static_cast<std::size_t>(step)] = {loss_, gradient, true};
  }
}

/// Each forward, its loss, and backward.
void Generator::add_segments(RecurrentStack& stack) {
  for (std::int64_t first = 0; first < spec_.steps; first += segment_steps(spec_)) {
    const std::int64_t last = std::min(first + segment_steps(spec_), spec_.steps);
    for (std::int64_t step = first; step < last; ++step) stack.forward_step(step);
    add_loss(stack, first);
    for (std::int64_t step = last; step-- > first;) stack.backward_step(spec_.steps - 1 - step);
  }
}

void Generator::add_backward(RecurrentStack& stack) {
  if (spec_.recompute == Recompute::sqrt) {
    stack.backward(segmented_actions(spec_.steps, checkpoint_segment(spec_.cell, spec_.steps)));
  } else if (spec_.recompute == Recompute::optimal) {
    stack.backward(checkpointed_actions(spec_.steps, checkpoints_of(spec_)));
  } else {
    stack.backward();
  }
}

void Generator::add_transfer_out() {
  Kernel copy =
      copy_kernel(TaskKind::copy_device_to_host, bytes_per_element(spec_.type), spec_.type);
  copy.pageable = spec_.pageable;
  const TaskId transfer =
      out_.task(out_.operation("transfer_out", TaskClass::transfer, {copy}), -1, -1);
  out_.edge(loss_, transfer);
  out_.reads(transfer, loss_value_);
}

}  // namespace

std::int64_t chain_count(const RecurrentSpec& spec) {
  switch (spec.bidirectional) {
    case Bidirectional::first:
      return spec.layers + 1;
    case Bidirectional::all:
      return 2 * spec.layers;
    default:
      return spec.layers;
  }
}

namespace {

TaskGraph separated(const RecurrentSpec& spec, bool products) {
  const bool lstm = spec.cell == RecurrentCell::lstm;
  if (!lstm || spec.pass != RecurrentPass::backward || !spec.tensors || !spec.tensor_names ||
      spec.granularity != Granularity::matmul) {
    throw InfeasibleError(
        "separate_gates is for the backward pass of an LSTM at granularity matmul, with tensors; "
        "set \"pass\": \"backward\", \"granularity\": \"matmul\"");
  }
  if (spec.hidden_2_steps != 1 || spec.hidden_1_slices != 1) {
    throw InfeasibleError(
        "separate_gates cuts the products of single steps, each in one piece; set "
        "\"hidden_2_steps\": 1, \"hidden_1_slices\": 1");
  }
  return detail::separate_gates(Generator{spec}.build(), spec.type, products);
}

}  // namespace

TaskGraph recurrent(const RecurrentSpec& spec) {
  check(spec);
  return spec.separate_gates ? separated(spec, false) : Generator{spec}.build();
}

TaskGraph recurrent_by_gate(const RecurrentSpec& spec) {
  check(spec);
  if (!spec.separate_gates) {
    throw InfeasibleError(
        "gate_products cuts what separate_gates has cut before\n  set \"separate_gates\": true");
  }
  return separated(spec, true);
}

}  // namespace schedlab
