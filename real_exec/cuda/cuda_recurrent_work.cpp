// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/recurrent_launches.hpp"
#include "real_exec/cuda_executor.hpp"
#include "real_exec/cuda_work.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

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

const RecurrentSpec& without_recomputation(const RecurrentSpec& spec) {
  if (spec.recompute == Recompute::keep_backward) return spec;
  throw InfeasibleError(
      fmt::format("recurrent kernels for CUDA devices keep what the backward pass reads; the "
                  "workload has recompute {}\n  set \"recompute\": \"keep_backward\", or run it "
                  "with --device cpu",
                  to_string(spec.recompute)),
      "recompute",
      std::string(to_string(spec.recompute)),
      "keep_backward");
}

}  // namespace

class CudaRecurrentWork::Implementation {
 public:
  Implementation(std::shared_ptr<const detail::CudaContext> made_context,
                 const RecurrentSpec& spec,
                 const TaskGraph& graph,
                 std::uint64_t seed,
                 CudaPrecision precision)
      : context(std::move(made_context)), binding(spec, graph), launches(spec, seed, precision) {
    if (spec.pass != RecurrentPass::backward) return;
    const detail::CudaStream stream = detail::make_stream(context->properties.least_priority);
    detail::CudaBlas blas(*context->blas, context->workspace_bytes);
    launches.run_forward({.stream = stream.get(), .blas = blas});
    launches.arrays().keep_forward();
  }

  std::shared_ptr<const detail::CudaContext> context;
  detail::RecurrentBinding binding;
  detail::RecurrentLaunches launches;
};

CudaRecurrentWork::CudaRecurrentWork(const CudaExecutor& executor,
                                     const RecurrentSpec& spec,
                                     const TaskGraph& graph,
                                     std::uint64_t seed,
                                     std::optional<CudaPrecision> precision)
    : implementation_(std::make_unique<Implementation>(detail::used_context(executor),
                                                       without_recomputation(spec),
                                                       graph,
                                                       seed,
                                                       chosen_precision(spec, precision))) {}

CudaRecurrentWork::~CudaRecurrentWork() = default;

void CudaRecurrentWork::launch(TaskId task, const detail::CudaLaunch& to) {
  const auto& bound = implementation_->binding.task(task);
  for (const auto& kernel : implementation_->binding.kernels(task)) {
    implementation_->launches.launch(
        kernel.task, {.chain = bound.chain, .step = bound.step, .steps = kernel.steps}, to);
  }
}

void CudaRecurrentWork::reset() {
  implementation_->launches.arrays().reset();
}

CudaPrecision CudaRecurrentWork::precision() const {
  return implementation_->launches.arrays().precision;
}

const RecurrentInputs<float>& CudaRecurrentWork::inputs() const {
  return implementation_->launches.arrays().inputs;
}

RecurrentResults<float> CudaRecurrentWork::results() const {
  return implementation_->launches.arrays().results();
}

}  // namespace schedlab
