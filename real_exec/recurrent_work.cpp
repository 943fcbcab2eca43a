// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent_work.hpp"

#include "real_exec/recurrent_steps.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace schedlab {

using detail::SubTask;

class RecurrentWork::Implementation {
 public:
  Implementation(const RecurrentSpec& spec, const TaskGraph& graph, std::uint64_t seed)
      : steps(spec, seed) {
    for (const Operation& operation : graph.operations()) {
      operations_.push_back(bind(operation, spec.cell));
    }
    tasks_.reserve(graph.task_count());
    for (const TaskId task : graph.tasks()) add_task(graph, task);
  }

  struct BoundKernel {
    SubTask task = SubTask::loss;
    std::uint32_t blocks = 1;
    std::int64_t steps = 1;
  };
  struct BoundTask {
    OperationId operation;
    std::uint32_t chain = 0;
    std::int64_t step = 0;
  };

  [[nodiscard]] const std::vector<BoundKernel>& kernels(TaskId task) const {
    return operations_[tasks_[task].operation];
  }
  void run(TaskId task, std::size_t kernel, std::uint32_t block) {
    const BoundTask& bound = tasks_[task];
    const BoundKernel& k = operations_[bound.operation][kernel];
    steps.run(k.task,
              {.chain = bound.chain,
               .step = bound.step,
               .steps = k.steps,
               .block = block,
               .blocks = k.blocks});
  }

  detail::RecurrentSteps steps;

 private:
  [[nodiscard]] std::vector<BoundKernel> bind(const Operation& operation, RecurrentCell cell) const;
  void add_task(const TaskGraph& graph, TaskId task);
  void check_task(const TaskGraph& graph, TaskId task, const BoundTask& bound) const;

  IdVector<OperationId, std::vector<BoundKernel>> operations_;
  IdVector<TaskId, BoundTask> tasks_;
};

std::vector<RecurrentWork::Implementation::BoundKernel> RecurrentWork::Implementation::bind(
    const Operation& operation, RecurrentCell cell) const {
  const std::vector<SubTask> tasks = detail::sub_tasks_of(operation.name, cell);
  SCHEDLAB_EXPECTS(!tasks.empty() && tasks.size() == operation.kernels.size(),
                   fmt::format("recurrent work: operation \"{}\" with {} kernels is none of "
                               "recurrent()'s, which has {} of this name",
                               operation.name,
                               operation.kernels.size(),
                               tasks.size()));
  std::vector<BoundKernel> kernels;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    kernels.push_back({.task = tasks[i],
                       .blocks = std::max(1U, operation.kernels[i].grid.blocks),
                       .steps = steps.steps_summed(tasks[i], operation.kernels[i])});
  }
  return kernels;
}

void RecurrentWork::Implementation::add_task(const TaskGraph& graph, TaskId task) {
  const Tags& tags = graph.tags(task);
  BoundTask bound{.operation = graph.operation_id(task)};
  const std::vector<BoundKernel>& kernels = operations_[bound.operation];
  const detail::RecurrentState& state = steps.state();
  SCHEDLAB_EXPECTS(
      tags.layer < static_cast<std::int64_t>(state.chains.size()) && tags.step < state.spec.steps,
      fmt::format("recurrent work: task {} is beyond {} chains of {} steps",
                  graph.name(task),
                  state.chains.size(),
                  state.spec.steps));
  if (tags.layer >= 0) bound.chain = static_cast<std::uint32_t>(tags.layer);
  const detail::ChainState& chain = state.chains[bound.chain];
  // Weight tasks over all steps have no tag: their last step in backward order.
  bound.step = tags.step >= 0 ? tags.step : state.first_step(chain);
  for (const BoundKernel& kernel : kernels) {
    const std::int64_t reach = kernel.steps - 1;
    const std::int64_t last = chain.direction == 1 ? bound.step - reach : bound.step + reach;
    SCHEDLAB_EXPECTS(kernel.steps >= 1 && last >= 0 && last < state.spec.steps,
                     fmt::format("recurrent work: task {} sums {} of {} steps",
                                 graph.name(task),
                                 kernel.steps,
                                 state.spec.steps));
  }
  check_task(graph, task, bound);
  tasks_.push_back(bound);
}

void RecurrentWork::Implementation::check_task(const TaskGraph& graph,
                                               TaskId task,
                                               const BoundTask& bound) const {
  const std::vector<Kernel>& kernels = graph.operation(task).kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const BoundKernel& k = operations_[bound.operation][i];
    const Kernel expected = steps.expected(k.task, bound.chain, k.steps);
    const Kernel& found = kernels[i];
    SCHEDLAB_EXPECTS(
        found.m == expected.m && found.n == expected.n && found.k == expected.k,
        fmt::format("recurrent work: task {}, kernel {}: {} x {} x {} in the graph, {} x {} x {} "
                    "by the spec",
                    graph.name(task),
                    i,
                    found.m,
                    found.n,
                    found.k,
                    expected.m,
                    expected.n,
                    expected.k));
  }
}

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
  return implementation_->kernels(task).size();
}

std::uint32_t RecurrentWork::blocks(TaskId task, std::size_t kernel) const {
  return implementation_->kernels(task)[kernel].blocks;
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
