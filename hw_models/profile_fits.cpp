// SPDX-License-Identifier: Apache-2.0
#include "hw_models/profile_fits.hpp"

#include "sim/base/error.hpp"
#include "sim/base/statistics.hpp"
#include "sim/graph/product_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

namespace schedlab {
namespace {

// Distances between kernels, in octaves of their shapes. // assumed
constexpr double same_work_octaves = 0.3;  // two LSTM cells differ by 0.2, LSTM and GRU by 0.4
constexpr double bias_octaves = 0.5;       // between a product with a bias and one without
constexpr double work_weight = 10;  // other work says more of what a kernel is than another size
constexpr double range_slack = 0.0144;  // octaves: 1 %

bool is_matrix(const Kernel& kernel) {
  return kernel.kind == TaskKind::gemm || kernel.kind == TaskKind::convolution;
}

/// A column sum that is fused into the product adds FLOPs.
bool has_bias(const Kernel& kernel) {
  const double product = 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                         static_cast<double>(kernel.k);
  return kernel.flops.count() > product * (1 + 1e-9);
}

bool close(double a, double b) {
  if (a <= 0.0 || b <= 0.0) return a == b;
  return std::abs(std::log2(a / b)) <= same_work_octaves;
}

/// Between kernels that are no products: by how many octaves their work per byte written differs.
double work_octaves(const Kernel& a, const Kernel& b) {
  const auto octaves = [&](double of_a, double of_b) {
    const auto of = [](const Kernel& kernel, double amount) {
      return std::max(amount, 1.0) /
             static_cast<double>(std::max<std::int64_t>(1, kernel.bytes_written.count()));
    };
    return std::abs(std::log2(of(a, of_a) / of(b, of_b)));
  };
  return octaves(a.flops.count(), b.flops.count()) +
         octaves(static_cast<double>(a.bytes_read.count()),
                 static_cast<double>(b.bytes_read.count()));
}

bool same_work_as(const Kernel& a, const Kernel& b) {
  if (is_matrix(a)) return accumulates(a) == accumulates(b);
  if (a.kind == TaskKind::reduction) {  // how many it adds up into one is its shape
    return close(
        a.flops.count() / static_cast<double>(std::max<std::int64_t>(1, a.bytes_read.count())),
        b.flops.count() / static_cast<double>(std::max<std::int64_t>(1, b.bytes_read.count())));
  }
  const auto written = [](const Kernel& kernel) {
    return static_cast<double>(std::max<std::int64_t>(1, kernel.bytes_written.count()));
  };
  const auto read = [](const Kernel& kernel) {
    return static_cast<double>(kernel.bytes_read.count());
  };
  return close(a.flops.count() / written(a), b.flops.count() / written(b)) &&
         close(read(a) / written(a), read(b) / written(b));
}

/// The name of what was measured for its kind and layout alone.
std::string_view generic_name(const Operation& operation, const Kernel& kernel) {
  return kernel.kind == TaskKind::gemm ? product_name(product_layout(operation.name, kernel))
                                       : to_string(kernel.kind);
}

bool is_generic(std::string_view operation, TaskKind kind) {
  if (kind != TaskKind::gemm) return operation == to_string(kind);
  return std::any_of(product_layouts.begin(), product_layouts.end(), [&](ProductLayout layout) {
    return operation == product_name(layout);
  });
}

struct Box {
  std::vector<double> low;
  std::vector<double> high;
};

Box box_of(const std::vector<KernelSample>& samples) {
  Box box;
  for (const KernelSample& sample : samples) {
    const std::vector<double> place = shape_place(sample.kernel);
    if (box.low.empty()) box = {place, place};
    for (std::size_t i = 0; i < place.size(); ++i) {
      box.low[i] = std::min(box.low[i], place[i]);
      box.high[i] = std::max(box.high[i], place[i]);
    }
  }
  return box;
}

/// By class: one for all products that do not add into their results, one for all that do, as far
/// as they know what was in the cache.
std::vector<MemoryTime> memory_times(const std::vector<std::vector<KernelSample>>& classes) {
  const auto knows = [](const std::vector<KernelSample>& samples) {
    return is_matrix(samples.front().kernel) &&
           std::any_of(samples.begin(), samples.end(), [](const KernelSample& sample) {
             return sample.kernel.bytes_cached > Bytes{0};
           });
  };
  std::map<bool, std::vector<std::vector<KernelSample>>> alike;
  for (const std::vector<KernelSample>& samples : classes) {
    if (knows(samples)) alike[accumulates(samples.front().kernel)].push_back(samples);
  }
  std::map<bool, MemoryTime> times;
  for (const auto& [adds, of_kind] : alike) times[adds] = fit_memory(of_kind);
  std::vector<MemoryTime> result;
  result.reserve(classes.size());
  for (const std::vector<KernelSample>& samples : classes) {
    result.push_back(knows(samples) ? times[accumulates(samples.front().kernel)] : MemoryTime{});
  }
  return result;
}

using Residual = std::pair<double, Bytes>;  // measured over predicted, and in which working set

std::vector<Residual> of_repetitions(const std::vector<KernelSample>& samples) {
  std::vector<Residual> residuals;
  for (const KernelSample& sample : samples) {
    const double half = std::min(sample.spread / 2, 0.5);
    for (const double ratio : {1 - half, 1.0, 1 + half}) {
      residuals.emplace_back(ratio, sample.kernel.working_set);
    }
  }
  return residuals;
}

}  // namespace

KernelClass::KernelClass(std::vector<KernelSample> samples, const MemoryTime& memory)
    : samples_(std::move(samples)), fit_(samples_, memory) {
  std::vector<Residual> residuals;
  const std::vector<double> held_out = held_out_ratios(samples_, fit_);
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    residuals.push_back({held_out[i], samples_[i].kernel.working_set});
  }
  held_out_ = !residuals.empty();
  if (!held_out_) residuals = of_repetitions(samples_);
  std::sort(residuals.begin(), residuals.end());
  for (const Residual& residual : residuals) {
    ratios_.push_back(residual.first);
    working_sets_.push_back(residual.second);
  }
}

bool KernelClass::generic() const {
  return is_generic(operation(), kind());
}

bool KernelClass::same_work(const Kernel& kernel) const {
  if (kernel.kind != kind() || kernel.type != type()) return false;
  return std::any_of(samples_.begin(), samples_.end(), [&](const KernelSample& sample) {
    return same_work_as(kernel, sample.kernel);
  });
}

double KernelClass::distance(const Kernel& kernel) const {
  const std::vector<double> place = shape_place(kernel);
  double nearest = std::numeric_limits<double>::infinity();
  for (const KernelSample& sample : samples_) {
    const std::vector<double> other = shape_place(sample.kernel);
    double sum = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      sum += (place[i] - other[i]) * (place[i] - other[i]);
    }
    double other_work = 0;
    if (is_matrix(kernel)) {
      other_work = has_bias(kernel) != has_bias(sample.kernel) ? bias_octaves : 0.0;
    } else if (kernel.kind != TaskKind::reduction) {
      other_work = work_weight * work_octaves(kernel, sample.kernel);
    }
    nearest = std::min(nearest, std::sqrt(sum) + other_work);
  }
  return nearest;
}

bool KernelClass::in_calibrated_range(const Kernel& kernel) const {
  const Box box = box_of(samples_);
  const std::vector<double> place = shape_place(kernel);
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < box.low[i] - range_slack || place[i] > box.high[i] + range_slack) return false;
  }
  return true;
}

std::string KernelClass::range_text() const {
  const Box box = box_of(samples_);
  constexpr std::array<const char*, 4> matrix{"m", "n", "k", "blocks"};
  constexpr std::array<const char*, 2> others{"bytes", "blocks"};
  std::string text;
  for (std::size_t i = 0; i < box.low.size(); ++i) {
    text += fmt::format("{}{} {:.0f}..{:.0f}",
                        i == 0 ? "" : ", ",
                        box.low.size() == matrix.size() ? matrix.at(i) : others.at(i),
                        std::exp2(box.low[i]),
                        std::exp2(box.high[i]));
  }
  return text;
}

double KernelClass::error(double part) const {
  std::vector<double> errors;
  for (const double ratio : ratios_) errors.push_back(std::abs(1 / ratio - 1));
  std::sort(errors.begin(), errors.end());
  return percentile(errors, part);
}

ProfileFits::ProfileFits(const KernelProfile& profile) {
  std::vector<std::vector<KernelSample>> groups;
  for (const KernelSample& sample : profile.samples) {
    const auto same = [&](const std::vector<KernelSample>& group) {
      const KernelSample& first = group.front();
      return first.operation == sample.operation && first.kernel.kind == sample.kernel.kind &&
             first.kernel.type == sample.kernel.type &&
             (is_generic(sample.operation, sample.kernel.kind) ||
              same_work_as(first.kernel, sample.kernel));
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({sample});
    } else {
      found->push_back(sample);
    }
  }
  const std::vector<MemoryTime> memory = memory_times(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    classes_.emplace_back(std::move(groups[i]), memory[i]);
  }
}

const KernelClass* ProfileFits::nearest(const Kernel& kernel, std::size_t before) const {
  constexpr double equal = 1e-9;  // octaves
  std::vector<const KernelClass*> best;
  double smallest = std::numeric_limits<double>::infinity();
  for (const KernelClass& one : classes_) {
    if (one.generic() || !one.same_work(kernel)) continue;
    const double distance = one.distance(kernel);
    if (distance > smallest + equal) continue;
    if (distance < smallest - equal) best.clear();
    smallest = std::min(smallest, distance);
    best.push_back(&one);
  }
  return best.empty() ? nullptr : best[std::min(before, best.size() - 1)];
}

const KernelClass* ProfileFits::find(const Operation& operation,
                                     const Kernel& kernel,
                                     std::size_t before) const {
  const bool single = operation.kernels.size() == 1;
  if (single) {
    for (const KernelClass& one : classes_) {
      if (one.operation() == operation.name && one.same_work(kernel)) return &one;
    }
  } else if (const KernelClass* same = nearest(kernel, before)) {
    return same;
  }
  // Products of another layout are nearer than none.
  for (const std::string_view name : {generic_name(operation, kernel), to_string(kernel.kind)}) {
    for (const KernelClass& one : classes_) {
      if (one.operation() == name && one.kind() == kernel.kind && one.type() == kernel.type) {
        return &one;
      }
    }
  }
  return nearest(kernel, before);
}

}  // namespace schedlab
