// SPDX-License-Identifier: Apache-2.0
#include "real_exec/executor/launched_memory.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_recurrent_device.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent/recurrent_checks.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent/step_tensors.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
        binding(spec, graph),
        launches(
            device, spec, draw_recurrent_inputs(spec, seed), ProductPrecision::fp32, by_tensor) {
    if (by_tensor) {
      map.emplace(graph, launches.step_arrays());
      memory.emplace(
          graph,
          *map,
          detail::LaunchedMemory::Device{.allocate =
                                             [this](std::size_t elements) {
                                               return pieces.emplace_back(*device, elements).data();
                                             },
                                         .drop = [this] { pieces.clear(); }});
      launches.use(*map, *memory);
    }
    if (spec.pass != RecurrentPass::backward) return;
    detail::OpenClLane lane(context, context->properties.least_priority);
    detail::OpenClRecurrentQueue queue(*device, lane);
    launches.run_forward(queue);
    launches.arrays().keep_forward();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() = default;

  void launch(TaskId task, detail::OpenClLane& to) {
    if (memory) memory->enter(task, to.stream());
    const auto& bound = binding.task(task);
    detail::OpenClRecurrentQueue queue(*device, to);
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
      for (const auto& piece : pieces) device->fill(piece.data(), 0xFF, piece.bytes());
    }
    launches.arrays().reset();
  }

  [[nodiscard]] AllocatedMemory held() const {
    const detail::RecurrentArrays& arrays = launches.arrays();
    return {.tensors_peak = arrays.tensor_bytes() + (memory ? memory->held() : Bytes{0}),
            .workspace = arrays.workspace_bytes() + device->scratch_bytes(),
            .by_tensor = memory.has_value()};
  }

  std::shared_ptr<detail::OpenClRecurrentDevice> device;
  detail::RecurrentBinding binding;
  detail::RecurrentLaunches launches;
  std::optional<detail::StepTensorMap> map;  // none: all lie in the arrays
  std::optional<detail::LaunchedMemory> memory;
  std::vector<detail::NetworkArray<float>> pieces;
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
  implementation_->launch(task, to);
}

void OpenClRecurrentWork::reset() {
  implementation_->reset();
}

std::optional<AllocatedMemory> OpenClRecurrentWork::memory() const {
  return implementation_->held();
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
  const AllocatedMemory held = implementation_->held();
  return held.tensors_peak + held.workspace;
}

const RecurrentInputs<float>& OpenClRecurrentWork::inputs() const {
  return implementation_->launches.arrays().inputs;
}

RecurrentResults<float> OpenClRecurrentWork::results() const {
  return implementation_->launches.arrays().results();
}

}  // namespace schedlab
