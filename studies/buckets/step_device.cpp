// SPDX-License-Identifier: Apache-2.0
#include "studies/buckets/step_device.hpp"

#include "real_exec/cpu/processor_name.hpp"
#include "real_exec/recurrent/recurrent_work.hpp"
#include "sim/base/error.hpp"
#include "studies/execution/cuda_execution.hpp"

#include <fmt/format.h>

namespace schedlab {
namespace {

/// What is the same on every executor.
template <class Executor>
class ExecutorDevice : public StepDevice {
 public:
  template <class... Arguments>
  explicit ExecutorDevice(Arguments&&... arguments)
      : executor_(std::forward<Arguments>(arguments)...) {}

  void train_on(std::uint64_t scenario, const PaddedBatch& batch) override {
    work(scenario).train_on(batch);
  }
  void continue_from(std::uint64_t scenario, std::uint64_t other) override {
    work(scenario).continue_from(work(other));
  }
  [[nodiscard]] float loss(std::uint64_t scenario) override { return work(scenario).loss(); }
  [[nodiscard]] RecurrentResults<float> results(std::uint64_t scenario) override {
    return work(scenario).results();
  }
  [[nodiscard]] Bytes kept_memory(std::uint64_t scenario) override {
    return work(scenario).kept_memory();
  }
  [[nodiscard]] std::optional<AllocatedMemory> allocated(std::uint64_t scenario) override {
    return executor_.allocated(scenario);
  }
  void forget() override { executor_.forget(); }

 protected:
  [[nodiscard]] auto& work(std::uint64_t scenario) {
    auto* const found = executor_.recurrent_work(scenario);
    SCHEDLAB_EXPECTS(found != nullptr, "an executed pass of a workload that is not computed");
    return *found;
  }
  Executor executor_;
  Execution run_;
};

class CpuSteps final : public ExecutorDevice<ScenarioExecutor> {
 public:
  CpuSteps(ScenarioSpace& space,
           const ExecutionSettings& settings,
           std::uint32_t levels,
           const StopFlag* stop)
      : ExecutorDevice(space, settings, levels, stop), host_(space.host_placement()) {}

  [[nodiscard]] std::string name() const override {
    const std::uint32_t workers = executor_.workers();
    return fmt::format("{}, {} worker{}, host {}",
                       processor_name(),
                       workers,
                       workers == 1 ? "" : "s",
                       to_string(host_));
  }
  [[nodiscard]] Duration execute(std::uint64_t scenario) override {
    executor_.execute(scenario, run_);
    return run_.trace.makespan();
  }

 private:
  HostPlacement host_;
};

class CudaSteps final : public ExecutorDevice<CudaScenarioExecutor> {
 public:
  CudaSteps(ScenarioSpace& space, const CudaSettings& settings, const StopFlag* stop)
      : ExecutorDevice(space, settings, stop) {}

  [[nodiscard]] std::string name() const override {
    return fmt::format("{}, {} multiprocessors", executor_.device().name, executor_.device().units);
  }
  [[nodiscard]] Duration execute(std::uint64_t scenario) override {
    executor_.execute(scenario, TaskTiming::none, run_);
    return run_.trace.makespan();
  }
};

ExecutionSettings cpu_settings(const PassExecution& request, const ScenarioSpace& space) {
  const auto host =
      request.host.empty() ? HostPlacement::preloaded : enum_from<HostPlacement>(request.host);
  return calibrated_settings({.workers = request.workers,
                              .pin = request.pin,
                              .proxy = {},
                              .allocation = request.allocation},
                             host,
                             space);
}

}  // namespace

std::unique_ptr<StepDevice> make_step_device(ScenarioSpace& space,
                                             const PassExecution& request,
                                             const StopFlag* stop) {
  if (const auto device = cuda_device_from(request.device)) {
    CudaSettings settings{.device = *device};
    settings.allocation = request.allocation;
    return std::make_unique<CudaSteps>(space, settings, stop);
  }
  const ExecutionSettings settings = cpu_settings(request, space);
  space.prepare_for_execution(settings.workers, settings.host);
  const std::uint32_t levels =
      space.components().machine(0).platform.devices[DeviceId{0}].priority_levels;
  return std::make_unique<CpuSteps>(space, settings, levels, stop);
}

}  // namespace schedlab
