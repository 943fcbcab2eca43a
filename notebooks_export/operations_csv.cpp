// SPDX-License-Identifier: Apache-2.0
#include "notebooks_export/operations_csv.hpp"

#include "notebooks_export/csv.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace schedlab {
namespace {

/// The tasks of one operation on one kind of device.
struct Ran {
  std::int64_t tasks = 0;
  Duration running{0};
};

Cell positive(double value) {
  return value > 0.0 ? Cell{value} : Cell{};
}

/// The kernel that does most of the arithmetic, or moves most where none does any.
const Kernel* largest_kernel(const Operation& operation) {
  const auto work = [](const Kernel& kernel) {
    return std::pair{kernel.flops.count(),
                     kernel.bytes_read.count() + kernel.bytes_written.count()};
  };
  const auto largest = std::max_element(
      operation.kernels.begin(), operation.kernels.end(), [&](const Kernel& a, const Kernel& b) {
        return work(a) < work(b);
      });
  return largest == operation.kernels.end() ? nullptr : &*largest;
}

FlopRate peak_of(const Kernel& kernel, const DeviceRates& rates) {
  const auto type = static_cast<std::size_t>(kernel.type);
  const bool matrix = kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution;
  return matrix ? rates.matrix[type] : rates.vector[type];
}

/// Copies between host and device use the link, not the memory.
bool uses_device_memory(const Operation& operation) {
  return operation.kind != TaskKind::copy_host_to_device &&
         operation.kind != TaskKind::copy_device_to_host && operation.kind != TaskKind::host;
}

std::vector<Cell> row_of(const Problem& problem, OperationId id, DeviceId kind, const Ran& ran) {
  const Operation& operation = problem.graph.operations()[id];
  const Device& device = problem.platform.devices[kind];
  const Estimate& estimate = problem.costs.entry(id, kind).estimate;
  const Kernel* kernel = largest_kernel(operation);
  const auto bytes = operation.bytes_read().count() + operation.bytes_written().count();
  return {operation.name,
          std::string{to_string(operation.kind)},
          device.name,
          ran.tasks,
          operation.flops().count(),
          bytes,
          to_us(estimate.duration),
          to_us(ran.running) / static_cast<double>(ran.tasks),
          std::string{to_string(estimate.bound)},
          kernel == nullptr ? Cell{} : positive(peak_of(*kernel, device.rates).count() * 1e-12),
          uses_device_memory(operation) ? positive(device.rates.memory.count() * 1e-9) : Cell{}};
}

}  // namespace

std::string operations_csv(const Problem& problem, const Trace& trace) {
  std::map<std::pair<OperationId, DeviceId>, Ran> operations;
  for (const TaskSpan& span : trace.tasks) {
    Ran& ran =
        operations[{problem.graph.operation_id(span.task), problem.platform.kind_of(span.device)}];
    ++ran.tasks;
    ran.running += span.duration();
  }
  Table table;
  for (const char* name : {"operation",
                           "kind",
                           "device",
                           "tasks",
                           "flops_per_task",
                           "bytes_per_task",
                           "alone_us",
                           "mean_us",
                           "bound",
                           "peak_tflop_per_s",
                           "bandwidth_gb_per_s"}) {
    table.columns.push_back({name, ColumnRole::metric});
  }
  for (const auto& [key, ran] : operations) {
    table.rows.push_back(row_of(problem, key.first, key.second, ran));
  }
  return table_csv(table);
}

}  // namespace schedlab
