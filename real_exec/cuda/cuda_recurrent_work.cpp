// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/cuda_recurrent_device.hpp"
#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent/step_tensors.hpp"
#include "real_exec/recurrent_device/recurrent_tasks.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

CudaPrecision chosen_precision(const RecurrentSpec& spec, std::optional<CudaPrecision> precision) {
  if (!precision) precision = cuda_precision_of(spec.type);
  if (precision) return *precision;
  throw InfeasibleError(
      fmt::format("recurrent kernels for CUDA devices compute in fp32, tf32 or bf16; the workload "
                  "has {}\n  set \"data_type\" or --precision to one of these",
                  to_string(spec.type)),
      "data type",
      std::string(to_string(spec.type)),
      "fp32, tf32, bf16");
}

const RecurrentSpec& checked(const RecurrentSpec& spec,
                             const TaskGraph& graph,
                             CudaPrecision precision,
                             TensorAllocation allocation) {
  if (!detail::allocates_by_tensor(spec, allocation)) return spec;
  detail::expect_allocable_by_tensor(spec, graph);
  if (precision != CudaPrecision::bf16) return spec;
  throw InfeasibleError(
      "on CUDA devices memory is taken tensor by tensor, as recomputation needs it, with arrays in "
      "fp32; the precision is bf16\n  use --precision tf32 or fp32, or \"recompute\": "
      "\"keep_backward\" without --allocate by_tensor",
      "precision",
      "bf16",
      "fp32, tf32");
}

}  // namespace

class CudaRecurrentWork::Implementation {
 public:
  Implementation(std::shared_ptr<const detail::CudaContext> made_context,
                 const RecurrentSpec& spec,
                 const TaskGraph& graph,
                 std::uint64_t seed,
                 CudaPrecision precision,
                 bool by_tensor)
      : context(std::move(made_context)),
        tasks(std::make_shared<detail::CudaRecurrentDevice>(),
              spec,
              graph,
              seed,
              precision,
              by_tensor) {
    if (spec.pass != RecurrentPass::backward) return;
    const detail::CudaStream stream = detail::make_stream(context->properties.least_priority);
    detail::CudaBlas blas(*context->blas, context->lt.get(), context->workspace_bytes);
    const detail::CudaLaunch to{.stream = stream.get(),
                                .blas = blas,
                                .capturing = false,
                                .stream_number = std::nullopt,
                                .measuring = true};
    detail::CudaRecurrentQueue queue(to);
    tasks.run_forward(queue);
  }

  std::shared_ptr<const detail::CudaContext> context;
  detail::RecurrentTasks tasks;
};

CudaRecurrentWork::CudaRecurrentWork(const CudaExecutor& executor,
                                     const RecurrentSpec& spec,
                                     const TaskGraph& graph,
                                     std::uint64_t seed,
                                     std::optional<CudaPrecision> precision,
                                     TensorAllocation allocation)
    : implementation_(std::make_unique<Implementation>(
          detail::used_context(executor),
          checked(spec, graph, chosen_precision(spec, precision), allocation),
          graph,
          seed,
          chosen_precision(spec, precision),
          detail::allocates_by_tensor(spec, allocation))) {}

CudaRecurrentWork::~CudaRecurrentWork() = default;

void CudaRecurrentWork::launch(TaskId task, const detail::CudaLaunch& to) {
  detail::CudaRecurrentQueue queue(to);
  implementation_->tasks.launch(task, to.stream_number, queue);
}

void CudaRecurrentWork::reset() {
  if (implementation_->tasks.by_tensor()) launches_change();  // addresses are given anew
  implementation_->tasks.reset();
}

std::optional<AllocatedMemory> CudaRecurrentWork::memory() const {
  return implementation_->tasks.held();
}

void CudaRecurrentWork::train_on(const PaddedBatch& batch) {
  launches_change();  // the loss has other factors
  implementation_->tasks.arrays().train_on(batch);
}

void CudaRecurrentWork::continue_from(const TrainedNetwork& other) {
  const auto& from = dynamic_cast<const CudaRecurrentWork&>(other);
  launches_change();
  implementation_->tasks.arrays().continue_from(from.implementation_->tasks.arrays());
}

float CudaRecurrentWork::loss() const {
  return implementation_->tasks.arrays().loss_value();
}

Bytes CudaRecurrentWork::kept_memory() const {
  return implementation_->tasks.allocated();
}

CudaPrecision CudaRecurrentWork::precision() const {
  return implementation_->tasks.arrays().precision;
}

const RecurrentInputs<float>& CudaRecurrentWork::inputs() const {
  return implementation_->tasks.arrays().inputs;
}

RecurrentResults<float> CudaRecurrentWork::results() const {
  return implementation_->tasks.arrays().results();
}

}  // namespace schedlab
