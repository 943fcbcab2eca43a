// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent_work.hpp"

#include "real_exec/recurrent_binding.hpp"
#include "real_exec/recurrent_steps.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace schedlab {

class RecurrentWork::Implementation {
 public:
  Implementation(const RecurrentSpec& spec, const TaskGraph& graph, std::uint64_t seed)
      : steps(spec, seed), binding(spec, graph) {}

  void run(TaskId task, std::size_t kernel, std::uint32_t block) {
    const detail::RecurrentBinding::BoundTask& bound = binding.task(task);
    const detail::RecurrentBinding::BoundKernel& k = binding.kernels(task)[kernel];
    steps.run(k.task,
              {.chain = bound.chain,
               .step = bound.step,
               .steps = k.steps,
               .block = block,
               .blocks = k.blocks});
  }

  detail::RecurrentSteps steps;
  detail::RecurrentBinding binding;
};

namespace {

const RecurrentSpec& checked(const RecurrentSpec& spec) {
  if (spec.type != DataType::fp32) {
    throw InfeasibleError(
        fmt::format("the kernels for the CPU compute in fp32; the workload has {}\n"
                    "  set \"data_type\": \"fp32\"",
                    to_string(spec.type)),
        "data type",
        std::string(to_string(spec.type)),
        "fp32");
  }
  return spec;
}

}  // namespace

RecurrentWork::RecurrentWork(const RecurrentSpec& spec, const TaskGraph& graph, std::uint64_t seed)
    : implementation_(std::make_unique<Implementation>(checked(spec), graph, seed)) {
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
