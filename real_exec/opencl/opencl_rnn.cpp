// SPDX-License-Identifier: Apache-2.0
#include "real_exec/opencl/opencl_rnn.hpp"

#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_recurrent_device.hpp"
#include "real_exec/recurrent/recurrent_binding.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <chrono>

namespace schedlab::detail {
namespace {

RecurrentSpec as_libraries_cut(RecurrentSpec spec) {
  if (spec.type != DataType::fp32) {
    throw InfeasibleError("products by CLBlast: the data type must be fp32 here");
  }
  if (spec.pass == RecurrentPass::forward) {
    throw InfeasibleError("products by CLBlast: the pass must be training or backward here");
  }
  spec.transfers = false;
  spec.granularity = Granularity::kernel_and_weight;
  spec.input_steps = 1;
  spec.separate_gates = false;
  spec.recompute = Recompute::keep_backward;
  spec.tensors = false;
  return spec;
}

/// Part of the backward call; a library has no loss and no update.
bool is_gradient(SubTask task) {
  return task >= SubTask::candidate_cell && task <= SubTask::bias;
}

OpenClExecutorOptions on(const RnnDevice& device) {
  return {.device = device.number, .products = device.products};
}

class ClBlastRnn final : public LibraryRnn {
 public:
  ClBlastRnn(const RecurrentSpec& spec,
             const RecurrentInputs<float>& inputs,
             const RnnDevice& device)
      : executor_(on(device)),
        graph_(recurrent(spec)),
        binding_(spec, graph_),
        device_(std::make_shared<OpenClRecurrentDevice>(executor_.context())),
        launches_(device_, spec, inputs, ProductPrecision::fp32, false),
        lane_(executor_.context(), executor_.properties().least_priority),
        queue_(*device_, lane_) {}

  [[nodiscard]] bool has(RnnCall call) const override {
    return call == RnnCall::forward || call == RnnCall::backward;
  }

  Duration run(RnnCall call) override {
    SCHEDLAB_EXPECTS(has(call), "CLBlast's network has no call for a part of the gradients");
    if (call == RnnCall::backward) {
      // What gradients are added into is zero again, and what the forward pass has left stays.
      launches_.arrays().keep_forward();
      launches_.arrays().reset();
      launch([](SubTask task) { return task == SubTask::loss; });
    }
    const auto start = std::chrono::steady_clock::now();
    if (call == RnnCall::forward) {
      launches_.run_forward(queue_);
    } else {
      launch(&is_gradient);
    }
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
  }
  void poison() override { launches_.arrays().reset(); }
  [[nodiscard]] RecurrentResults<float> results() override { return launches_.arrays().results(); }

 private:
  /// Waits for its end.
  void launch(bool (*wanted)(SubTask)) {
    for (const TaskId task : graph_.tasks()) {  // in a topological order
      const auto& bound = binding_.task(task);
      for (const auto& kernel : binding_.kernels(task)) {
        if (!wanted(kernel.task)) continue;
        launches_.launch(
            kernel.task,
            {.id = task, .chain = bound.chain, .step = bound.step, .steps = kernel.steps},
            queue_);
      }
      lane_.flush();
    }
    queue_.finish();
  }

  OpenClExecutor executor_;
  TaskGraph graph_;
  RecurrentBinding binding_;
  std::shared_ptr<OpenClRecurrentDevice> device_;
  RecurrentLaunches launches_;
  OpenClLane lane_;
  OpenClRecurrentQueue queue_;
};

}  // namespace

std::string describe_clblast(const RnnDevice& device) {
  const OpenClExecutor executor(on(device));
  static_cast<void>(executor.context()->products());
  return fmt::format("CLBlast{} on {}, driver {}",
                     device.products.empty() ? "" : " with the machine's parameters",
                     executor.facts().name,
                     executor.facts().driver);
}

std::unique_ptr<LibraryRnn> make_clblast_rnn(const RecurrentSpec& spec,
                                             const RecurrentInputs<float>& inputs,
                                             const RnnDevice& device) {
  return std::make_unique<ClBlastRnn>(as_libraries_cut(spec), inputs, device);
}

}  // namespace schedlab::detail
