// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cuda/cuda_check.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/cuda_recurrent_device.hpp"
#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/executor/launched_memory.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent/step_tensors.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

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

/// Capturing a stream forbids this thread calls that might wait; to allocate is none that others
/// could see.
class AllowedWhileCapturing {
 public:
  AllowedWhileCapturing() { exchange(); }
  AllowedWhileCapturing(const AllowedWhileCapturing&) = delete;
  AllowedWhileCapturing& operator=(const AllowedWhileCapturing&) = delete;
  ~AllowedWhileCapturing() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  void exchange() {
    detail::check_cuda(cudaThreadExchangeStreamCaptureMode(&mode_),
                       "cudaThreadExchangeStreamCaptureMode");
  }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

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
        binding(spec, graph),
        launches(std::make_shared<detail::CudaRecurrentDevice>(),
                 spec,
                 draw_recurrent_inputs(spec, seed),
                 precision,
                 by_tensor) {
    if (by_tensor) {
      map.emplace(graph, launches.step_arrays());
      memory.emplace(graph,
                     *map,
                     detail::LaunchedMemory::Device{
                         .allocate = [this](std::size_t elements) { return allocated(elements); },
                         .drop = [this] { pieces.clear(); }});
      launches.use(*map, *memory);
    }
    if (spec.pass != RecurrentPass::backward) return;
    const detail::CudaStream stream = detail::make_stream(context->properties.least_priority);
    detail::CudaBlas blas(*context->blas, context->lt.get(), context->workspace_bytes);
    const detail::CudaLaunch to{.stream = stream.get(),
                                .blas = blas,
                                .capturing = false,
                                .stream_number = std::nullopt,
                                .measuring = true};
    detail::CudaRecurrentQueue queue(to);
    launches.run_forward(queue);
    launches.arrays().keep_forward();
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() = default;

  float* allocated(std::size_t elements) {
    const AllowedWhileCapturing allowed;
    return pieces.emplace_back(elements).data();
  }

  void launch(TaskId task, const detail::CudaLaunch& to) {
    if (memory) memory->enter(task, to.stream_number);
    const auto& bound = binding.task(task);
    detail::CudaRecurrentQueue queue(to);
    for (const auto& kernel : binding.kernels(task)) {
      launches.launch(kernel.task,
                      {.id = task, .chain = bound.chain, .step = bound.step, .steps = kernel.steps},
                      queue);
    }
    if (memory) memory->leave(task);
  }

  /// With the device idle: the next run's tensors hold NaN until they are written.
  void reset() {
    if (memory) {
      memory->reset();
      for (const auto& piece : pieces) {
        detail::check_cuda(cudaMemset(piece.data(), 0xFF, piece.bytes()), "cudaMemset");
      }
    }
    launches.arrays().reset();
  }

  [[nodiscard]] AllocatedMemory held() const {
    const detail::RecurrentArrays& arrays = launches.arrays();
    return {.tensors_peak = arrays.tensor_bytes() + (memory ? memory->held() : Bytes{0}),
            .workspace = arrays.workspace_bytes(),
            .by_tensor = memory.has_value()};
  }

  std::shared_ptr<const detail::CudaContext> context;
  detail::RecurrentBinding binding;
  detail::RecurrentLaunches launches;
  std::optional<detail::StepTensorMap> map;  // none: all lie in the arrays
  std::optional<detail::LaunchedMemory> memory;
  std::vector<detail::DeviceArray<float>> pieces;
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
  implementation_->launch(task, to);
}

void CudaRecurrentWork::reset() {
  if (implementation_->memory) launches_change();  // addresses are given anew
  implementation_->reset();
}

std::optional<AllocatedMemory> CudaRecurrentWork::memory() const {
  return implementation_->held();
}

void CudaRecurrentWork::train_on(const PaddedBatch& batch) {
  launches_change();  // the loss has other factors
  implementation_->launches.arrays().train_on(batch);
}

void CudaRecurrentWork::continue_from(const TrainedNetwork& other) {
  const auto& from = dynamic_cast<const CudaRecurrentWork&>(other);
  launches_change();
  implementation_->launches.arrays().continue_from(from.implementation_->launches.arrays());
}

float CudaRecurrentWork::loss() const {
  return implementation_->launches.arrays().loss_value();
}

Bytes CudaRecurrentWork::kept_memory() const {
  Bytes bytes = implementation_->launches.arrays().tensor_bytes() +
                implementation_->launches.arrays().workspace_bytes();
  for (const auto& piece : implementation_->pieces) {
    bytes += Bytes{static_cast<std::int64_t>(piece.bytes())};
  }
  return bytes;
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
