// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/residual_draws.hpp"

#include "sim/base/rng.hpp"

#include <map>
#include <set>
#include <string_view>

namespace schedlab {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xFF);  // no text contains it
  }
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) step(static_cast<unsigned char>(number >> (8 * i)));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void step(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001B3ULL; }

  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

// Keys of what all operations of a draw share.
constexpr std::uint64_t of_models = 0x6d6f64656cULL;
constexpr std::uint64_t of_drift = 0x6472696674ULL;

std::uint64_t key_of(const Operation& operation) {
  Hash hash;
  hash.add(operation.name);
  hash.add(static_cast<std::uint64_t>(operation.kind));
  for (const Kernel& kernel : operation.kernels) {
    for (const std::int64_t number : {static_cast<std::int64_t>(kernel.kind),
                                      static_cast<std::int64_t>(kernel.type),
                                      kernel.m,
                                      kernel.n,
                                      kernel.k,
                                      static_cast<std::int64_t>(kernel.flops.count()),
                                      kernel.bytes_read.count(),
                                      kernel.bytes_written.count()}) {
      hash.add(static_cast<std::uint64_t>(number));
    }
  }
  return hash.value();
}

std::vector<std::uint64_t> common_models(const OperationCalibration& calibration) {
  std::map<std::uint64_t, std::size_t> operations_with;
  std::size_t known = 0;
  for (const std::vector<std::uint64_t>& models : calibration.models) {
    const std::set<std::uint64_t> different(models.begin(), models.end());
    known += different.empty() ? 0U : 1U;
    for (const std::uint64_t model : different) ++operations_with[model];
  }
  std::vector<std::uint64_t> common;
  for (const auto& [model, count] : operations_with) {
    if (2 * count >= known) common.push_back(model);
  }
  return common;
}

/// The place of one of the residuals that were measured in `model`, all if there is none.
std::size_t residual_in(const OperationCalibration& calibration,
                        OperationId operation,
                        std::uint64_t model,
                        Rng& rng) {
  const std::size_t all = calibration.residuals[operation].size();
  if (!calibration.models.contains(operation)) return rng.below(all);
  std::vector<std::size_t> there;
  const std::vector<std::uint64_t>& models = calibration.models[operation];
  for (std::size_t i = 0; i < models.size() && i < all; ++i) {
    if (models[i] == model) there.push_back(i);
  }
  return there.empty() ? rng.below(all) : there[rng.below(there.size())];
}

bool uses_several_units(const Problem& problem, OperationId operation) {
  return problem.costs.entry(operation).units > 1;
}

}  // namespace

std::uint64_t draw_seed(std::uint64_t seed, std::uint64_t draw, std::uint64_t key) {
  Hash hash;
  hash.add(seed);
  hash.add(draw);
  hash.add(key);
  return hash.value();
}

ResidualDraws::ResidualDraws(const Problem& problem, const OperationCalibration& calibration)
    : graph_(problem.graph), calibration_(calibration), models_(common_models(calibration)) {
  for (const OperationId id : graph_.operations().ids()) {
    keys_.push_back(key_of(graph_.operations()[id]));
    all_units_.push_back(uses_several_units(problem, id) ? 1 : 0);
  }
}

IdVector<OperationId, double> ResidualDraws::factors(std::uint64_t seed, std::uint64_t draw) const {
  IdVector<OperationId, double> factors(keys_.size(), 1.0);
  std::uint64_t model = 0;
  if (!models_.empty()) {
    model = models_[Rng{draw_seed(seed, draw, of_models)}.below(models_.size())];
  }
  const DriftReading* reading = nullptr;
  if (!calibration_.drift.empty()) {
    Rng rng{draw_seed(seed, draw, of_drift)};
    reading = &calibration_.drift[rng.below(calibration_.drift.size())];
  }
  for (const OperationId id : factors.ids()) {
    const Operation& operation = graph_.operations()[id];
    if (reading != nullptr && !operation.kernels.empty()) {
      factors[id] = reading->factor(operation.kind, all_units_[id] != 0);
    }
    if (!calibration_.residuals.contains(id) || calibration_.residuals[id].empty()) continue;
    Rng rng{draw_seed(seed, draw, keys_[id])};
    factors[id] *= calibration_.residuals[id][residual_in(calibration_, id, model, rng)];
  }
  return factors;
}

IdVector<OperationId, double> drift_factors(const Problem& problem, const DriftReading& reading) {
  IdVector<OperationId, double> factors;
  for (const OperationId id : problem.graph.operations().ids()) {
    const Operation& operation = problem.graph.operations()[id];
    factors.push_back(operation.kernels.empty()
                          ? 1.0
                          : reading.factor(operation.kind, uses_several_units(problem, id)));
  }
  return factors;
}

}  // namespace schedlab
