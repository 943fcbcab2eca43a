// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_work.hpp"

#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent/recurrent_steps.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {

class RecurrentWork::Implementation {
 public:
  Implementation(const RecurrentSpec& spec,
                 const TaskGraph& graph,
                 std::uint64_t seed,
                 bool by_tensor)
      : steps(spec, seed, by_tensor), binding(spec, graph) {
    if (!by_tensor) return;
    IdVector<TaskId, std::uint32_t> blocks;
    for (const TaskId task : graph.tasks()) {
      std::uint32_t count = 0;
      for (const auto& kernel : binding.kernels(task)) count += kernel.blocks;
      blocks.push_back(count);
    }
    tensors = std::make_unique<detail::StepTensors>(graph, steps.step_arrays(), blocks);
    steps.use(tensors.get());
  }

  void run(TaskId task, std::size_t kernel, std::uint32_t block) {
    const detail::RecurrentBinding::BoundTask& bound = binding.task(task);
    const detail::RecurrentBinding::BoundKernel& k = binding.kernels(task)[kernel];
    if (tensors != nullptr) tensors->memory().enter(task);
    steps.run(k.task,
              {.id = task,
               .chain = bound.chain,
               .step = bound.step,
               .steps = k.steps,
               .block = block,
               .blocks = k.blocks});
    if (tensors != nullptr) tensors->memory().leave(task);
  }

  detail::RecurrentSteps steps;
  detail::RecurrentBinding binding;
  std::unique_ptr<detail::StepTensors> tensors;  // none: all lie in the state
};

using detail::allocates_by_tensor;
using detail::expect_allocable_by_tensor;

namespace {

const RecurrentSpec& checked(const RecurrentSpec& spec,
                             const TaskGraph& graph,
                             TensorAllocation allocation) {
  if (spec.type != DataType::fp32 && spec.type != DataType::bf16) {
    throw InfeasibleError(
        fmt::format("the kernels for the CPU compute in fp32, or with what is stored rounded to "
                    "bf16; the workload has {}\n  set \"data_type\": \"fp32\"",
                    to_string(spec.type)),
        "data type",
        std::string(to_string(spec.type)),
        "fp32, bf16");
  }
  if (!allocates_by_tensor(spec, allocation)) return spec;
  expect_allocable_by_tensor(spec, graph);
  if (spec.type == DataType::fp32) return spec;
  throw InfeasibleError(
      "on cores memory is taken tensor by tensor, as recomputation needs it, in fp32: numbers "
      "rounded to bf16 take as much\n  set \"data_type\": \"fp32\", or \"recompute\": "
      "\"keep_backward\" without --allocate by_tensor",
      "data type",
      "bf16",
      "fp32");
}

}  // namespace

RecurrentWork::RecurrentWork(const RecurrentSpec& spec,
                             const TaskGraph& graph,
                             std::uint64_t seed,
                             TensorAllocation allocation)
    : implementation_(std::make_unique<Implementation>(
          checked(spec, graph, allocation), graph, seed, allocates_by_tensor(spec, allocation))) {
  if (spec.pass == RecurrentPass::backward) implementation_->steps.run_forward();
}

RecurrentWork::~RecurrentWork() = default;

std::size_t RecurrentWork::kernel_count(TaskId task) const {
  return implementation_->binding.kernels(task).size();
}

std::uint32_t RecurrentWork::blocks(TaskId task, std::size_t kernel) const {
  return implementation_->binding.kernels(task)[kernel].blocks;
}

void RecurrentWork::run(TaskId task, std::size_t kernel, std::uint32_t block) {
  implementation_->run(task, kernel, block);
}

void RecurrentWork::reset() {
  implementation_->steps.reset();
  if (implementation_->tensors != nullptr) implementation_->tensors->memory().reset();
}

std::optional<AllocatedMemory> RecurrentWork::memory() const {
  const detail::RecurrentState& state = implementation_->steps.state();
  AllocatedMemory memory{.tensors_peak = state.tensor_bytes(),
                         .workspace = state.workspace_bytes(),
                         .by_tensor = implementation_->tensors != nullptr};
  if (implementation_->tensors != nullptr) {
    memory.tensors_peak += implementation_->tensors->memory().peak();
  }
  return memory;
}

void RecurrentWork::train_on(const PaddedBatch& batch) {
  implementation_->steps.train_on(batch);
}

void RecurrentWork::continue_from(const TrainedNetwork& other) {
  const auto& from = dynamic_cast<const RecurrentWork&>(other);
  implementation_->steps.continue_from(from.implementation_->steps.state());
}

float RecurrentWork::loss() const {
  const detail::RecurrentState& state = implementation_->steps.state();
  return state.spec.transfers ? state.returned_loss : state.loss;
}

Bytes RecurrentWork::kept_memory() const {
  const detail::RecurrentState& state = implementation_->steps.state();
  return state.tensor_bytes() + state.workspace_bytes();
}

const RecurrentInputs<float>& RecurrentWork::inputs() const {
  return implementation_->steps.state().inputs;
}

RecurrentResults<float> RecurrentWork::results() const {
  return implementation_->steps.state().results();
}

void run_serially(CpuWork& work, const TaskGraph& graph) {
  work.reset();
  for (const TaskId task : graph.topological_order()) {
    for (std::size_t kernel = 0; kernel < work.kernel_count(task); ++kernel) {
      for (std::uint32_t block = 0; block < work.blocks(task, kernel); ++block) {
        work.run(task, kernel, block);
      }
    }
  }
}

}  // namespace schedlab
