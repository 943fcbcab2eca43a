// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/operator_kernels.hpp"

#include "workloads/formats/graph_totals.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace schedlab::detail {
namespace {

constexpr double most = static_cast<double>(GraphTotals::largest_size);
constexpr double max_flops = 1e30;  // of a kernel in a graph file

/// Which two inputs an operator multiplies.
struct Product {
  std::string_view name;
  std::size_t a;
  std::size_t b;
  bool accumulates;
};
// Signatures of ATen (native_functions.yaml of PyTorch): addmm(self, mat1, mat2), ...
constexpr std::array products = {
    Product{"aten::mm", 0, 1, false},
    Product{"aten::addmm", 1, 2, true},
    Product{"aten::_addmm_activation", 1, 2, true},
    Product{"aten::bmm", 0, 1, false},
    Product{"aten::baddbmm", 1, 2, true},
    Product{"aten::_scaled_mm", 0, 1, false},
};
constexpr std::array forward_convolutions = {std::string_view{"aten::cudnn_convolution"},
                                             std::string_view{"aten::miopen_convolution"},
                                             std::string_view{"aten::mkldnn_convolution"},
                                             std::string_view{"aten::convolution_overrideable"},
                                             std::string_view{"aten::_slow_conv2d_forward"},
                                             std::string_view{"aten::_conv_depthwise2d"}};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Bytes bytes_of(const std::vector<OperatorTensor>& tensors) {
  double sum = 0;
  for (const OperatorTensor& tensor : tensors) {
    sum += static_cast<double>(tensor.elements) * static_cast<double>(tensor.element_bytes);
  }
  return Bytes{static_cast<std::int64_t>(std::min(sum, most))};
}

double product_of(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double product, std::int64_t size) {
    return product * static_cast<double>(size);
  });
}

/// A product of matrices, or of `count` pairs of them.
std::vector<Kernel> products_of(const OperatorTensor& a,
                                const OperatorTensor& b,
                                bool accumulates) {
  const std::size_t rank = a.shape.size();
  if ((rank != 2 && rank != 3) || b.shape.size() != rank || !(a.elements > 0 && b.elements > 0)) {
    return {};
  }
  Kernel kernel =
      gemm_kernel(a.shape[rank - 2], b.shape[rank - 1], a.shape[rank - 1], a.type, accumulates);
  if (rank == 3) {
    const auto count = static_cast<double>(a.shape[0]);
    const auto times = [count](Bytes bytes) {
      return Bytes{
          static_cast<std::int64_t>(std::min(static_cast<double>(bytes.count()) * count, most))};
    };
    kernel.flops = Flops{kernel.flops.count() * count};
    kernel.bytes_read = times(kernel.bytes_read);
    kernel.bytes_written = times(kernel.bytes_written);
  }
  if (kernel.flops.count() > max_flops) return {};
  return {kernel};
}

/// Input [N, C, ...], weight [K, C / groups, ...], output [N, K, ...]: the product of N times the
/// output's places, K and the weights of one of the K. `count`: 1 forward; backward there are
/// two, for the gradients of input and weight.
std::vector<Kernel> convolution_of(const OperatorCall& call,
                                   const OperatorTensor& weight,
                                   const OperatorTensor& output,
                                   double count) {
  if (weight.shape.size() < 3 || output.shape.size() != weight.shape.size()) return {};
  const auto channels = static_cast<double>(weight.shape[0]);
  const double places = channels > 0 ? product_of(output.shape) / channels : 0;
  const double depth = channels > 0 ? product_of(weight.shape) / channels : 0;
  if (!(places >= 1 && places <= most && depth >= 1 && depth <= most)) return {};
  Kernel kernel;
  kernel.kind = TaskKind::convolution;
  kernel.type = weight.type;
  kernel.m = static_cast<std::int64_t>(places);
  kernel.n = weight.shape[0];
  kernel.k = static_cast<std::int64_t>(depth);
  kernel.flops = Flops{2.0 * places * channels * depth * count};
  kernel.bytes_read = bytes_of(call.inputs);
  kernel.bytes_written = bytes_of(call.outputs);
  if (kernel.flops.count() > max_flops) return {};
  return {kernel};
}

std::vector<Kernel> shaped_kernels(const OperatorCall& call) {
  for (const Product& product : products) {
    if (call.name == product.name && call.inputs.size() > product.b) {
      return products_of(call.inputs[product.a], call.inputs[product.b], product.accumulates);
    }
  }
  if (is_one_of(forward_convolutions, call.name) && call.inputs.size() >= 2 &&
      !call.outputs.empty()) {
    return convolution_of(call, call.inputs[1], call.outputs[0], 1);
  }
  // convolution_backward(grad_output, input, weight, ...)
  if (call.name == "aten::convolution_backward" && call.inputs.size() >= 3) {
    return convolution_of(call, call.inputs[2], call.inputs[0], 2);
  }
  return {};
}

bool on_device(const std::vector<OperatorTensor>& tensors) {
  return std::any_of(
      tensors.begin(), tensors.end(), [](const OperatorTensor& t) { return t.on_device; });
}

/// Between host and device, or between places of a device.
Kernel memory_kernel(const OperatorCall& call) {
  Kernel kernel;
  kernel.kind = TaskKind::pointwise;
  kernel.bytes_read = bytes_of(call.inputs);
  kernel.bytes_written = bytes_of(call.outputs);
  kernel.type = call.outputs.empty() ? DataType::fp32 : call.outputs[0].type;
  double elements = 0;
  for (const OperatorTensor& tensor : call.outputs) {
    elements = std::max(elements, static_cast<double>(tensor.elements));
  }
  kernel.flops = Flops{elements};
  // copy_(self, src)
  if (call.name == "aten::copy_" && call.inputs.size() >= 2) {
    const OperatorTensor& to = call.inputs[0];
    const OperatorTensor& from = call.inputs[1];
    if (to.on_device != from.on_device) {
      kernel.kind = to.on_device ? TaskKind::copy_host_to_device : TaskKind::copy_device_to_host;
    }
    kernel.bytes_read = bytes_of({from});
    kernel.bytes_written = bytes_of({to});
    kernel.flops = Flops{0};
  } else if (call.name == "aten::_local_scalar_dense") {
    kernel.kind = TaskKind::copy_device_to_host;
  }
  return kernel;
}

}  // namespace

OperatorEstimate estimate_operator(const OperatorCall& call, bool writes) {
  if (call.name == "record_param_comms" || call.name.starts_with("nccl:") ||
      call.name.starts_with("c10d::")) {
    return {.work = OperatorWork::collective, .kind = TaskKind::fixed, .kernels = {}};
  }
  const bool touches_device = on_device(call.inputs) || on_device(call.outputs);
  const bool reads_back = call.name == "aten::_local_scalar_dense";
  const bool allocates = call.name.starts_with("aten::empty") ||
                         call.name.starts_with("aten::resize_") || call.name == "aten::set_";
  if (!touches_device || allocates || !(writes || reads_back)) return {};
  std::vector<Kernel> kernels = shaped_kernels(call);
  if (kernels.empty()) kernels.push_back(memory_kernel(call));
  const TaskKind kind = kernels.front().kind;
  return {.work = OperatorWork::device, .kind = kind, .kernels = std::move(kernels)};
}

}  // namespace schedlab::detail
