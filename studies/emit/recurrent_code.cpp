// SPDX-License-Identifier: Apache-2.0
// A recurrent network's tasks and memory as code.
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "studies/emit/emitted_memory.hpp"
#include "studies/emit/emitting_device.hpp"
#include "studies/emit/task_code.hpp"
#include "studies/execution/execution_device.hpp"

#include <fmt/format.h>

#include <utility>

namespace schedlab {
namespace {

using detail::DeviceChain;

std::string body_of(const std::vector<EmittedLine>& lines) {
  std::string text;
  for (const EmittedLine& line : lines) text += fmt::format("  {}\n", line());
  return text;
}

/// The arrays of a network by what they are; others get numbers.
void name_arrays(const detail::RecurrentArrays& arrays, EmittedMemory& memory) {
  for (const DeviceChain& chain : arrays.chains) {
    const std::string prefix =
        fmt::format("l{}{}_", chain.place.layer, chain.place.direction == 1 ? "r" : "");
    const auto full = [&](const detail::NetworkArray<float>& array, const char* name) {
      memory.name(array.data(), "float", prefix + name);
    };
    const auto low = [&](const detail::LowArray& array, const char* name) {
      memory.name(array.data(), "kernels::Bf16", prefix + name);
    };
    const auto stored = [&](const detail::StoredArray& array, const char* name) {
      full(array.full, name), low(array.low, name);
    };
    full(chain.wx, "wx"), full(chain.wh, "wh"), full(chain.bias, "bias");
    full(chain.wx_first, "wx_first"), full(chain.wh_first, "wh_first");
    full(chain.bias_first, "bias_first"), full(chain.wx_moments, "wx_moments");
    full(chain.wh_moments, "wh_moments"), full(chain.bias_moments, "bias_moments");
    stored(chain.gates, "gates"), full(chain.zh, "zh"), full(chain.c, "c");
    stored(chain.reset, "reset"), stored(chain.gate_gradients, "dgates"), full(chain.dh, "dh");
    full(chain.carry, "carry"), full(chain.reset_gradient, "dreset");
    full(chain.dh_last, "dh_last"), full(chain.carry_last, "carry_last"), stored(chain.dx, "dx");
    full(chain.h_first, "h_first");
    full(chain.dwx, "dwx"), full(chain.dwh, "dwh"), full(chain.dbias, "dbias");
    low(chain.wx_low, "wx_low"), low(chain.wh_low, "wh_low");
    stored(chain.input_copy, "x_k_major"), stored(chain.state_copy, "h_k_major");
    stored(chain.gate_gradient_copy, "dgates_k_major");
  }
  for (std::size_t layer = 0; layer < arrays.y.size(); ++layer) {
    const std::string name = fmt::format("y_{}", layer);
    memory.name(arrays.y[layer].full.data(), "float", name);
    memory.name(arrays.y[layer].low.data(), "kernels::Bf16", name);
  }
  memory.name(arrays.x.data(), "float", "x");
  memory.name(arrays.x_low.data(), "kernels::Bf16", "x_low");
  memory.name(arrays.dy.data(), "float", "dy");
  memory.name(arrays.target.data(), "float", "target");
  memory.name(arrays.loss_scratch.data(), "double", "loss_parts");
  memory.name(arrays.loss.data(), "float", "loss");
  memory.name(arrays.x_host.data(), "float", "x_host");
  memory.name(arrays.loss_host.data(), "float", "loss_host");
  memory.name_the_rest();
}

void declare_arrays(const EmittedMemory& memory, TaskCode& code) {
  for (const EmittedArray* const each : memory.arrays()) {
    const EmittedArray& array = *each;
    const bool pageable = array.name == "x_pageable";
    code.memory += fmt::format("{}* {} = nullptr;\n", array.type, array.name);
    code.allocate += fmt::format("  {0} = static_cast<{1}*>({2}({3}));\n",
                                 array.name,
                                 array.type,
                                 pageable                ? "std::malloc"
                                 : array.host != nullptr ? "host_memory"
                                                         : "device_memory",
                                 array.bytes);
  }
}

std::string outputs_of(const detail::RecurrentArrays& arrays, EmittedMemory& memory) {
  std::string text;
  const auto add = [&](const detail::NetworkArray<float>& array, std::size_t count) {
    if (array.empty()) return;
    const std::string name = memory.text(array.data());
    text += fmt::format("      {{\"{0}\", {0}, {1}}},\n", name, count);
  };
  const auto add_stored = [&](const detail::StoredArray& array) {
    if (array.low.empty()) return add(array.full, array.full.size());
    const std::string name = memory.text(array.low.data(), "kernels::Bf16");
    text += fmt::format("      {{\"{0}\", {0}, {1}, true}},\n", name, array.low.size());
  };
  const RecurrentSpec& spec = arrays.spec;
  add_stored(arrays.y.back());
  add(arrays.loss, 1);
  for (const DeviceChain& chain : arrays.chains) {
    if (chain.place.layer == 0) add_stored(chain.dx);
    add(chain.dwx, chain.dwx.size());
    add(chain.dwh, chain.dwh.size());
    add(chain.dbias, chain.dbias.size());
    if (spec.pass != RecurrentPass::training) continue;
    add(chain.wx, chain.wx.size());
    add(chain.wh, chain.wh.size());
    add(chain.bias, chain.bias.size());
  }
  return text;
}

}  // namespace

std::string why_not_recurrent(const RecurrentSpec& spec,
                              std::optional<ProductPrecision> precision) {
  if (!precision) {
    return fmt::format("recurrent kernels are of fp32, tf32 and bf16, not of {}",
                       to_string(spec.type));
  }
  if (spec.input_steps != 1) return "recurrent kernels multiply the inputs of single steps";
  if (spec.projection > 0) return "emitted recurrent kernels have no projection";
  if (spec.separate_gates) return "recurrent kernels compute a cell's gates in one task";
  if (truncated(spec)) return "emitted recurrent kernels train all steps at once";
  if (spec.recompute != Recompute::keep_backward) {
    return "recomputation, which takes memory as it runs, is not emitted";
  }
  return {};
}

TaskCode recurrent_code(const RecurrentSpec& spec,
                        const TaskGraph& graph,
                        ProductPrecision precision,
                        bool capturing) {
  const auto device = std::make_shared<EmittingDevice>();
  std::vector<EmittedLine> setup;
  std::vector<EmittedLine> reset;
  device->lines = &setup;
  detail::RecurrentLaunches launches(
      device, spec, draw_recurrent_inputs(spec, execution_data_seed), precision, false);
  if (spec.pass == RecurrentPass::backward) {
    launches.run_forward(*emitting_queue(*device, setup, false));
    launches.arrays().keep_forward();
  }
  device->lines = &reset;
  launches.arrays().reset();

  const detail::RecurrentBinding binding(spec, graph);
  IdVector<TaskId, std::vector<EmittedLine>> tasks(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    const auto queue = emitting_queue(*device, tasks[task], capturing);
    const auto& bound = binding.task(task);
    for (const auto& kernel : binding.kernels(task)) {
      launches.launch(kernel.task,
                      {.id = task, .chain = bound.chain, .step = bound.step, .steps = kernel.steps},
                      *queue);
    }
  }
  const detail::RecurrentArrays& arrays = launches.arrays();
  EmittedMemory& memory = device->memory;
  name_arrays(arrays, memory);

  TaskCode code;
  code.texts = {"kernel_arguments", "recurrent_kernels", "array_kernels"};
  declare_arrays(memory, code);
  code.prepare = body_of(setup);
  if (spec.pass == RecurrentPass::training && spec.transfers) {
    // Copied from where a first batch was put.
    const std::string host = spec.pageable ? "x_pageable" : memory.text(arrays.x_host.data());
    const std::size_t count = arrays.x.size();
    code.prepare +=
        fmt::format("  uniform({0}, 1, {1}, {1}, 1.00000F, 0);\n  copy({2}, {0}, {3});\n",
                    memory.text(arrays.x.data()),
                    count,
                    host,
                    count * sizeof(float));
  }
  code.reset = body_of(reset);
  for (const TaskId task : graph.tasks()) code.tasks.push_back(body_of(tasks[task]));
  code.outputs = outputs_of(arrays, memory);
  // Sums are taken in another order, but of rounding alone (docs/gpu_execution.md, How exact).
  code.allowed_difference = precision == ProductPrecision::fp32   ? 1e-4
                            : precision == ProductPrecision::tf32 ? 1e-2
                                                                  : 5e-2;
  code.what = fmt::format("real recurrent kernels, products in {}", to_string(precision));
  return code;
}

}  // namespace schedlab
