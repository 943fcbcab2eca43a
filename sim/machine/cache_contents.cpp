// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/cache_contents.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
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

constexpr CachedShare nothing{.cached = 0, .unit_cached = 0};

/// Weighted mean.
class SumOfShares {
 public:
  void add(const CachedShare& share, double weight) {
    weights_ += weight;
    cached_ += weight * static_cast<double>(share.cached);
    unit_cached_ += weight * static_cast<double>(share.unit_cached);
  }
  [[nodiscard]] std::optional<CachedShare> mean() const {
    if (weights_ <= 0) return std::nullopt;
    return CachedShare{.cached = static_cast<float>(cached_ / weights_),
                       .unit_cached = static_cast<float>(unit_cached_ / weights_)};
  }

 private:
  double weights_ = 0;
  double cached_ = 0;
  double unit_cached_ = 0;
};

float part_of(double moved, double all) {
  return all <= 0 ? 1.0F : static_cast<float>(std::min(1.0, moved / all));
}

}  // namespace

double share_in_cache(double distance, const CacheLevel& cache) {
  const auto size = static_cast<double>(cache.size.count());
  if (size <= 0) return 0;
  const std::vector<CacheShare>& curve = cache.curve;
  if (curve.empty()) {
    return std::clamp((size * (1 + cache_edge) - distance) / (2 * cache_edge * size), 0.0, 1.0);
  }
  const double at = distance / size;
  const auto above = std::find_if(
      curve.begin(), curve.end(), [&](const CacheShare& point) { return point.distance > at; });
  if (above == curve.begin()) return 1;
  const CacheShare& below = *(above - 1);
  if (above == curve.end()) return below.share;
  const double part = (at - below.distance) / (above->distance - below.distance);
  return below.share + part * (above->share - below.share);
}

CacheLevels profiled_caches(const Device& device) {
  CacheLevels caches;
  if (calibrated_profile(device) == nullptr) return caches;
  const auto& samples = device.profile->samples;
  const auto some = [&](Bytes Kernel::*bytes) {
    return std::any_of(samples.begin(), samples.end(), [&](const KernelSample& sample) {
      return sample.kernel.*bytes > Bytes{0};
    });
  };
  if (some(&Kernel::bytes_cached)) {
    caches.last = {.size = device.rates.l2, .curve = device.profile->cache_curve};
  }
  if (some(&Kernel::bytes_unit_cached)) {
    const Bytes one = device.rates.unit_cache;
    caches.units.size = Bytes{one.count() * std::int64_t{device.profile->units}};
  }
  return caches;
}

CacheContents::CacheContents(const TaskGraph& graph, CacheLevels caches)
    : graph_(graph), caches_(std::move(caches)) {
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

CachedShare CacheContents::found_at(double distance) const {
  const double cached = share_in_cache(distance, caches_.last);
  const double near = std::min(cached, share_in_cache(distance, caches_.units));
  return {.cached = static_cast<float>(cached), .unit_cached = static_cast<float>(near)};
}

/// What was made just now.
CachedShare CacheContents::all() const {
  return {.cached = 1, .unit_cached = caches_.units.size > Bytes{0} ? 1.0F : 0.0F};
}

/// Mean over the uses that count, by bytes; all() without any.
CachedShare CacheContents::share_of(std::span<const Use> uses,
                                    std::span<const CachedShare> found,
                                    std::span<const std::uint8_t> counted) const {
  SumOfShares sum;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (counted[i] != 0) sum.add(found[i], bytes(uses[i]));
  }
  return sum.mean().value_or(all());
}

void CacheContents::share_out(TaskId task,
                              std::span<const CachedShare> found,
                              CachedShare* kernels) const {
  const Operation& operation = graph_.operation(task);
  const std::span<const Use> own = uses(task);
  std::vector<std::uint8_t> counted(own.size());
  std::vector<std::uint8_t> left(own.size());  // read by none of the products
  for (std::size_t i = 0; i < own.size(); ++i) left[i] = own[i].is_read ? 1 : 0;
  if (operation.kernels.size() < 2) {
    kernels[0] = share_of(own, found, left);
    return;
  }
  SumOfShares sum;
  const auto add = [&](std::int64_t rows, std::int64_t columns, bool result, DataType type) {
    const std::int64_t element = bytes_per_element(type);
    for (std::size_t i = 0; i < own.size(); ++i) {
      counted[i] =
          own[i].is_read && own[i].written == result &&
                  is_matrix(graph_.tensors().bytes(own[i].tensor).count(), rows, columns, element)
              ? 1
              : 0;
      if (counted[i] != 0) left[i] = 0;
    }
    sum.add(share_of(own, found, counted), static_cast<double>(rows * columns * element));
  };
  for (std::size_t k = 0; k < operation.kernels.size(); ++k) {
    const Kernel& kernel = operation.kernels[k];
    if (!is_product(kernel)) continue;
    sum = {};
    add(kernel.m, kernel.k, false, kernel.type);
    add(kernel.k, kernel.n, false, kernel.type);
    if (adds_into_result(kernel)) add(kernel.m, kernel.n, true, kernel.type);
    kernels[k] = sum.mean().value_or(all());
  }
  const CachedShare rest = share_of(own, found, left);
  for (std::size_t k = 0; k < operation.kernels.size(); ++k) {
    if (!is_product(operation.kernels[k])) kernels[k] = rest;
  }
}

std::vector<CachedShare> CacheContents::shares(std::span<const TaskId> order) const {
  SCHEDLAB_EXPECTS(order.size() == graph_.task_count(),
                   fmt::format("{} of {} tasks in order", order.size(), graph_.task_count()));
  constexpr int runs = 2;  // the first leaves in the cache what the second finds
  std::vector<CachedShare> result(first_kernel_.back(), all());
  IdVector<TensorId, LastTouch> last(graph_.tensors().size(), LastTouch{});
  LastTouches touches(runs * uses_.size());
  std::size_t now = 0;
  std::vector<CachedShare> found;
  for (int run = 0; run < runs; ++run) {
    for (const TaskId task : order) {
      const std::span<const Use> own = uses(task);
      found.clear();
      const std::size_t begin = now;
      for (const Use& use : own) {
        const LastTouch& before = last[use.tensor];
        const double since =
            before.touched() ? touches.before(begin) - touches.before(before.moment + 1) : 0.0;
        found.push_back(before.touched() ? found_at(since + bytes(use)) : nothing);
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

OperationShares mean_shares(const TaskGraph& graph,
                            const CacheContents& contents,
                            std::span<const CachedShare> shares) {
  IdVector<OperationId, std::vector<SumOfShares>> sums(graph.operations().size(), {});
  for (const TaskId task : graph.tasks()) {
    std::vector<SumOfShares>& own = sums[graph.operation_id(task)];
    own.resize(contents.kernel_count(task));
    for (std::size_t k = 0; k < own.size(); ++k) {
      own[k].add(shares[contents.first_kernel(task) + k], 1);
    }
  }
  OperationShares means;
  for (const OperationId operation : graph.operations().ids()) {
    std::vector<CachedShare> mean;
    for (const SumOfShares& sum : sums[operation]) mean.push_back(sum.mean().value_or(nothing));
    means.push_back(std::move(mean));
  }
  return means;
}

OperationShares cached_shares(const TaskGraph& graph, const Device& device) {
  CacheLevels caches = profiled_caches(device);
  if (caches.last.size == Bytes{0} || graph.tensors().empty()) return {};
  const CacheContents contents{graph, std::move(caches)};
  if (!contents.known()) return {};
  const auto ids = graph.tasks();
  return mean_shares(graph, contents, contents.shares(std::vector<TaskId>(ids.begin(), ids.end())));
}

void set_cached(const CachedShare& share, Kernel& kernel) {
  const auto read = static_cast<double>(kernel.bytes_read.count());
  kernel.bytes_cached = Bytes{std::llround(static_cast<double>(share.cached) * read)};
  kernel.bytes_unit_cached = std::min(
      kernel.bytes_cached, Bytes{std::llround(static_cast<double>(share.unit_cached) * read)});
}

void set_cached(std::vector<CachedShare>::const_iterator shares, Operation& operation) {
  for (Kernel& kernel : operation.kernels) set_cached(*shares++, kernel);
}

}  // namespace schedlab
