// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cache_contents.hpp"

#include "sim/base/error.hpp"
#include "sim/machine/kernel_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace schedlab {
namespace {

/// Bytes that were touched for the last time at each moment, with sums over stretches of time
/// (a binary indexed tree: Fenwick, Software: Practice and Experience 24(3), 1994).
class LastTouches {
 public:
  explicit LastTouches(std::size_t moments) : sums_(moments + 1, 0.0) {}
  void add(std::size_t moment, double bytes) {
    for (std::size_t i = moment + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += bytes;
  }
  /// Of all moments before `moment`.
  [[nodiscard]] double before(std::size_t moment) const {
    double sum = 0;
    for (std::size_t i = moment; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<double> sums_;
};

struct LastTouch {
  std::size_t moment = std::numeric_limits<std::size_t>::max();
  double bytes = 0;
  [[nodiscard]] bool touched() const { return moment != std::numeric_limits<std::size_t>::max(); }
};

bool is_product(const Kernel& kernel) {
  return kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution;
}

/// Rows x columns, with a bias or without.
bool is_matrix(std::int64_t bytes, std::int64_t rows, std::int64_t columns, std::int64_t element) {
  const std::int64_t more = bytes / element - rows * columns;
  return more == 0 || more == rows || more == columns;
}

bool adds_into_result(const Kernel& kernel) {
  const std::int64_t element = bytes_per_element(kernel.type);
  return kernel.bytes_read.count() >=
         element * (kernel.m * kernel.k + kernel.k * kernel.n + kernel.m * kernel.n);
}

float part_of(double moved, double all) {
  return all <= 0 ? 1.0F : static_cast<float>(std::min(1.0, moved / all));
}

}  // namespace

double share_in_cache(double distance, Bytes capacity) {
  const auto size = static_cast<double>(capacity.count());
  return std::clamp((size * (1 + cache_edge) - distance) / (2 * cache_edge * size), 0.0, 1.0);
}

Bytes profiled_cache(const Device& device) {
  if (device.profile == nullptr) return Bytes{0};
  const auto& samples = device.profile->samples;
  const bool known = std::any_of(samples.begin(), samples.end(), [](const KernelSample& sample) {
    return sample.kernel.bytes_cached > Bytes{0};
  });
  return known ? device.rates.l2 : Bytes{0};
}

CacheContents::CacheContents(const TaskGraph& graph, Bytes capacity)
    : graph_(graph), capacity_(capacity) {
  first_kernel_.push_back(0);
  for (const TaskId task : graph.tasks()) {
    const std::size_t kernels = std::max<std::size_t>(1, graph.operation(task).kernels.size());
    first_kernel_.push_back(first_kernel_.back() + static_cast<std::uint32_t>(kernels));
  }
  add_uses();
  set_parts();
}

void CacheContents::add_uses() {
  const TensorTable& tensors = graph_.tensors();
  std::vector<std::vector<Use>> by_task(graph_.task_count());
  for (const TensorId tensor : tensors.ids()) {
    for (const TaskId task : tensors.readers(tensor)) {
      by_task[task.value()].push_back({.tensor = tensor, .is_read = true});
    }
    for (const TaskId task : tensors.writers(tensor)) {
      std::vector<Use>& uses = by_task[task.value()];
      if (uses.empty() || uses.back().tensor != tensor) uses.push_back({.tensor = tensor});
      uses.back().written = true;
      uses.back().is_read = uses.back().is_read || tensors.accumulate(tensor);
    }
  }
  first_use_.push_back(0);
  for (const std::vector<Use>& uses : by_task) {
    uses_.insert(uses_.end(), uses.begin(), uses.end());
    first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  }
}

void CacheContents::set_parts() {
  for (const TaskId task : graph_.tasks()) {
    double read = 0;
    double written = 0;
    for (const Use& use : uses(task)) (use.is_read ? read : written) += bytes(use);
    const Operation& operation = graph_.operation(task);
    if (operation.kernels.empty()) continue;
    const auto of_reads = part_of(static_cast<double>(operation.bytes_read().count()), read);
    const auto of_writes = part_of(static_cast<double>(operation.bytes_written().count()), written);
    for (std::size_t i = first_use_[task.value()]; i < first_use_[task.value() + 1]; ++i) {
      uses_[i].part = uses_[i].is_read ? of_reads : of_writes;
    }
  }
}

/// Mean over the uses that count, by bytes; 1 without any.
double CacheContents::share_of(std::span<const Use> uses,
                               std::span<const float> found,
                               std::span<const std::uint8_t> counted) const {
  double all = 0;
  double there = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (counted[i] == 0) continue;
    all += bytes(uses[i]);
    there += bytes(uses[i]) * static_cast<double>(found[i]);
  }
  return all > 0 ? there / all : 1.0;
}

void CacheContents::share_out(TaskId task, std::span<const float> found, float* kernels) const {
  const Operation& operation = graph_.operation(task);
  const std::span<const Use> own = uses(task);
  std::vector<std::uint8_t> counted(own.size());
  std::vector<std::uint8_t> left(own.size());  // read by none of the products
  for (std::size_t i = 0; i < own.size(); ++i) left[i] = own[i].is_read ? 1 : 0;
  if (operation.kernels.size() < 2) {
    kernels[0] = static_cast<float>(share_of(own, found, left));
    return;
  }
  const auto operand = [&](std::int64_t rows, std::int64_t columns, bool result, DataType type) {
    const std::int64_t element = bytes_per_element(type);
    for (std::size_t i = 0; i < own.size(); ++i) {
      counted[i] =
          own[i].is_read && own[i].written == result &&
                  is_matrix(graph_.tensors().bytes(own[i].tensor).count(), rows, columns, element)
              ? 1
              : 0;
      if (counted[i] != 0) left[i] = 0;
    }
    const auto size = static_cast<double>(rows * columns * element);
    return std::pair{size, size * share_of(own, found, counted)};
  };
  for (std::size_t k = 0; k < operation.kernels.size(); ++k) {
    const Kernel& kernel = operation.kernels[k];
    if (!is_product(kernel)) continue;
    auto [all, there] = operand(kernel.m, kernel.k, false, kernel.type);
    const auto right = operand(kernel.k, kernel.n, false, kernel.type);
    all += right.first;
    there += right.second;
    if (adds_into_result(kernel)) {
      const auto result = operand(kernel.m, kernel.n, true, kernel.type);
      all += result.first;
      there += result.second;
    }
    kernels[k] = all > 0 ? static_cast<float>(there / all) : 1.0F;
  }
  const auto rest = static_cast<float>(share_of(own, found, left));
  for (std::size_t k = 0; k < operation.kernels.size(); ++k) {
    if (!is_product(operation.kernels[k])) kernels[k] = rest;
  }
}

std::vector<float> CacheContents::shares(std::span<const TaskId> order) const {
  SCHEDLAB_EXPECTS(order.size() == graph_.task_count(),
                   fmt::format("{} of {} tasks in order", order.size(), graph_.task_count()));
  constexpr int runs = 2;  // the first leaves in the cache what the second finds
  std::vector<float> result(first_kernel_.back(), 1.0F);
  IdVector<TensorId, LastTouch> last(graph_.tensors().size(), LastTouch{});
  LastTouches touches(runs * uses_.size());
  std::size_t now = 0;
  std::vector<float> found;
  for (int run = 0; run < runs; ++run) {
    for (const TaskId task : order) {
      const std::span<const Use> own = uses(task);
      found.clear();
      const std::size_t begin = now;
      for (const Use& use : own) {
        const LastTouch& before = last[use.tensor];
        const double since =
            before.touched() ? touches.before(begin) - touches.before(before.moment + 1) : 0.0;
        found.push_back(before.touched()
                            ? static_cast<float>(share_in_cache(since + bytes(use), capacity_))
                            : 0.0F);
      }
      for (const Use& use : own) {
        LastTouch& touch = last[use.tensor];
        if (touch.touched()) touches.add(touch.moment, -touch.bytes);
        touch = {.moment = now, .bytes = bytes(use)};
        touches.add(now++, touch.bytes);
      }
      if (run + 1 == runs) share_out(task, found, result.data() + first_kernel(task));
    }
  }
  return result;
}

IdVector<OperationId, std::vector<float>> mean_shares(const TaskGraph& graph,
                                                      const CacheContents& contents,
                                                      std::span<const float> shares) {
  IdVector<OperationId, std::vector<double>> sums(graph.operations().size(), {});
  IdVector<OperationId, std::size_t> tasks(graph.operations().size(), 0);
  for (const TaskId task : graph.tasks()) {
    const OperationId operation = graph.operation_id(task);
    std::vector<double>& sum = sums[operation];
    sum.resize(contents.kernel_count(task), 0.0);
    for (std::size_t k = 0; k < sum.size(); ++k) {
      sum[k] += static_cast<double>(shares[contents.first_kernel(task) + k]);
    }
    ++tasks[operation];
  }
  IdVector<OperationId, std::vector<float>> means;
  for (const OperationId operation : graph.operations().ids()) {
    std::vector<float> mean;
    for (const double sum : sums[operation]) {
      mean.push_back(static_cast<float>(sum / static_cast<double>(tasks[operation])));
    }
    means.push_back(std::move(mean));
  }
  return means;
}

IdVector<OperationId, std::vector<float>> cached_shares(const TaskGraph& graph,
                                                        const Device& device) {
  const Bytes capacity = profiled_cache(device);
  if (capacity == Bytes{0} || graph.tensors().empty()) return {};
  const CacheContents contents{graph, capacity};
  if (!contents.known()) return {};
  const auto ids = graph.tasks();
  return mean_shares(graph, contents, contents.shares(std::vector<TaskId>(ids.begin(), ids.end())));
}

void set_cached(std::vector<float>::const_iterator shares, Operation& operation) {
  for (Kernel& kernel : operation.kernels) {
    const auto read = static_cast<double>(kernel.bytes_read.count());
    kernel.bytes_cached = Bytes{std::llround(static_cast<double>(*shares++) * read)};
  }
}

}  // namespace schedlab
