// SPDX-License-Identifier: Apache-2.0
// What a recurrent network launches, as calls of an emitted program.
#include "sim/base/error.hpp"
#include "studies/emit/emitting_device.hpp"

#include <string_view>
#include <utility>

namespace schedlab {
namespace {

using detail::Bf16;
using detail::BlasMatrix;
using detail::BlasProduct;

/// The members of a kernel's arguments that are not at their defaults.
class ArgumentList {
 public:
  explicit ArgumentList(EmittedMemory& memory) : memory_(memory) {}

  ArgumentList& pointer(std::string_view name, const void* value, std::string_view type = "float") {
    if (value != nullptr) add(name, memory_.text(value, type));
    return *this;
  }
  /// Of an array in fp32, or in bf16.
  ArgumentList& stored(const std::string& name, const float* full, const Bf16* low) {
    return low == nullptr ? pointer(name, full) : pointer(name + "_low", low, "kernels::Bf16");
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
          .stored("d", args.d, args.d_low)
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
          .stored("from", args.from, args.from_low)
          .stored("to", args.to, args.to_low)
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
          .stored("y", args.y, args.y_low)
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
    const char* const element = p.low_result ? "kernels::Bf16" : "float";
    std::string result = fmt::format("{{{}, {}", memory.text(p.c, element), p.c_stride);
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
                       p.low_result ? "bf16_stored" : to_string(p.type),
                       shares);
  }
  void forward(const char* kernel, const detail::DeviceCellForward& args) {
    write([=](EmittedMemory& memory) {
      return ArgumentList(memory)
          .stored("products", args.products, args.products_low)
          .stored("gates", args.gates, args.gates_low)
          .pointer("recurrent", args.recurrent)
          .pointer("bias", args.bias)
          .stored("before", args.before, args.before_low)
          .pointer("c", args.c)
          .stored("h", args.h, args.h_low)
          .stored("reset", args.reset, args.reset_low)
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
      list.stored("gates", args.gates, args.gates_low)
          .pointer("c", args.c)
          .stored("before", args.before, args.before_low);
      const auto above = [&](std::string_view name, const auto& from, std::string_view type) {
        if (from[0] == nullptr) return;
        list.add(name,
                 fmt::format("{{{}, {}}}", memory.text(from[0], type), memory.text(from[1], type)));
      };
      above("upstream", args.upstream, "float");
      above("upstream_low", args.upstream_low, "kernels::Bf16");
      return list.pointer("dh", args.dh)
          .pointer("carry", args.carry)
          .pointer("reset_gradient", args.reset_gradient)
          .stored("gate_gradients", args.gate_gradients, args.gate_gradients_low)
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

}  // namespace

std::unique_ptr<detail::RecurrentQueue> emitting_queue(EmittingDevice& device,
                                                       std::vector<EmittedLine>& lines,
                                                       bool captures) {
  return std::make_unique<EmittingQueue>(device, lines, captures);
}

}  // namespace schedlab
