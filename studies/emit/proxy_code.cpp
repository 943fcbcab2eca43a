// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/proxy_shapes.hpp"
#include "sim/base/error.hpp"
#include "studies/emit/code_names.hpp"
#include "studies/emit/task_code.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace schedlab {
namespace {

constexpr std::size_t pack_elements = 4;  // a load or store of 16 bytes

std::size_t bytes_of(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count());
}

/// What a copy moves; of a kernel that only reads or only writes, that.
std::size_t copied_bytes(const Kernel& kernel) {
  return std::max(bytes_of(kernel.bytes_read), bytes_of(kernel.bytes_written));
}

bool copies_with_host(const Kernel& kernel) {
  return kernel.kind == TaskKind::copy_host_to_device ||
         kernel.kind == TaskKind::copy_device_to_host;
}

/// Elements of fp32 that the results of a kernel take.
std::size_t result_elements(const Kernel& kernel) {
  if (!detail::is_product(kernel)) return copied_bytes(kernel) / sizeof(float) + pack_elements;
  const auto products = static_cast<std::size_t>(detail::product_count(kernel));
  return static_cast<std::size_t>(kernel.m * kernel.n) * products *
         (kernel.type == DataType::fp64 ? 2 : 1);
}

/// Elements of the largest operand.
std::size_t operand_elements(const Kernel& kernel) {
  if (!detail::is_product(kernel)) return copied_bytes(kernel) / sizeof(float) + 1;
  const std::size_t width = kernel.type == DataType::fp64 ? 2 : 1;
  return static_cast<std::size_t>(std::max(kernel.m, kernel.n) * kernel.k) * width;
}

/// Only its time is known, or its data are too many for proxy kernels.
bool passes_time(const Operation& operation) {
  const auto& kernels = operation.kernels;
  return std::all_of(kernels.begin(),
                     kernels.end(),
                     [](const Kernel& kernel) { return kernel.kind == TaskKind::fixed; }) ||
         std::any_of(kernels.begin(), kernels.end(), [](const Kernel& kernel) {
           return std::max(operand_elements(kernel), result_elements(kernel)) >
                  detail::max_proxy_elements / 4;
         });
}

class ProxyCode {
 public:
  ProxyCode(const TaskGraph& graph, const CostTable& costs, bool capturing)
      : graph_(graph), costs_(costs), capturing_(capturing) {
    for (const Operation& operation : graph.operations()) measure(operation);
    if (!any_) return;
    // Space for several side by side, so that tasks at once do not share lines of a cache.
    operands_ =
        std::clamp(16 * largest_operand_, detail::min_proxy_elements, detail::max_proxy_elements);
    results_ = std::max(4 * largest_result_, detail::min_proxy_elements);
  }

  [[nodiscard]] TaskCode code() const {
    TaskCode made;
    made.texts = {"proxy_kernels"};
    made.allocate = fmt::format(
        "  allocate_proxies({}, {}, {}, {});\n", operands_, results_, host_bytes_, low_);
    CodeNames names;
    IdVector<OperationId, std::string> functions;
    for (const OperationId id : graph_.operations().ids()) {
      functions.push_back(names.add(graph_.operations()[id].name));
      made.operations += function_text(graph_.operations()[id], functions[id]);
    }
    for (const TaskId task : graph_.tasks()) {
      made.tasks.push_back(fmt::format(
          "  operations::{}(to, {});\n", functions[graph_.operation_id(task)], place_text(task)));
    }
    made.operations = fmt::format(
        "namespace operations {{\n\n// Proxy kernels: put your own kernels in their place.\n\n"
        "{}}}  // namespace operations\n\n",
        made.operations);
    made.what = "proxy kernels of the shapes and times of the plan's operations, to be replaced";
    return made;
  }

 private:
  void measure(const Operation& operation) {
    if (operation.kind == TaskKind::collective) refuse(operation, {.kind = TaskKind::collective});
    if (passes_time(operation)) return;
    any_ = true;
    for (const Kernel& kernel : operation.kernels) {
      refuse(operation, kernel);
      largest_result_ = std::max(largest_result_, result_elements(kernel));
      largest_operand_ = std::max(largest_operand_, operand_elements(kernel));
      low_ = low_ || (detail::is_product(kernel) && bytes_per_element(kernel.type) == 2);
      if (copies_with_host(kernel)) host_bytes_ = std::max(host_bytes_, copied_bytes(kernel));
    }
  }

  void refuse(const Operation& operation, const Kernel& kernel) const {
    std::string why;
    if (kernel.kind == TaskKind::collective) {
      why = "is a collective, and one device is emitted; cut ranks out of the graph";
    } else if (detail::is_product(kernel) && kernel.type == DataType::int8) {
      why =
          "multiplies int8, which cublasGemmEx takes only in layouts of its own; set "
          "\"data_type\" to fp16 or bf16";
    } else if (kernel.pageable && copies_with_host(kernel) && capturing_) {
      why = "copies pageable memory, which cannot be captured into a device graph; launch eagerly";
    }
    if (!why.empty()) {
      throw InfeasibleError(fmt::format("operation {} {}", operation.name, why));
    }
  }

  [[nodiscard]] std::string function_text(const Operation& operation,
                                          const std::string& name) const {
    std::string text = fmt::format("/// {} ({}): {}.\n",
                                   comment(operation.name),
                                   to_string(operation.kind),
                                   described(operation));
    const bool spins = passes_time(operation);
    text += fmt::format("void {}(const Lane& to, const Place& at) {{\n", name);
    if (spins) {
      text += spin_text(operation);
    } else {
      for (const Kernel& kernel : operation.kernels) text += kernel_text(kernel);
    }
    return text + "}\n\n";
  }

  static std::string described(const Operation& operation) {
    std::string text;
    if (passes_time(operation)) return "its time alone";
    for (const Kernel& kernel : operation.kernels) {
      if (!text.empty()) text += ", then ";
      text += detail::is_product(kernel)
                  ? fmt::format("[{}, {}] * [{}, {}]", kernel.m, kernel.k, kernel.k, kernel.n)
                  : fmt::format("reads {} and writes {} bytes",
                                kernel.bytes_read.count(),
                                kernel.bytes_written.count());
      if (detail::is_product(kernel)) text += fmt::format(" in {}", to_string(kernel.type));
    }
    return text;
  }

  static std::string spin_text(const Operation& operation) {
    constexpr unsigned threads = 128;  // assumed: of kernels that do not say
    KernelGrid grid;
    if (operation.kernels.size() == 1) grid = operation.kernels.front().grid;
    return fmt::format("  spin(to, at.us, {}, {}, {});\n",
                       std::max(grid.blocks, 1U),
                       grid.block.threads > 0 ? grid.block.threads : threads,
                       grid.block.shared_memory);
  }

  static std::string kernel_text(const Kernel& kernel) {
    if (detail::is_product(kernel)) {
      const auto count = detail::product_count(kernel);
      const char* const memory = bytes_per_element(kernel.type) == 2 ? "operands_low" : "operands";
      const std::string result =
          count == 1
              ? fmt::format("{{results + at.to, {}}}", kernel.n)
              : fmt::format("{{results + at.to, {}, false, {}}}", kernel.n, kernel.m * kernel.n);
      return fmt::format(
          "  multiply(to, {{{0}, {1}, {2}}}, {{{3} + at.a, {2}}}, {{{3} + at.b, {1}}}, {4}, "
          "{5}{6});\n",
          kernel.m,
          kernel.n,
          kernel.k,
          memory,
          result,
          to_string(kernel.type),
          count == 1 ? "" : fmt::format(", {}", count));
    }
    const std::size_t bytes = copied_bytes(kernel);
    switch (kernel.kind) {
      case TaskKind::copy_device_to_device:
        return fmt::format(
            "  copy_bytes(to, results + at.to, operands + at.from, {}, "
            "cudaMemcpyDeviceToDevice);\n",
            bytes);
      case TaskKind::copy_host_to_device:
        return fmt::format(
            "  copy_bytes(to, results + at.to, host_bytes, {}, cudaMemcpyHostToDevice);\n", bytes);
      case TaskKind::copy_device_to_host:
        return fmt::format(
            "  copy_bytes(to, host_bytes, results + at.to, {}, cudaMemcpyDeviceToHost);\n", bytes);
      default:
        return fmt::format("  stream_bytes(to, operands + at.from, results + at.to, {}, {}, {});\n",
                           kernel.bytes_read.count(),
                           kernel.bytes_written.count(),
                           kernel.grid.blocks);
    }
  }

  /// Where its data lie: the places of the largest of its kernels, so that all of them fit.
  [[nodiscard]] std::string place_text(TaskId task) const {
    const Operation& operation = graph_.operation(task);
    if (passes_time(operation)) {
      return fmt::format("{{.us = {:.6f}}}", to_us(costs_.duration(task)));
    }
    std::size_t a = 0;
    std::size_t b = 0;
    std::size_t from = 0;
    std::size_t to = 0;
    for (const Kernel& kernel : operation.kernels) {
      to = std::max(to, result_elements(kernel));
      if (detail::is_product(kernel)) {
        const std::size_t width = kernel.type == DataType::fp64 ? 2 : 1;
        a = std::max(a, static_cast<std::size_t>(kernel.m * kernel.k) * width);
        b = std::max(b, static_cast<std::size_t>(kernel.k * kernel.n) * width);
      } else {
        const bool copy = kernel.kind == TaskKind::copy_device_to_device;
        const std::size_t bytes = copy ? copied_bytes(kernel) : bytes_of(kernel.bytes_read);
        from = std::max(from, bytes / sizeof(float) + 1);
      }
    }
    const auto operand = [&](std::size_t elements, std::size_t which) {
      return elements == 0 ? 0 : detail::operand_place(graph_, task, operands_, elements, which);
    };
    return fmt::format("{{.a = {}, .b = {}, .from = {}, .to = {}}}",
                       operand(a, 0),
                       operand(b, 1),
                       operand(from, 2),
                       detail::operand_place(graph_, task, results_, to, 0));
  }

  const TaskGraph& graph_;
  const CostTable& costs_;
  bool capturing_;
  bool any_ = false;
  bool low_ = false;
  std::size_t operands_ = 0;
  std::size_t largest_operand_ = 0;
  std::size_t largest_result_ = 0;
  std::size_t results_ = 0;
  std::size_t host_bytes_ = 0;
};

}  // namespace

TaskCode proxy_code(const TaskGraph& graph, const CostTable& costs, bool capturing) {
  return ProxyCode(graph, costs, capturing).code();
}

}  // namespace schedlab
