// SPDX-License-Identifier: Apache-2.0
// A device that writes down what a recurrent network asks of it.
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "real_exec/recurrent_device/recurrent_launches.hpp"
#include "sim/base/error.hpp"
#include "studies/emit/emitted_memory.hpp"
#include "studies/emit/task_code.hpp"
#include "studies/execution/execution_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace schedlab {
namespace {

using detail::Bf16;
using detail::BlasMatrix;
using detail::BlasProduct;
using detail::DeviceChain;

/// A line that is written once the arrays have names.
using EmittedLine = std::function<std::string()>;

class EmittingDevice final : public detail::RecurrentDevice {
 public:
  [[nodiscard]] std::shared_ptr<void> allocate(std::size_t bytes) override {
    return {memory.add(bytes), [](void*) {}};
  }
  [[nodiscard]] std::shared_ptr<void> allocate_host(std::size_t bytes) override {
    return memory.add_host(bytes);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    numbers(to, bytes, from, bytes, 1);
  }
  void upload_rows(void* to,
                   std::size_t stride,
                   const void* from,
                   std::size_t row_bytes,
                   std::size_t rows) override {
    numbers(to, stride, from, row_bytes, rows);
  }
  void download(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) override {}
  void copy(void* to, const void* from, std::size_t bytes) override {
    lines->push_back([=, this] {
      return fmt::format("copy({}, {}, {});", memory.text(to), memory.text(from), bytes);
    });
  }
  void fill(void* to, unsigned char byte, std::size_t bytes) override {
    lines->push_back(
        [=, this] { return fmt::format("fill({}, 0x{:02X}, {});", memory.text(to), byte, bytes); });
  }
  void round_to_bf16(const float* from, Bf16* to, long long elements) override {
    lines->push_back([=, this] {
      return fmt::format("kernels::array::round_to_bf16({}, {}, {}, nullptr);",
                         memory.text(from),
                         memory.text(to, "kernels::Bf16"),
                         elements);
    });
  }

  EmittedMemory memory;
  std::vector<EmittedLine>* lines = nullptr;  ///< where to write down

 private:
  /// Numbers of the same range stand for those that would be uploaded: the program makes its own.
  void numbers(
      void* to, std::size_t stride, const void* from, std::size_t row_bytes, std::size_t rows) {
    const auto* const values = static_cast<const float*>(from);
    const std::size_t count = row_bytes / sizeof(float);
    float scale = 0;
    for (std::size_t i = 0; i < rows * count; ++i) scale = std::max(scale, std::abs(values[i]));
    const auto seed =
        seeds_.try_emplace(EmittedMemory::address(to), seeds_.size() + 1).first->second;
    lines->push_back([=, this] {
      return fmt::format("uniform({}, {}, {}, {}, {:#.6g}F, {});",
                         memory.text(to),
                         rows,
                         count,
                         stride / sizeof(float),
                         scale,
                         seed);
    });
  }

  std::map<std::uintptr_t, std::size_t> seeds_;
};

/// The members of a kernel's arguments that are not at their defaults.
class ArgumentList {
 public:
  explicit ArgumentList(EmittedMemory& memory) : memory_(memory) {}

  ArgumentList& pointer(std::string_view name, const void* value, std::string_view type = "float") {
    if (value != nullptr) add(name, memory_.text(value, type));
    return *this;
  }
  template <class Number>
  ArgumentList& number(std::string_view name, Number value) {
    if (value != 0) add(name, fmt::format("{}", value));
    return *this;
  }
  ArgumentList& real(std::string_view name, double value, std::string_view suffix) {
    add(name, fmt::format("{:#.9g}{}", value, suffix));
    return *this;
  }
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}.{} = {}", text_.empty() ? "" : ", ", name, value);
  }
  [[nodiscard]] std::string call(std::string_view kernel) const {
    return fmt::format("kernels::{}({{{}}}, to.kernels());", kernel, text_);
  }

 private:
  EmittedMemory& memory_;
  std::string text_;
};

class EmittingQueue final : public detail::RecurrentQueue {
 public:
  EmittingQueue(EmittingDevice& device, std::vector<EmittedLine>& lines, bool captures)
      : device_(device), lines_(lines), captures_(captures) {}

  void multiply(const BlasProduct& product) override {
    write([product](EmittedMemory& memory) { return product_text(product, memory); });
  }
  void lstm_forward(const detail::DeviceCellForward& args) override {
    forward("recurrent::lstm_forward", args);
  }
  void gru_forward(const detail::DeviceCellForward& args) override {
    forward("recurrent::gru_forward", args);
  }
  void reset_gates_forward(const detail::DeviceCellForward& args) override {
    forward("recurrent::reset_gates_forward", args);
  }
  void reset_cell_forward(const detail::DeviceCellForward& args) override {
    forward("recurrent::reset_cell_forward", args);
  }
  void lstm_backward(const detail::DeviceCellBackward& args) override {
    backward("recurrent::lstm_backward", args);
  }
  void gru_backward(const detail::DeviceCellBackward& args) override {
    backward("recurrent::gru_backward", args);
  }
  void reset_candidate_backward(const detail::DeviceCellBackward& args) override {
    backward("recurrent::reset_candidate_backward", args);
  }
  void reset_cell_backward(const detail::DeviceCellBackward& args) override {
    backward("recurrent::reset_cell_backward", args);
  }
  void sum_gradients(const detail::DeviceGradientSum& /*args*/) override {
    throw ContractViolation("an emitted projection");  // refused by why_not_recurrent()
  }
  void add_column_sums(const detail::DeviceColumnSums& args) override {
    write([args](EmittedMemory& memory) {
      return ArgumentList(memory)
          .pointer("d", args.d)
          .pointer("sums", args.sums)
          .number("rows", args.rows)
          .number("columns", args.columns)
          .number("stride", args.stride)
          .call("array::add_column_sums");
    });
  }
  void transpose(const detail::DeviceTranspose& args) override {
    write([args](EmittedMemory& memory) {
      return ArgumentList(memory)
          .pointer("from", args.from)
          .pointer("to", args.to)
          .pointer("to_low", args.to_low, "kernels::Bf16")
          .number("rows", args.rows)
          .number("columns", args.columns)
          .number("from_stride", args.from_stride)
          .number("to_stride", args.to_stride)
          .call("array::transpose");
    });
  }
  void add(const detail::DeviceAddition& args) override {
    write([args](EmittedMemory& memory) {
      return ArgumentList(memory)
          .pointer("to", args.to)
          .pointer("from", args.from)
          .number("rows", args.rows)
          .number("columns", args.columns)
          .number("stride", args.stride)
          .call("array::add");
    });
  }
  void squared_error(const detail::DeviceLoss& args) override {
    write([args](EmittedMemory& memory) {
      return ArgumentList(memory)
          .pointer("y", args.y)
          .pointer("target", args.target)
          .pointer("dy", args.dy)
          .pointer("parts", args.parts, "double")
          .pointer("loss", args.loss)
          .number("elements", args.elements)
          .number("batch", args.batch)
          .number("columns", args.columns)
          .real("scale", args.scale, "F")
          .real("divisor", args.divisor, "")
          .call("array::squared_error");
    });
  }
  void update_weights(const detail::DeviceUpdate& args) override {
    write([args](EmittedMemory& memory) {
      return ArgumentList(memory)
          .pointer("w", args.w)
          .pointer("w_low", args.w_low, "kernels::Bf16")
          .pointer("gradient", args.gradient)
          .pointer("mean", args.mean)
          .pointer("variance", args.variance)
          .real("rate", args.rate, "F")
          .number("elements", args.elements)
          .call("array::update_weights");
    });
  }
  void round_to_bf16(const float* from, Bf16* to, long long elements) override {
    write([=](EmittedMemory& memory) {
      return fmt::format("kernels::array::round_to_bf16({}, {}, {}, to.kernels());",
                         memory.text(from),
                         memory.text(to, "kernels::Bf16"),
                         elements);
    });
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    device_.memory.add_pageable(from, bytes);
    transfer(to, from, bytes, "cudaMemcpyHostToDevice");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    transfer(to, from, bytes, "cudaMemcpyDeviceToHost");
  }
  [[nodiscard]] bool capturing() const override { return captures_; }
  void finish() override {
    lines_.emplace_back([] { return std::string{"CHECK(cudaStreamSynchronize(to.stream));"}; });
  }

 private:
  static std::string factor_text(const BlasMatrix& factor, DataType type, EmittedMemory& memory) {
    const char* const element = type == DataType::bf16 ? "kernels::Bf16" : "float";
    std::string text = fmt::format("{{{}, {}", memory.text(factor.data, element), factor.stride);
    if (factor.transposed || factor.product != 0) {
      text += fmt::format(", {}", factor.transposed);
    }
    if (factor.product != 0) text += fmt::format(", {}", factor.product);
    return text + "}";
  }
  static std::string product_text(const BlasProduct& p, EmittedMemory& memory) {
    std::string result = fmt::format("{{{}, {}", memory.text(p.c), p.c_stride);
    if (p.add || p.c_product != 0) result += fmt::format(", {}", p.add);
    if (p.c_product != 0) result += fmt::format(", {}", p.c_product);
    std::string shares;
    if (p.count != 1 || p.units != 0) shares = fmt::format(", {}", p.count);
    if (p.units != 0) shares += fmt::format(", {}", p.units);
    return fmt::format("multiply(to, {{{}, {}, {}}}, {}, {}, {}}}, {}{});",
                       p.m,
                       p.n,
                       p.k,
                       factor_text(p.a, p.type, memory),
                       factor_text(p.b, p.type, memory),
                       result,
                       to_string(p.type),
                       shares);
  }
  void forward(const char* kernel, const detail::DeviceCellForward& args) {
    write([=](EmittedMemory& memory) {
      return ArgumentList(memory)
          .pointer("products", args.products)
          .pointer("gates", args.gates)
          .pointer("recurrent", args.recurrent)
          .pointer("bias", args.bias)
          .pointer("before", args.before)
          .pointer("c", args.c)
          .pointer("h", args.h)
          .pointer("h_low", args.h_low, "kernels::Bf16")
          .pointer("reset", args.reset)
          .pointer("reset_low", args.reset_low, "kernels::Bf16")
          .number("rows", args.rows)
          .number("hidden", args.hidden)
          .number("products_stride", args.products_stride)
          .number("gates_stride", args.gates_stride)
          .number("recurrent_stride", args.recurrent_stride)
          .number("before_stride", args.before_stride)
          .number("h_stride", args.h_stride)
          .call(kernel);
    });
  }
  void backward(const char* kernel, const detail::DeviceCellBackward& args) {
    write([=](EmittedMemory& memory) {
      ArgumentList list(memory);
      list.pointer("gates", args.gates).pointer("c", args.c).pointer("before", args.before);
      if (args.upstream[0] != nullptr) {
        list.add("upstream",
                 fmt::format(
                     "{{{}, {}}}", memory.text(args.upstream[0]), memory.text(args.upstream[1])));
      }
      return list.pointer("dh", args.dh)
          .pointer("carry", args.carry)
          .pointer("reset_gradient", args.reset_gradient)
          .pointer("gate_gradients", args.gate_gradients)
          .pointer("gate_gradients_low", args.gate_gradients_low, "kernels::Bf16")
          .number("rows", args.rows)
          .number("hidden", args.hidden)
          .number("slices", args.slices == 1 ? 0 : args.slices)
          .number("gates_stride", args.gates_stride)
          .number("before_stride", args.before_stride)
          .number("upstream_stride", args.upstream_stride)
          .number("gate_gradients_stride", args.gate_gradients_stride)
          .call(kernel);
    });
  }
  void transfer(void* to, const void* from, std::size_t bytes, const char* direction) {
    write([=](EmittedMemory& memory) {
      return fmt::format("CHECK(cudaMemcpyAsync({}, {}, {}, {}, to.stream));",
                         memory.text(to),
                         memory.text(from),
                         bytes,
                         direction);
    });
  }
  void write(std::function<std::string(EmittedMemory&)> line) {
    lines_.emplace_back(
        [line = std::move(line), &memory = device_.memory] { return line(memory); });
  }

  EmittingDevice& device_;
  std::vector<EmittedLine>& lines_;
  bool captures_;
};

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
    full(chain.wx, "wx"), full(chain.wh, "wh"), full(chain.bias, "bias");
    full(chain.wx_first, "wx_first"), full(chain.wh_first, "wh_first");
    full(chain.bias_first, "bias_first"), full(chain.wx_moments, "wx_moments");
    full(chain.wh_moments, "wh_moments"), full(chain.bias_moments, "bias_moments");
    full(chain.gates, "gates"), full(chain.zh, "zh"), full(chain.c, "c");
    full(chain.reset, "reset"), full(chain.gate_gradients, "dgates"), full(chain.dh, "dh");
    full(chain.carry, "carry"), full(chain.reset_gradient, "dreset");
    full(chain.dh_last, "dh_last"), full(chain.carry_last, "carry_last"), full(chain.dx, "dx");
    full(chain.dwx, "dwx"), full(chain.dwh, "dwh"), full(chain.dbias, "dbias");
    low(chain.wx_low, "wx_low"), low(chain.wh_low, "wh_low"), low(chain.reset_low, "reset_low");
    low(chain.gate_gradients_low, "dgates_low");
    const auto copy = [&](const DeviceChain::KMajor& of, const std::string& name) {
      full(of.full, name.c_str());
      low(of.low, name.c_str());
    };
    copy(chain.input_copy, "x_k_major"), copy(chain.state_copy, "h_k_major");
    copy(chain.gate_gradient_copy, "dgates_k_major");
  }
  for (std::size_t layer = 0; layer < arrays.y.size(); ++layer) {
    memory.name(arrays.y[layer].data(), "float", fmt::format("y_{}", layer));
    memory.name(arrays.y_low[layer].data(), "kernels::Bf16", fmt::format("y_low_{}", layer));
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
  const RecurrentSpec& spec = arrays.spec;
  add(arrays.y.back(), arrays.y.back().size());
  add(arrays.loss, 1);
  for (const DeviceChain& chain : arrays.chains) {
    if (chain.place.layer == 0) add(chain.dx, chain.dx.size());
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
    EmittingQueue queue(*device, setup, false);
    launches.run_forward(queue);
    launches.arrays().keep_forward();
  }
  device->lines = &reset;
  launches.arrays().reset();

  const detail::RecurrentBinding binding(spec, graph);
  IdVector<TaskId, std::vector<EmittedLine>> tasks(graph.task_count());
  for (const TaskId task : graph.tasks()) {
    EmittingQueue queue(*device, tasks[task], capturing);
    const auto& bound = binding.task(task);
    for (const auto& kernel : binding.kernels(task)) {
      launches.launch(kernel.task,
                      {.id = task, .chain = bound.chain, .step = bound.step, .steps = kernel.steps},
                      queue);
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
