// SPDX-License-Identifier: Apache-2.0
#include "hw_models/engine_class.hpp"

#include "hw_models/kernel_cost.hpp"

#include <algorithm>

namespace schedlab {
namespace {

EngineClass class_of_convolution(const Operation& operation) {
  if (operation.task_class == TaskClass::weight_gradient) return EngineClass::conv_weight_gradient;
  return operation.name == "conv_data_gradient" ? EngineClass::conv_data_gradient
                                                : EngineClass::conv_forward;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

double operand_bytes(const Kernel& kernel, bool transposed) {
  const auto m = static_cast<double>(kernel.m);
  const auto n = static_cast<double>(kernel.n);
  const auto k = static_cast<double>(kernel.k);
  const double inputs = m * k + k * n;
  return (m * n + inputs + (transposed ? 2 * inputs : 0.0)) *
         static_cast<double>(bytes_per_element(kernel.type)) *
         static_cast<double>(product_count(kernel));
}

}  // namespace

EngineClass engine_class(const Operation& operation) {
  if (operation.task_class == TaskClass::update) return EngineClass::update;
  if (operation.kind == TaskKind::convolution) return class_of_convolution(operation);
  if (operation.kind == TaskKind::gemm) return EngineClass::matmul;
  if (is_one_of(operation.name, {"relu", "relu_gradient"})) return EngineClass::activation;
  if (is_one_of(operation.name,
                {"max_pool", "max_pool_gradient", "average_pool", "average_pool_gradient"})) {
    return EngineClass::pooling;
  }
  return EngineClass::data_split;
}

EngineWork engine_work(const Operation& operation) {
  EngineWork work{.operators = 1, .moved_bytes = 0, .flops = operation.flops().count()};
  const bool transposed = engine_class(operation) == EngineClass::matmul;
  for (const Kernel& kernel : operation.kernels) {
    const bool product = runs_on_matrix_units(kernel.kind) && kernel.m > 0;
    work.moved_bytes +=
        product ? operand_bytes(kernel, transposed) : static_cast<double>(traffic(kernel).count());
  }
  return work;
}

bool suits_array(const Operation& operation, std::int64_t array_from_bytes) {
  if (has_only_a_duration(operation)) return false;
  return operation.bytes_written().count() >= array_from_bytes &&
         std::none_of(operation.kernels.begin(), operation.kernels.end(), [](const Kernel& kernel) {
           return kernel.type == DataType::int8;
         });
}

}  // namespace schedlab
