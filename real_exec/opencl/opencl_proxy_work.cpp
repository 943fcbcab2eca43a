// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/proxy_shapes.hpp"
#include "real_exec/opencl/opencl_context.hpp"
#include "real_exec/opencl/opencl_executor.hpp"
#include "real_exec/opencl/opencl_lane.hpp"
#include "real_exec/opencl/opencl_work.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/product_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace schedlab {

using detail::check_opencl;
using detail::OpenClLane;

namespace {

constexpr std::size_t pack_bytes = 16;
constexpr std::size_t max_groups = 1024;  // assumed: fills any device

bool is_copy(const Kernel& kernel) {
  return kernel.kind == TaskKind::copy_host_to_device ||
         kernel.kind == TaskKind::copy_device_to_host ||
         kernel.kind == TaskKind::copy_device_to_device;
}

/// What a copy moves; of a kernel that only reads or only writes, that.
std::size_t moved_bytes(const Kernel& kernel) {
  return static_cast<std::size_t>(std::max(kernel.bytes_read, kernel.bytes_written).count());
}

std::size_t value_bytes(const Kernel& kernel) {
  return kernel.type == DataType::fp64 ? sizeof(double) : sizeof(float);
}

/// Elements of fp32 that the results of a kernel take.
std::size_t result_elements(const Kernel& kernel) {
  if (!detail::is_product(kernel)) return moved_bytes(kernel) / sizeof(float) + pack_bytes;
  return static_cast<std::size_t>(kernel.m * kernel.n) * value_bytes(kernel) / sizeof(float);
}

}  // namespace

class OpenClProxyWork::Implementation {
 public:
  Implementation(std::shared_ptr<detail::OpenClContext> context,
                 const TaskGraph& graph,
                 const CostTable& costs,
                 ProxyKernels kernels)
      : context_(std::move(context)), graph_(graph), costs_(costs), kernels_(kernels) {
    make_arrays();
    bool any_spins = false;
    for (const Operation& operation : graph.operations()) {
      any_spins = any_spins || spins(operation);
    }
    if (any_spins) measure_spin();
  }

  void launch(TaskId task, OpenClLane& to) {
    const Operation& operation = graph_.operation(task);
    if (spins(operation)) return launch_spin(task, operation, to);
    for (const Kernel& kernel : operation.kernels) launch_kernel(task, kernel, to);
  }

 private:
  [[nodiscard]] bool spins(const Operation& operation) const {
    return kernels_ == ProxyKernels::spin ||
           std::all_of(operation.kernels.begin(),
                       operation.kernels.end(),
                       [](const Kernel& kernel) { return kernel.kind == TaskKind::fixed; });
  }
  void expect_possible(const Operation& operation, const Kernel& kernel) const;
  void make_arrays();
  void measure_spin();
  void launch_spin(TaskId task, const Operation& operation, OpenClLane& to) const;
  void launch_kernel(TaskId task, const Kernel& kernel, OpenClLane& to);
  void multiply(TaskId task, const Kernel& kernel, OpenClLane& to);
  void copy(TaskId task, const Kernel& kernel, OpenClLane& to);
  [[nodiscard]] std::size_t operand_at(TaskId task, std::size_t elements, std::size_t which) const {
    return detail::operand_place(graph_, task, operand_elements_, elements, which);
  }
  [[nodiscard]] std::size_t result_at(TaskId task, const Kernel& kernel) const {
    return detail::operand_place(graph_, task, result_elements_, result_elements(kernel), 0);
  }

  std::shared_ptr<detail::OpenClContext> context_;
  const TaskGraph& graph_;
  const CostTable& costs_;
  ProxyKernels kernels_;
  std::size_t operand_elements_ = 0;
  std::size_t result_elements_ = 0;
  detail::OpenClBuffer operands_;
  detail::OpenClBuffer results_;
  std::vector<std::byte> host_;
  double steps_per_us_ = 0;
};

void OpenClProxyWork::Implementation::expect_possible(const Operation& operation,
                                                      const Kernel& kernel) const {
  if (!detail::is_product(kernel)) return;
  const bool possible = kernel.type == DataType::fp32 || kernel.type == DataType::tf32 ||
                        (kernel.type == DataType::fp64 && context_->facts.fp64);
  if (possible) return;
  throw InfeasibleError(
      fmt::format("operation {}: products on OpenCL devices are in fp32{}, its type is {}\n  set "
                  "\"data_type\" to fp32, or let tasks spin: --proxy spin",
                  operation.name,
                  context_->facts.fp64 ? " or fp64" : "",
                  to_string(kernel.type)),
      "data type",
      std::string(to_string(kernel.type)),
      context_->facts.fp64 ? "fp32, fp64" : "fp32");
}

void OpenClProxyWork::Implementation::make_arrays() {
  std::size_t largest_result = 0;
  std::size_t host_bytes = 0;
  bool any = false;
  for (const Operation& operation : graph_.operations()) {
    if (spins(operation)) continue;
    any = true;
    for (const Kernel& kernel : operation.kernels) {
      expect_possible(operation, kernel);
      largest_result = std::max(largest_result, result_elements(kernel));
      if (is_copy(kernel)) host_bytes = std::max(host_bytes, moved_bytes(kernel));
    }
  }
  results_ = context_->make_buffer(sizeof(float));  // what spins seem to write
  if (!any) return;
  operand_elements_ = detail::proxy_elements(graph_);
  operands_ = context_->make_buffer(operand_elements_ * sizeof(float));
  result_elements_ = detail::proxy_result_elements(largest_result);
  results_ = context_->make_buffer(result_elements_ * sizeof(float));
  host_.resize(host_bytes);
  OpenClLane lane(context_, context_->properties.least_priority);
  const auto fill = [&](const detail::OpenClBuffer& buffer, std::size_t elements) {
    lane.launch("fill_pattern",
                max_groups,
                context_->group_size,
                buffer.get(),
                static_cast<cl_ulong>(elements));
  };
  fill(operands_, operand_elements_);
  fill(results_, result_elements_);  // some products add to it
  lane.finish();
}

/// Steps of a spin that a microsecond has, by the device's own clock; the last of several spins,
/// when the clock rate has risen.
void OpenClProxyWork::Implementation::measure_spin() {
  constexpr cl_ulong few = 1'000'000;  // assumed: some milliseconds
  constexpr int tries = 4;
  OpenClLane lane(context_, context_->properties.least_priority);
  for (int i = 0; i < tries; ++i) {
    lane.begin_task();
    lane.launch("spin", 1, context_->group_size, few, results_.get());
    lane.finish();
    const detail::OpenClTaskEvents events = lane.end_task();
    cl_ulong from = 0;
    cl_ulong to = 0;
    const auto& cl = context_->cl;
    check_opencl(cl.get_profiling_info(
                     events.first.get(), CL_PROFILING_COMMAND_START, sizeof(from), &from, nullptr),
                 "clGetEventProfilingInfo");
    check_opencl(cl.get_profiling_info(
                     events.last.get(), CL_PROFILING_COMMAND_END, sizeof(to), &to, nullptr),
                 "clGetEventProfilingInfo");
    if (to <= from) {
      throw DeviceError(
          fmt::format("the clock of {} stands still, says its driver", context_->facts.name));
    }
    constexpr double ns_per_us = 1000;
    steps_per_us_ = static_cast<double>(few) / (static_cast<double>(to - from) / ns_per_us);
  }
}

void OpenClProxyWork::Implementation::launch_spin(TaskId task,
                                                  const Operation& operation,
                                                  OpenClLane& to) const {
  const std::uint32_t groups =
      operation.kernels.size() == 1 ? std::max(operation.kernels.front().grid.blocks, 1U) : 1U;
  const auto waves = ceil_div(std::int64_t{groups}, std::int64_t{context_->kernel_units()});
  const double us = to_us(costs_.duration(task)) / static_cast<double>(waves);
  to.launch("spin",
            groups,
            context_->group_size,
            static_cast<cl_ulong>(std::llround(us * steps_per_us_)),
            results_.get());
}

void OpenClProxyWork::Implementation::launch_kernel(TaskId task,
                                                    const Kernel& kernel,
                                                    OpenClLane& to) {
  if (detail::is_product(kernel)) return multiply(task, kernel, to);
  if (is_copy(kernel)) return copy(task, kernel, to);
  const auto read = static_cast<std::size_t>(kernel.bytes_read.count());
  const auto written = static_cast<std::size_t>(kernel.bytes_written.count());
  const std::size_t from = operand_at(task, read / sizeof(float) + 1, 2);
  const std::size_t packs = std::max(read, written) / pack_bytes;
  const std::size_t groups =
      kernel.grid.blocks > 0 ? kernel.grid.blocks
                             : std::clamp(packs / context_->group_size, std::size_t{1}, max_groups);
  constexpr std::size_t elements = pack_bytes / sizeof(float);
  to.launch("stream_bytes",
            groups,
            context_->group_size,
            operands_.get(),
            static_cast<cl_ulong>(from / elements),
            results_.get(),
            static_cast<cl_ulong>(result_at(task, kernel) / elements),
            static_cast<cl_ulong>(read / pack_bytes),
            static_cast<cl_ulong>(written / pack_bytes));
}

/// C = A * B, in the kernel's layout and added to C where it accumulates, as often as there are
/// products.
void OpenClProxyWork::Implementation::multiply(TaskId task, const Kernel& kernel, OpenClLane& to) {
  const auto m = static_cast<std::size_t>(kernel.m);
  const auto n = static_cast<std::size_t>(kernel.n);
  const auto k = static_cast<std::size_t>(kernel.k);
  const std::size_t width = value_bytes(kernel) / sizeof(float);
  const std::size_t a = operand_at(task, m * k * width, 0) / width;
  const std::size_t b = operand_at(task, k * n * width, 1) / width;
  const std::size_t c = result_at(task, kernel) / width;
  const ProductLayout layout = product_layout(graph_.operation(task).name, kernel);
  const bool a_lies = layout == ProductLayout::tn;  // transposed
  const bool b_lies = layout == ProductLayout::nt;
  const detail::OpenClProduct product{.m = m,
                                      .n = n,
                                      .k = k,
                                      .a = {.buffer = operands_.get(), .at = a},
                                      .b = {.buffer = operands_.get(), .at = b},
                                      .c = {.buffer = results_.get(), .at = c},
                                      .a_stride = a_lies ? m : k,
                                      .b_stride = b_lies ? k : n,
                                      .c_stride = n,
                                      .a_lies = a_lies,
                                      .b_lies = b_lies,
                                      .add = accumulates(kernel)};
  for (std::int64_t i = 0; i < detail::product_count(kernel); ++i) {
    if (width == 2) {
      to.multiply<double>(product);
    } else {
      to.multiply<float>(product);
    }
  }
}

void OpenClProxyWork::Implementation::copy(TaskId task, const Kernel& kernel, OpenClLane& to) {
  const std::size_t bytes = moved_bytes(kernel);
  const detail::OpenClPlace there{.buffer = results_.get(),
                                  .at = result_at(task, kernel) * sizeof(float)};
  if (kernel.kind == TaskKind::copy_host_to_device) return to.write(there, host_.data(), bytes);
  if (kernel.kind == TaskKind::copy_device_to_host) return to.read(host_.data(), there, bytes);
  const std::size_t from = operand_at(task, bytes / sizeof(float) + 1, 2) * sizeof(float);
  to.copy(there, {.buffer = operands_.get(), .at = from}, bytes);
}

OpenClProxyWork::OpenClProxyWork(const OpenClExecutor& executor,
                                 const TaskGraph& graph,
                                 const CostTable& costs,
                                 ProxyKernels kernels)
    : implementation_(std::make_unique<Implementation>(executor.context(), graph, costs, kernels)) {
}

OpenClProxyWork::~OpenClProxyWork() = default;

void OpenClProxyWork::launch(TaskId task, detail::OpenClLane& to) {
  implementation_->launch(task, to);
}

}  // namespace schedlab
