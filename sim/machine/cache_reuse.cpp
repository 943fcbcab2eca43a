// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cache_reuse.hpp"

#include <algorithm>
#include <vector>

namespace schedlab {
namespace {

bool is_matrix_kernel(const Kernel& kernel) {
  return kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution;
}

/// True if a tensor of `bytes` can be a whole operand rows x columns, with a bias or without.
bool is_operand(std::int64_t bytes, std::int64_t rows, std::int64_t columns, std::int64_t element) {
  if (rows <= 0 || columns <= 0 || bytes % element != 0) return false;
  const std::int64_t elements = bytes / element;
  if (elements / rows < columns) return false;  // too small; and rows * columns cannot overflow
  const std::int64_t more = elements - rows * columns;
  return more == 0 || more == rows || more == columns;
}

bool is_weight_of(std::int64_t bytes, const Operation& operation) {
  return std::any_of(operation.kernels.begin(), operation.kernels.end(), [&](const Kernel& kernel) {
    const std::int64_t element = bytes_per_element(kernel.type);
    return is_matrix_kernel(kernel) && (is_operand(bytes, kernel.m, kernel.k, element) ||
                                        is_operand(bytes, kernel.k, kernel.n, element));
  });
}

bool has_cache(const Device& device) {
  return device.rates.l2 > Bytes{0} && device.rates.l2_bandwidth > Bandwidth{0.0};
}

bool has_output_buffer(const Device& device) {
  return has_cache(device) && device.rates.output_buffer > Bytes{0};
}

}  // namespace

CacheReuse::CacheReuse(const TaskGraph& graph, const Platform& platform) {
  const auto any = [&](bool (*has)(const Device&)) {
    return std::any_of(platform.devices.begin(), platform.devices.end(), has);
  };
  if (graph.tensors().empty() || !any(has_cache)) return;
  find_weights(graph);
  if (any(has_output_buffer)) find_results(graph);
}

void CacheReuse::find_weights(const TaskGraph& graph) {
  const TensorTable& tensors = graph.tensors();
  std::vector<Bytes> weights(graph.rank_count(), Bytes{0});
  IdVector<OperationId, double> reread(graph.operations().size(), 0.0);
  for (const TensorId tensor : tensors.ids()) {
    const auto readers = tensors.readers(tensor);
    if (!tensors.persistent(tensor) || tensors.accumulate(tensor) || readers.size() < 2) continue;
    const std::int64_t bytes = tensors.bytes(tensor).count();
    const double credit =
        static_cast<double>(bytes) * (1.0 - 1.0 / static_cast<double>(readers.size()));
    bool weight = false;
    OperationId last;  // readers of one tensor are mostly tasks of one operation
    bool last_matches = false;
    for (const TaskId task : readers) {
      const OperationId id = graph.operation_id(task);
      if (id != last) {
        last = id;
        last_matches = is_weight_of(bytes, graph.operations()[id]);
      }
      if (!last_matches) continue;
      reread[id] += credit;
      weight = true;
    }
    if (weight) weights[graph.rank(readers.front())] += Bytes{bytes};
  }
  working_set_ = *std::max_element(weights.begin(), weights.end());
  if (working_set_ == Bytes{0}) return;
  IdVector<OperationId, std::int64_t> tasks(graph.operations().size(), 0);
  for (const TaskId task : graph.tasks()) ++tasks[graph.operation_id(task)];
  for (const OperationId id : graph.operations().ids()) {
    const auto count = static_cast<double>(std::max<std::int64_t>(1, tasks[id]));
    reread_.push_back(Bytes{static_cast<std::int64_t>(reread[id] / count)});
  }
}

void CacheReuse::find_results(const TaskGraph& graph) {
  const TensorTable& tensors = graph.tensors();
  IdVector<OperationId, std::int64_t> tasks(graph.operations().size(), 0);
  for (const TaskId task : graph.tasks()) ++tasks[graph.operation_id(task)];
  results_ = IdVector<OperationId, Results>(graph.operations().size());
  for (const TensorId tensor : tensors.ids()) {
    const auto readers = tensors.readers(tensor);
    if (tensors.persistent(tensor) || tensors.writers(tensor).size() != 1 || readers.size() < 2) {
      continue;
    }
    const std::int64_t bytes = tensors.bytes(tensor).count();
    for (const TaskId task : readers) {
      if (!graph.critical(task)) continue;
      Results& results = results_[graph.operation_id(task)];
      results.bytes += bytes;
      results.largest = std::max(results.largest, bytes);
    }
  }
  for (const OperationId id : graph.operations().ids()) {
    results_[id].bytes /= std::max<std::int64_t>(1, tasks[id]);
  }
}

Bytes CacheReuse::buffered_per_task(OperationId operation, const Device& device) const {
  if (results_.empty() || !has_output_buffer(device)) return Bytes{0};
  const Results& results = results_[operation];
  const double capacity = cache_share_for_data * static_cast<double>(device.rates.matrix_units) *
                          static_cast<double>(device.rates.output_buffer.count());
  return static_cast<double>(results.largest) <= capacity ? Bytes{results.bytes} : Bytes{0};
}

bool CacheReuse::fits(const Device& device) const {
  return has_cache(device) &&
         static_cast<double>(working_set_.count()) <=
             cache_share_for_data * static_cast<double>(device.rates.l2.count());
}

std::optional<Operation> CacheReuse::with_cached_bytes(OperationId id,
                                                       const Operation& operation,
                                                       const Device& device) const {
  Bytes left = buffered_per_task(id, device);
  if (fits(device)) left += reread_per_task(id);
  if (left == Bytes{0}) return std::nullopt;
  Operation result = operation;
  std::vector<Kernel*> readers;
  for (Kernel& kernel : result.kernels) {
    if (is_matrix_kernel(kernel)) readers.push_back(&kernel);
  }
  std::stable_sort(readers.begin(), readers.end(), [](const Kernel* a, const Kernel* b) {
    return a->bytes_read > b->bytes_read;
  });
  for (Kernel* kernel : readers) {
    kernel->bytes_cached = std::min(left, kernel->bytes_read);
    left -= kernel->bytes_cached;
  }
  return result;
}

}  // namespace schedlab
