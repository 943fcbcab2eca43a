// SPDX-License-Identifier: Apache-2.0
#include "real_exec/cpu/proxy_shapes.hpp"
#include "real_exec/cuda/array_kernels.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/cuda/cuda_launch.hpp"
#include "real_exec/cuda/cuda_work.hpp"
#include "real_exec/cuda/proxy_kernels.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"
#include "sim/graph/product_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace schedlab {

using detail::check_cuda;
using detail::CudaLaunch;
using detail::DeviceArray;

namespace {

constexpr unsigned default_spin_threads = 128;  // assumed: of kernels that do not say
constexpr std::size_t bytes_per_pack = 16;

std::size_t bytes_of(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count());
}

/// What a copy moves; of a kernel that only reads or only writes, that.
std::size_t copied_bytes(const Kernel& kernel) {
  return std::max(bytes_of(kernel.bytes_read), bytes_of(kernel.bytes_written));
}

bool is_host_copy(const Kernel& kernel) {
  return kernel.kind == TaskKind::copy_host_to_device ||
         kernel.kind == TaskKind::copy_device_to_host;
}

/// Elements of fp32 that the results of a kernel take.
std::size_t result_elements(const Kernel& kernel) {
  if (!detail::is_product(kernel)) return copied_bytes(kernel) / sizeof(float) + bytes_per_pack;
  const auto products = static_cast<std::size_t>(detail::product_count(kernel));
  const std::size_t width = kernel.type == DataType::fp64 ? 2 : 1;
  return static_cast<std::size_t>(kernel.m * kernel.n) * products * width;
}

}  // namespace

class CudaProxyWork::Implementation {
 public:
  Implementation(std::shared_ptr<const detail::CudaContext> context,
                 const TaskGraph& graph,
                 const CostTable& costs,
                 const CudaProxyOptions& options)
      : context_(std::move(context)), graph_(graph), costs_(costs), options_(options) {
    make_arrays();
    prepare_spins();
    for (const Operation& operation : graph.operations()) {
      spins_.push_back(spins(operation) ? std::optional(spin_shape(operation)) : std::nullopt);
    }
    if (options.record_blocks) make_records();
  }

  void launch(TaskId task, const CudaLaunch& to) {
    const auto& spin = spins_[graph_.operation_id(task)];
    if (spin) return launch_spin(task, *spin, to);
    for (const Kernel& kernel : graph_.operation(task).kernels) launch_kernel(task, kernel, to);
  }
  [[nodiscard]] bool multiplies() const {
    const auto& all = graph_.operations();
    return std::any_of(all.begin(), all.end(), [&](const Operation& operation) {
      const auto& kernels = operation.kernels;
      return !spins(operation) && std::any_of(kernels.begin(), kernels.end(), detail::is_product);
    });
  }
  void reset() {
    if (records_.empty()) return;
    check_cuda(cudaMemset(records_.data(), 0, records_.bytes()), "cudaMemset");
  }
  [[nodiscard]] std::vector<CudaBlockRecord> block_records() const;

 private:
  struct SpinShape {
    detail::SpinGrid grid;
    std::int64_t waves = 1;
  };

  [[nodiscard]] bool spins(const Operation& operation) const {
    return options_.kernels == ProxyKernels::spin ||
           std::all_of(operation.kernels.begin(),
                       operation.kernels.end(),
                       [](const Kernel& kernel) { return kernel.kind == TaskKind::fixed; });
  }
  void make_arrays();
  void prepare_spins() const;
  void make_records();
  [[nodiscard]] SpinShape spin_shape(const Operation& operation) const;
  void launch_spin(TaskId task, const SpinShape& shape, const CudaLaunch& to) const;
  void launch_kernel(TaskId task, const Kernel& kernel, const CudaLaunch& to) const;
  void multiply(TaskId task, const Kernel& kernel, const CudaLaunch& to) const;
  void copy(TaskId task, const Kernel& kernel, const CudaLaunch& to) const;
  [[nodiscard]] DataType arithmetic(const Kernel& kernel) const;
  [[nodiscard]] float* result(TaskId task, std::size_t elements) const {
    return results_.data() + detail::operand_place(graph_, task, results_.size(), elements, 0);
  }

  std::shared_ptr<const detail::CudaContext> context_;
  const TaskGraph& graph_;
  const CostTable& costs_;
  CudaProxyOptions options_;
  DeviceArray<float> operands_;
  DeviceArray<detail::Bf16> operands_low_;  // of products in bf16 and fp16
  DeviceArray<float> results_;
  detail::PinnedArray<std::byte> host_;
  mutable std::vector<std::byte> pageable_;
  IdVector<OperationId, std::optional<SpinShape>> spins_;
  DeviceArray<detail::SpinRecord> records_;
  IdVector<TaskId, std::size_t> first_record_;
};

void CudaProxyWork::Implementation::make_arrays() {
  std::size_t largest_result = 0;
  std::size_t host_bytes = 0;
  std::size_t pageable_bytes = 0;
  bool low = false;
  bool any = false;
  for (const Operation& operation : graph_.operations()) {
    if (spins(operation)) continue;
    any = true;
    for (const Kernel& kernel : operation.kernels) {
      largest_result = std::max(largest_result, result_elements(kernel));
      low = low || (detail::is_product(kernel) && bytes_per_element(arithmetic(kernel)) == 2);
      std::size_t& bytes = kernel.pageable ? pageable_bytes : host_bytes;
      if (is_host_copy(kernel)) bytes = std::max(bytes, copied_bytes(kernel));
    }
  }
  if (!any) return;
  operands_ = DeviceArray<float>(detail::proxy_elements(graph_));
  const auto elements = static_cast<long long>(operands_.size());
  detail::fill_pattern(operands_.data(), elements, nullptr);
  if (low) {
    operands_low_ = DeviceArray<detail::Bf16>(operands_.size());
    detail::round_to_bf16(operands_.data(), operands_low_.data(), elements, nullptr);
  }
  results_ = DeviceArray<float>(detail::proxy_result_elements(largest_result));
  check_cuda(cudaMemset(results_.data(), 0, results_.bytes()), "cudaMemset");  // some add to it
  host_ = detail::PinnedArray<std::byte>(host_bytes);
  pageable_.resize(pageable_bytes);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/// How many cycles of a multiprocessor a microsecond has, by the device's own timer: measured once,
/// as the last of several spins of about 10 ms, when the clock rate has risen. A short spin before
/// each work keeps it there.
void CudaProxyWork::Implementation::prepare_spins() const {
  const auto& all = graph_.operations();
  if (std::none_of(all.begin(), all.end(), [&](const Operation& one) { return spins(one); }))
    return;
  detail::allow_spin_shared_memory(context_->shared_memory_per_block);
  const bool known = context_->cycles_per_us.has_value();
  const long long cycles = known ? 4'000'000 : 20'000'000;
  const int tries = known ? 1 : 4;
  const DeviceArray<detail::SpinRecord> record(1);
  for (int i = 0; i < tries; ++i) {
    detail::spin({.blocks = 1, .threads = 32, .shared_memory = 0}, cycles, record.data(), nullptr);
  }
  detail::SpinRecord last;
  check_cuda(cudaMemcpy(&last, record.data(), sizeof(last), cudaMemcpyDeviceToHost),
             "cudaMemcpy from the device");
  if (known) return;
  const auto ns = static_cast<double>(last.ended_ns - last.started_ns);
  if (ns <= 0) throw DeviceError("the device's timer (%globaltimer) stands still");
  context_->cycles_per_us = static_cast<double>(cycles) / (ns / 1000);
}

CudaProxyWork::Implementation::SpinShape CudaProxyWork::Implementation::spin_shape(
    const Operation& operation) const {
  SpinShape shape;
  shape.grid.threads = default_spin_threads;
  if (operation.kernels.size() == 1) {
    const KernelGrid& grid = operation.kernels.front().grid;
    shape.grid.blocks = std::max(grid.blocks, 1U);
    if (grid.block.threads > 0) shape.grid.threads = grid.block.threads;
    shape.grid.shared_memory = grid.block.shared_memory;
  }
  constexpr unsigned max_threads = 1024;  // of a block, every compute capability
  const unsigned per_unit = shape.grid.threads > max_threads ||
                                    shape.grid.shared_memory > context_->shared_memory_per_block
                                ? 0
                                : detail::spin_blocks_per_unit(shape.grid);
  if (per_unit == 0) {
    throw InfeasibleError(
        fmt::format("operation {}: a block of {} threads and {} bytes of shared memory fits on no "
                    "multiprocessor of {}, which allows {} threads and {} bytes",
                    operation.name,
                    shape.grid.threads,
                    shape.grid.shared_memory,
                    context_->properties.name,
                    max_threads,
                    context_->shared_memory_per_block));
  }
  shape.waves = ceil_div(shape.grid.blocks, std::int64_t{per_unit} * context_->properties.units);
  return shape;
}

void CudaProxyWork::Implementation::make_records() {
  std::size_t records = 0;
  for (const TaskId task : graph_.tasks()) {
    first_record_.push_back(records);
    const auto& spin = spins_[graph_.operation_id(task)];
    if (spin) records += spin->grid.blocks;
  }
  records_ = DeviceArray<detail::SpinRecord>(records);
}

void CudaProxyWork::Implementation::launch_spin(TaskId task,
                                                const SpinShape& shape,
                                                const CudaLaunch& to) const {
  const double us = to_us(costs_.duration(task)) / static_cast<double>(shape.waves);
  detail::SpinRecord* const records =
      records_.empty() ? nullptr : records_.data() + first_record_[task];
  detail::spin(
      shape.grid, std::llround(us * context_->cycles_per_us.value()), records, to.kernels());
}

void CudaProxyWork::Implementation::launch_kernel(TaskId task,
                                                  const Kernel& kernel,
                                                  const CudaLaunch& to) const {
  if (detail::is_product(kernel)) return multiply(task, kernel, to);
  if (is_host_copy(kernel) || kernel.kind == TaskKind::copy_device_to_device) {
    return copy(task, kernel, to);
  }
  const std::size_t read = bytes_of(kernel.bytes_read);
  const std::size_t written = bytes_of(kernel.bytes_written);
  const std::size_t operand =
      detail::operand_place(graph_, task, operands_.size(), read / sizeof(float) + 1, 2);
  detail::stream_bytes({.from = operands_.data() + operand,
                        .to = result(task, result_elements(kernel)),
                        .read = static_cast<long long>(read / bytes_per_pack),
                        .written = static_cast<long long>(written / bytes_per_pack),
                        .blocks = kernel.grid.blocks},
                       to.kernels());
}

DataType CudaProxyWork::Implementation::arithmetic(const Kernel& kernel) const {
  if (!options_.precision || !cuda_precision_of(kernel.type)) return kernel.type;
  return enum_value<DataType>(to_string(*options_.precision));
}

void CudaProxyWork::Implementation::multiply(TaskId task,
                                             const Kernel& kernel,
                                             const CudaLaunch& to) const {
  const DataType type = arithmetic(kernel);
  const ProductLayout layout = product_layout(graph_.operation(task).name, kernel);
  const auto factor =
      [&](std::int64_t rows, std::int64_t columns, std::size_t which, bool transposed) {
        const auto elements =
            static_cast<std::size_t>(rows * columns) * (type == DataType::fp64 ? 2 : 1);
        const std::size_t at =
            detail::operand_place(graph_, task, operands_.size(), elements, which);
        const void* const data = bytes_per_element(type) == 2
                                     ? static_cast<const void*>(operands_low_.data() + at)
                                     : operands_.data() + at;
        return detail::BlasMatrix{
            .data = data, .stride = transposed ? rows : columns, .transposed = transposed};
      };
  to.multiply({.m = kernel.m,
               .n = kernel.n,
               .k = kernel.k,
               .a = factor(kernel.m, kernel.k, 0, layout == ProductLayout::tn),
               .b = factor(kernel.k, kernel.n, 1, layout == ProductLayout::nt),
               .c = result(task, result_elements(kernel)),
               .c_stride = kernel.n,
               .c_product = kernel.m * kernel.n,
               .add = accumulates(kernel),
               .type = type,
               .count = detail::product_count(kernel)});
}

void CudaProxyWork::Implementation::copy(TaskId task,
                                         const Kernel& kernel,
                                         const CudaLaunch& to) const {
  const std::size_t bytes = copied_bytes(kernel);
  float* const device = result(task, result_elements(kernel));
  if (kernel.kind == TaskKind::copy_device_to_device) {
    const std::size_t operand =
        detail::operand_place(graph_, task, operands_.size(), bytes / sizeof(float) + 1, 2);
    check_cuda(cudaMemcpyAsync(
                   device, operands_.data() + operand, bytes, cudaMemcpyDeviceToDevice, to.stream),
               "cudaMemcpyAsync on the device");
    return;
  }
  if (kernel.pageable && to.capturing) {
    throw InfeasibleError(
        fmt::format("task {}: a copy of pageable memory cannot be captured into a device graph; "
                    "launch eagerly",
                    graph_.name(task)));
  }
  std::byte* const host = kernel.pageable ? pageable_.data() : host_.data();
  if (kernel.kind == TaskKind::copy_host_to_device) {
    check_cuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, to.stream),
               "cudaMemcpyAsync to the device");
  } else {
    check_cuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, to.stream),
               "cudaMemcpyAsync from the device");
  }
}

std::vector<CudaBlockRecord> CudaProxyWork::Implementation::block_records() const {
  std::vector<detail::SpinRecord> records(records_.size());
  if (records.empty()) return {};
  check_cuda(cudaMemcpy(records.data(), records_.data(), records_.bytes(), cudaMemcpyDeviceToHost),
             "cudaMemcpy from the device");
  std::vector<CudaBlockRecord> blocks;
  for (const TaskId task : graph_.tasks()) {
    const auto& spin = spins_[graph_.operation_id(task)];
    if (!spin) continue;
    for (std::uint32_t block = 0; block < spin->grid.blocks; ++block) {
      const detail::SpinRecord& record = records[first_record_[task] + block];
      if (record.ended_ns == 0) continue;  // the task did not run
      blocks.push_back({.task = task,
                        .block = block,
                        .unit = record.unit,
                        .started_ns = record.started_ns,
                        .ended_ns = record.ended_ns});
    }
  }
  return blocks;
}

CudaProxyWork::CudaProxyWork(const CudaExecutor& executor,
                             const TaskGraph& graph,
                             const CostTable& costs,
                             const CudaProxyOptions& options)
    : implementation_(std::make_unique<Implementation>(
          detail::used_context(executor), graph, costs, options)) {}

CudaProxyWork::~CudaProxyWork() = default;

void CudaProxyWork::launch(TaskId task, const detail::CudaLaunch& to) {
  implementation_->launch(task, to);
}

bool CudaProxyWork::multiplies() const {
  return implementation_->multiplies();
}

void CudaProxyWork::reset() {
  implementation_->reset();
}

std::vector<CudaBlockRecord> CudaProxyWork::block_records() const {
  return implementation_->block_records();
}

}  // namespace schedlab
