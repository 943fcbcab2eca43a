// SPDX-License-Identifier: Apache-2.0
#include "hw_models/kernel_fit.hpp"

#include "hw_models/kernel_cost.hpp"
#include "hw_models/linear_fit.hpp"
#include "sim/base/ceil_div.hpp"
#include "sim/base/error.hpp"

#include <Eigen/Cholesky>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t feature_count = 5;
using Features = std::array<double, feature_count>;
// In the order in which features are dropped last: the work itself before what refines it.
enum Feature : std::size_t { flops, bytes, fixed, written, shared };

// The grid of the correction; which of them it is, left-out samples say. // assumed
constexpr std::array<double, 5> lengths{0.35, 0.7, 1.4, 2.8, 5.6};  // octaves
constexpr std::array<double, 5> noises{0.01, 0.1, 0.5, 2, 1e6};     // the last: no correction
constexpr double shortest_seconds = 1e-12;                          // the unit of time

constexpr double min_work = 0.3;  // of a sample's time that memory may not explain // assumed
constexpr double octaves_of_missing = 2;  // between all operands in the cache and none // assumed
constexpr double octaves_of_beyond = 1;   // likewise of the units' own caches // assumed

bool knows_unit_cache(const KernelSample& sample) {
  return sample.kernel.bytes_unit_cached > Bytes{0};
}
/// Of other kernels than products only together with the units' own caches: what they read the
/// kernel before them has mostly just written.
bool knows_cache(const KernelSample& sample) {
  return knows_unit_cache(sample) ||
         (sample.kernel.bytes_cached > Bytes{0} && runs_on_matrix_units(sample.kernel.kind));
}

/// Share of a kernel on the unit that has most of its blocks.
double fullest_share(const Kernel& kernel, std::uint32_t units) {
  const std::int64_t blocks = std::max(1U, kernel.grid.blocks);
  const std::int64_t waves = ceil_div(blocks, std::int64_t{std::max(1U, units)});
  return static_cast<double>(waves) / static_cast<double>(blocks);
}

Features features_of(const Kernel& kernel, std::uint32_t units) {
  const double fullest = fullest_share(kernel, units);
  const auto read = static_cast<double>(kernel.bytes_read.count());
  const auto write = static_cast<double>(kernel.bytes_written.count());
  Features result{};
  result[flops] = kernel.flops.count() * fullest;
  result[bytes] = (read + write) * fullest;
  result[fixed] = 1.0;
  result[written] = write * fullest;
  result[shared] = kernel.grid.blocks > 1 && units > 1 ? 1.0 : 0.0;
  return result;
}

using Column = std::vector<double>;

/// True if `column` is no combination of the others, which are orthonormal; then it joins them.
bool adds_a_direction(Column column, std::vector<Column>& basis) {
  const auto dot = [](const Column& a, const Column& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  const double length = std::sqrt(dot(column, column));
  if (!(length > 0.0)) return false;
  for (double& value : column) value /= length;
  for (int pass = 0; pass < 2; ++pass) {  // twice is enough (Kahan)
    for (const Column& other : basis) {
      const double along = dot(column, other);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * other[i];
    }
  }
  const double rest = std::sqrt(dot(column, column));
  if (rest < 1e-4) return false;  // one part in ten thousand is less than any clock tells apart
  for (double& value : column) value /= rest;
  basis.push_back(std::move(column));
  return true;
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double covariance(const std::vector<double>& a, const std::vector<double>& b, double length) {
  return std::exp(-squared_distance(a, b) / (2 * length * length));
}

/// Without noise, which is added to the diagonal.
Eigen::MatrixXd covariances(const std::vector<std::vector<double>>& places, double length) {
  const auto count = static_cast<Eigen::Index>(places.size());
  Eigen::MatrixXd matrix(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      matrix(i, j) = covariance(
          places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(j)], length);
      matrix(j, i) = matrix(i, j);
    }
  }
  return matrix;
}

Eigen::VectorXd to_vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// Of two times that overlap: their sum at 1, more and more the longer of the two above.
double together(double a, double b, double overlap) {
  return std::pow(std::pow(a, overlap) + std::pow(b, overlap), 1 / overlap);
}

double octaves(double value) {
  return std::log2(std::max(value, 1.0));
}

/// What tells the shapes of a class apart, without the cut.
std::vector<double> uncut_place(const Kernel& kernel) {
  std::vector<double> place = shape_place(kernel);
  place.pop_back();
  return place;
}

}  // namespace

std::vector<double> shape_place(const Kernel& kernel) {
  const double blocks = octaves(std::max(1U, kernel.grid.blocks));
  if (runs_on_matrix_units(kernel.kind)) {
    return {octaves(static_cast<double>(kernel.m)),
            octaves(static_cast<double>(kernel.n)),
            octaves(static_cast<double>(kernel.k)),
            blocks};
  }
  return {octaves(static_cast<double>((kernel.bytes_read + kernel.bytes_written).count())), blocks};
}

KernelFit::KernelFit(const std::vector<KernelSample>& samples, const MemoryTime& memory)
    : memory_(memory) {
  set_contexts(samples);
  fit_costs_of(samples);
  choose_smoothness(samples);
  fit_correction(samples);
}

KernelFit::KernelFit(const std::vector<KernelSample>& samples,
                     const MemoryTime& memory,
                     const Smoothness& smoothness)
    : smoothness_(smoothness), memory_(memory) {
  set_contexts(samples);
  fit_costs_of(samples);
  fit_correction(samples);
}

KernelFit::KernelFit(const std::vector<KernelSample>& samples,
                     const MemoryTime& memory,
                     CostsAlone /*no correction*/)
    : memory_(memory) {
  set_contexts(samples);
  fit_costs_of(samples);
}

KernelFit::Shares KernelFit::shares_of(const Kernel& kernel) const {
  if (kernel.working_set == Bytes{0}) return usual_shares_;
  const auto read = static_cast<double>(std::max<std::int64_t>(1, kernel.bytes_read.count()));
  const auto left = [&](Bytes there) { return 1 - static_cast<double>(there.count()) / read; };
  Shares shares;
  if (by_cache_) shares.missing = left(kernel.bytes_cached);
  shares.beyond = by_unit_cache_ ? left(kernel.bytes_unit_cached) : shares.missing;
  return shares;
}

double KernelFit::memory_seconds(const Kernel& kernel, std::uint32_t units) const {
  const Shares shares = shares_of(kernel);
  const double seconds_per_byte =
      shares.beyond * memory_.seconds_per_cached_byte + shares.missing * memory_.seconds_per_byte;
  return static_cast<double>(kernel.bytes_read.count()) * fullest_share(kernel, units) *
         seconds_per_byte;
}

std::vector<double> KernelFit::contexts_of(const Kernel& kernel) const {
  const Shares shares = shares_of(kernel);
  std::vector<double> contexts;
  if (by_cache_) contexts.push_back(octaves_of_missing * shares.missing);
  if (!by_cache_ || !runs_on_matrix_units(kernel.kind)) {
    contexts.push_back(octaves(static_cast<double>(kernel.working_set.count())));
  }
  if (by_unit_cache_) contexts.push_back(octaves_of_beyond * shares.beyond);
  return contexts;
}

void KernelFit::set_contexts(const std::vector<KernelSample>& samples) {
  by_cache_ = std::any_of(samples.begin(), samples.end(), knows_cache);
  by_unit_cache_ = std::any_of(samples.begin(), samples.end(), knows_unit_cache);
  double known = 0;
  for (const KernelSample& sample : samples) {
    if (sample.kernel.working_set == Bytes{0}) continue;
    ++known;
    const Shares shares = shares_of(sample.kernel);
    usual_shares_.missing += (shares.missing - usual_shares_.missing) / known;
    usual_shares_.beyond += (shares.beyond - usual_shares_.beyond) / known;
    const std::vector<double> contexts = contexts_of(sample.kernel);
    if (usual_contexts_.empty()) {
      usual_contexts_ = smallest_contexts_ = largest_contexts_ = contexts;
    }
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      smallest_contexts_[i] = std::min(smallest_contexts_[i], contexts[i]);
      largest_contexts_[i] = std::max(largest_contexts_[i], contexts[i]);
      usual_contexts_[i] += (contexts[i] - usual_contexts_[i]) / known;
    }
  }
}

std::vector<double> KernelFit::place_of(const Kernel& kernel) const {
  std::vector<double> place = shape_place(kernel);
  // Beside their sum: a byte that is written costs more, or less, than one that is read.
  if (!runs_on_matrix_units(kernel.kind)) {
    place.push_back(octaves(static_cast<double>(kernel.bytes_read.count())) -
                    octaves(static_cast<double>(kernel.bytes_written.count())));
  }
  if (kernel.working_set == Bytes{0}) {
    place.insert(place.end(), usual_contexts_.begin(), usual_contexts_.end());
    return place;
  }
  const std::vector<double> contexts = contexts_of(kernel);
  for (std::size_t i = 0; i < usual_contexts_.size(); ++i) {
    place.push_back(std::clamp(contexts[i], smallest_contexts_[i], largest_contexts_[i]));
  }
  return place;
}

/// What a kernel of `seconds` would take without its `memory` time.
double KernelFit::work_of(double seconds, double memory) const {
  const double most =
      seconds * std::pow(1 - std::pow(min_work, memory_.overlap), 1 / memory_.overlap);
  const double p = memory_.overlap;
  const double inside = std::pow(seconds, p) - std::pow(std::min(memory, most), p);
  return std::max(std::pow(std::max(inside, 0.0), 1 / p), shortest_seconds);
}

void KernelFit::fit_costs_of(const std::vector<KernelSample>& samples) {
  SCHEDLAB_EXPECTS(!samples.empty(), "fit of no samples");
  std::vector<Features> all;
  std::vector<double> measured;
  for (const KernelSample& sample : samples) {
    SCHEDLAB_EXPECTS(sample.kernel.kind == samples.front().kernel.kind, "one class of kernels");
    all.push_back(features_of(sample.kernel, sample.units));
    const double seconds = std::max(to_seconds(sample.duration), shortest_seconds);
    measured.push_back(work_of(seconds, memory_seconds(sample.kernel, sample.units)));
  }
  // Features are scaled to the size of what is measured: pivots are then comparable.
  std::vector<std::size_t> used;
  std::vector<double> scales;
  std::vector<Column> basis;
  for (std::size_t f = 0; f < feature_count && used.size() < samples.size(); ++f) {
    Column column;
    double sum = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
      column.push_back(all[r][f] / measured[r]);
      sum += column.back();
    }
    if (!adds_a_direction(column, basis)) continue;
    used.push_back(f);
    scales.push_back(static_cast<double>(all.size()) / sum);
  }
  std::vector<FitRow> rows;
  for (std::size_t r = 0; r < all.size(); ++r) {
    FitRow row{.features = {}, .measured = measured[r]};
    for (std::size_t i = 0; i < used.size(); ++i) {
      row.features.push_back(all[r][used[i]] * scales[i]);
    }
    rows.push_back(std::move(row));
  }
  const LinearFit fit = fit_costs(rows);
  costs_.assign(feature_count, 0.0);
  for (std::size_t i = 0; i < used.size(); ++i) costs_[used[i]] = fit.coefficients[i] * scales[i];
}

std::vector<double> KernelFit::log_residuals(const std::vector<KernelSample>& samples) const {
  std::vector<double> result;
  for (const KernelSample& sample : samples) {
    const Parts sum = parts(sample.kernel, sample.units);
    const double costs = std::max(sum.flops + sum.bytes + sum.fixed, shortest_seconds);
    result.push_back(std::log2(std::max(to_seconds(sample.duration), shortest_seconds) / costs));
  }
  return result;
}

/// By the errors at left-out shapes: cuts and repetitions of one shape would predict each other.
/// Closed form: with K the covariances and r the residuals, the samples G miss by
/// (K^-1)_GG^-1 (K^-1 r)_G.
void KernelFit::choose_smoothness(const std::vector<KernelSample>& samples) {
  std::vector<std::vector<double>> places;
  std::map<std::vector<double>, std::vector<Eigen::Index>> shapes;
  for (const KernelSample& sample : samples) {
    shapes[uncut_place(sample.kernel)].push_back(static_cast<Eigen::Index>(places.size()));
    places.push_back(place_of(sample.kernel));
  }
  const Eigen::VectorXd residuals = to_vector(log_residuals(samples));
  double smallest = std::numeric_limits<double>::infinity();
  for (const double length : lengths) {
    const Eigen::MatrixXd without_noise = covariances(places, length);
    for (const double noise : noises) {
      Eigen::MatrixXd matrix = without_noise;
      matrix.diagonal().array() += noise;
      const Eigen::MatrixXd inverse =
          matrix.llt().solve(Eigen::MatrixXd::Identity(residuals.size(), residuals.size()));
      const Eigen::VectorXd weights = inverse * residuals;
      double error = 0;
      for (const auto& [shape, rows] : shapes) {
        const Eigen::MatrixXd part = inverse(rows, rows);
        const Eigen::VectorXd missed = part.llt().solve(Eigen::VectorXd(weights(rows)));
        error += missed.array().abs().sum();
      }
      if (error >= smallest) continue;
      smallest = error;
      smoothness_ = {.length = length, .noise = noise};
    }
  }
}

void KernelFit::fit_correction(const std::vector<KernelSample>& samples) {
  for (const KernelSample& sample : samples) places_.push_back(place_of(sample.kernel));
  Eigen::MatrixXd matrix = covariances(places_, smoothness_.length);
  matrix.diagonal().array() += smoothness_.noise;
  const Eigen::VectorXd weights = matrix.llt().solve(to_vector(log_residuals(samples)));
  weights_.assign(weights.begin(), weights.end());
}

KernelFit::Parts KernelFit::parts(const Kernel& kernel, std::uint32_t units) const {
  const Features features = features_of(kernel, units);
  Parts parts{.flops = costs_[flops] * features[flops],
              .bytes = costs_[bytes] * features[bytes] + costs_[written] * features[written],
              .fixed = costs_[fixed] * features[fixed] + costs_[shared] * features[shared]};
  const double work = parts.flops + parts.bytes + parts.fixed;
  parts.bytes += together(work, memory_seconds(kernel, units), memory_.overlap) - work;
  return parts;
}

double KernelFit::waiting(const Kernel& kernel, std::uint32_t units) const {
  const Parts sum = parts(kernel, units);
  return std::max(0.0, 1 - (sum.flops + sum.bytes) / seconds(kernel, units));
}

double KernelFit::seconds(const Kernel& kernel, std::uint32_t units) const {
  const std::vector<double> place = place_of(kernel);
  double correction = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    correction += weights_[i] * covariance(place, places_[i], smoothness_.length);
  }
  const Parts sum = parts(kernel, units);
  return (sum.flops + sum.bytes + sum.fixed) * std::exp2(correction);
}

std::vector<double> held_out_ratios(const std::vector<KernelSample>& samples,
                                    const KernelFit& all) {
  std::vector<std::vector<double>> shapes;
  shapes.reserve(samples.size());
  for (const KernelSample& sample : samples) shapes.push_back(uncut_place(sample.kernel));
  const std::set<std::vector<double>> different(shapes.begin(), shapes.end());
  if (different.size() < 3) return {};
  std::vector<double> ratios(samples.size(), 1.0);
  for (const std::vector<double>& left_out : different) {
    std::vector<KernelSample> rest;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (shapes[i] != left_out) rest.push_back(samples[i]);
    }
    const KernelFit fit{rest, all.memory_, all.smoothness_};
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (shapes[i] != left_out) continue;
      const double predicted = fit.seconds(samples[i].kernel, samples[i].units);
      ratios[i] = to_seconds(samples[i].duration) / std::max(predicted, shortest_seconds);
    }
  }
  return ratios;
}

}  // namespace schedlab
