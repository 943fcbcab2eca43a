// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_recurrent_device.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent_device/recurrent_tasks.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

namespace schedlab {
namespace {

const RecurrentSpec& checked(const RecurrentSpec& spec,
                             const TaskGraph& graph,
                             TensorAllocation allocation) {
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
    detail::expect_allocable_by_tensor(spec, graph);
  }
  return spec;
}

}  // namespace

class OpenClRecurrentWork::Implementation {
 public:
  Implementation(const std::shared_ptr<detail::OpenClContext>& context,
                 const RecurrentSpec& spec,
                 const TaskGraph& graph,
                 std::uint64_t seed,
                 bool by_tensor)
      : device(std::make_shared<detail::OpenClRecurrentDevice>(context)),
        tasks(device, spec, graph, seed, ProductPrecision::fp32, by_tensor) {
    if (spec.pass != RecurrentPass::backward) return;
    detail::OpenClLane lane(context, context->properties.least_priority);
    detail::OpenClRecurrentQueue queue(*device, lane);
    tasks.run_forward(queue);
  }

  [[nodiscard]] AllocatedMemory held() const {
    AllocatedMemory held = tasks.held();
    held.workspace += device->scratch_bytes();
    return held;
  }

  std::shared_ptr<detail::OpenClRecurrentDevice> device;
  detail::RecurrentTasks tasks;
};

OpenClRecurrentWork::OpenClRecurrentWork(const OpenClExecutor& executor,
                                         const RecurrentSpec& spec,
                                         const TaskGraph& graph,
                                         std::uint64_t seed,
                                         TensorAllocation allocation)
    : implementation_(
          std::make_unique<Implementation>(executor.context(),
                                           checked(spec, graph, allocation),
                                           graph,
                                           seed,
                                           detail::allocates_by_tensor(spec, allocation))) {}

OpenClRecurrentWork::~OpenClRecurrentWork() = default;

void OpenClRecurrentWork::launch(TaskId task, detail::OpenClLane& to) {
  detail::OpenClRecurrentQueue queue(*implementation_->device, to);
  implementation_->tasks.launch(task, to.stream(), queue);
}

void OpenClRecurrentWork::reset() {
  implementation_->tasks.reset();
}

std::optional<AllocatedMemory> OpenClRecurrentWork::memory() const {
  return implementation_->held();
}

void OpenClRecurrentWork::train_on(const PaddedBatch& batch) {
  implementation_->tasks.arrays().train_on(batch);
}

void OpenClRecurrentWork::continue_from(const TrainedNetwork& other) {
  const auto& from = dynamic_cast<const OpenClRecurrentWork&>(other);
  implementation_->tasks.arrays().continue_from(from.implementation_->tasks.arrays());
}

float OpenClRecurrentWork::loss() const {
  return implementation_->tasks.arrays().loss_value();
}

Bytes OpenClRecurrentWork::kept_memory() const {
  const AllocatedMemory held = implementation_->held();
  return held.tensors_peak + held.workspace;
}

const RecurrentInputs<float>& OpenClRecurrentWork::inputs() const {
  return implementation_->tasks.arrays().inputs;
}

RecurrentResults<float> OpenClRecurrentWork::results() const {
  return implementation_->tasks.arrays().results();
}

}  // namespace schedlab
