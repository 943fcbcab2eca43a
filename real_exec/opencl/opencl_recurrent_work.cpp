// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_recurrent_device.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace schedlab {
namespace {

const RecurrentSpec& checked(const RecurrentSpec& spec, TensorAllocation allocation) {
  if (spec.type != DataType::fp32) {
    throw InfeasibleError(
        fmt::format("recurrent kernels for OpenCL devices compute in fp32; the workload has {}\n  "
                    "set \"data_type\" to fp32",
                    to_string(spec.type)),
        "data type",
        std::string(to_string(spec.type)),
        "fp32");
  }
  if (detail::allocates_by_tensor(spec, allocation)) {
    throw InfeasibleError(
        "on OpenCL devices all tensors have memory for the whole run: recomputation and "
        "--allocate by_tensor are for the CPU and for CUDA devices");
  }
  return spec;
}

}  // namespace

class OpenClRecurrentWork::Implementation {
 public:
  Implementation(const std::shared_ptr<detail::OpenClContext>& context,
                 const RecurrentSpec& spec,
                 const TaskGraph& graph,
                 std::uint64_t seed)
      : device(std::make_shared<detail::OpenClRecurrentDevice>(context)),
        binding(spec, graph),
        launches(device, spec, seed, ProductPrecision::fp32, false) {
    if (spec.pass != RecurrentPass::backward) return;
    detail::OpenClLane lane(context, context->properties.least_priority);
    detail::OpenClRecurrentQueue queue(*device, lane);
    launches.run_forward(queue);
    launches.arrays().keep_forward();
  }

  void launch(TaskId task, detail::OpenClLane& to) {
    const auto& bound = binding.task(task);
    detail::OpenClRecurrentQueue queue(*device, to);
    for (const auto& kernel : binding.kernels(task)) {
      launches.launch(kernel.task,
                      {.id = task, .chain = bound.chain, .step = bound.step, .steps = kernel.steps},
                      queue);
    }
  }

  std::shared_ptr<detail::OpenClRecurrentDevice> device;
  detail::RecurrentBinding binding;
  detail::RecurrentLaunches launches;
};

OpenClRecurrentWork::OpenClRecurrentWork(const OpenClExecutor& executor,
                                         const RecurrentSpec& spec,
                                         const TaskGraph& graph,
                                         std::uint64_t seed,
                                         TensorAllocation allocation)
    : implementation_(std::make_unique<Implementation>(
          executor.context(), checked(spec, allocation), graph, seed)) {}

OpenClRecurrentWork::~OpenClRecurrentWork() = default;

void OpenClRecurrentWork::launch(TaskId task, detail::OpenClLane& to) {
  implementation_->launch(task, to);
}

void OpenClRecurrentWork::reset() {
  implementation_->launches.arrays().reset();
}

std::optional<AllocatedMemory> OpenClRecurrentWork::memory() const {
  const detail::RecurrentArrays& arrays = implementation_->launches.arrays();
  return AllocatedMemory{.tensors_peak = arrays.tensor_bytes(),
                         .workspace = arrays.workspace_bytes()};
}

void OpenClRecurrentWork::train_on(const PaddedBatch& batch) {
  implementation_->launches.arrays().train_on(batch);
}

void OpenClRecurrentWork::continue_from(const TrainedNetwork& other) {
  const auto& from = dynamic_cast<const OpenClRecurrentWork&>(other);
  implementation_->launches.arrays().continue_from(from.implementation_->launches.arrays());
}

float OpenClRecurrentWork::loss() const {
  return implementation_->launches.arrays().loss_value();
}

Bytes OpenClRecurrentWork::kept_memory() const {
  const detail::RecurrentArrays& arrays = implementation_->launches.arrays();
  return arrays.tensor_bytes() + arrays.workspace_bytes();
}

const RecurrentInputs<float>& OpenClRecurrentWork::inputs() const {
  return implementation_->launches.arrays().inputs;
}

RecurrentResults<float> OpenClRecurrentWork::results() const {
  return implementation_->launches.arrays().results();
}

}  // namespace schedlab
