// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/residual_draws.hpp"

#include "sim/base/rng.hpp"
#include "sim/base/statistics.hpp"
#include "tests/hw_models/synthetic_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace schedlab {
namespace {

using testing::normal;

constexpr std::size_t operations = 8;
constexpr std::size_t models = 40;

TaskGraph eight_operations() {
  TaskGraphBuilder builder;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(operations); ++i) {
    builder.add_task(
        builder.add_operation({.name = "gemm",
                               .kind = TaskKind::gemm,
                               .kernels = {gemm_kernel(16 + i, 16, 16, DataType::fp32, false)},
                               .fixed_duration = std::chrono::microseconds{1}}));
  }
  return std::move(builder).build();
}

/// Log-normal errors: a part that all operations of a model share, and each operation's own.
struct Errors {
  double shared = 0;
  double own = 0;

  [[nodiscard]] std::vector<double> draw(Rng& rng) const {
    const double common = shared * normal(rng);
    std::vector<double> factors;
    for (std::size_t i = 0; i < operations; ++i) {
      factors.push_back(std::exp(common + own * normal(rng)));
    }
    return factors;
  }
  [[nodiscard]] OperationCalibration calibration(Rng& rng) const {
    OperationCalibration known;
    known.residuals.resize(operations);
    known.models.resize(operations);
    for (std::uint64_t model = 0; model < models; ++model) {
      const std::vector<double> factors = draw(rng);
      for (std::uint32_t i = 0; i < operations; ++i) {
        known.residuals[OperationId{i}].push_back(factors[i]);
        known.models[OperationId{i}].push_back(model);
      }
    }
    return known;
  }
};

/// How often the 90 % interval of the sum of all operations holds it, over made-up calibrations.
double coverage(const Errors& errors, bool together) {
  const TaskGraph graph = eight_operations();
  const Platform platform;
  const CostTable costs{graph, platform};
  constexpr int worlds = 300;
  Rng rng{5};
  double covered = 0;
  for (int world = 0; world < worlds; ++world) {
    OperationCalibration known = errors.calibration(rng);
    if (!together) known.models = {};
    const ResidualDraws draws{{graph, platform, costs}, known};
    std::vector<double> sums;
    for (std::uint64_t draw = 0; draw < 100; ++draw) {
      double sum = 0;
      for (const double factor : draws.factors(1, draw)) sum += factor;
      sums.push_back(sum);
    }
    std::sort(sums.begin(), sums.end());
    double truth = 0;
    for (const double factor : errors.draw(rng)) truth += factor;
    covered += percentile(sums, 0.05) <= truth && truth <= percentile(sums, 0.95) ? 1 : 0;
  }
  return covered / worlds;
}

}  // namespace

TEST_CASE("residuals of one model are drawn together: intervals cover errors that are shared") {
  // 300 worlds: a share of 0.9 scatters by sqrt(0.9 * 0.1 / 300) = 0.017.
  const Errors mostly_shared{.shared = 0.08, .own = 0.03};
  CHECK(coverage(mostly_shared, true) > 0.84);
  CHECK(coverage(mostly_shared, true) < 0.96);
  // By itself each: the sum of 8 scatters by 0.085 / sqrt(8) = 0.03 where it should by 0.081, and
  // 1.645 * 0.03 of a deviation of 0.081 holds 46 %.
  CHECK(coverage(mostly_shared, false) < 0.6);
}

TEST_CASE("errors that are not shared are covered as well, drawn together or not") {
  const Errors own{.shared = 0, .own = 0.08};
  CHECK(coverage(own, true) > 0.84);
  CHECK(coverage(own, true) < 0.96);
  CHECK(coverage(own, false) > 0.84);
}

TEST_CASE("a draw takes one reading of the machine's speed for all operations") {
  const TaskGraph graph = eight_operations();
  const Platform platform;
  const CostTable costs{graph, platform};
  OperationCalibration known;
  for (const double factor : {1.0, 1.25}) {
    known.drift.push_back({{{.kind = TaskKind::gemm, .one_unit = factor, .all_units = factor}}});
  }
  const ResidualDraws draws{{graph, platform, costs}, known};
  int slow = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const IdVector<OperationId, double> factors = draws.factors(1, draw);
    slow += factors[OperationId{0}] == 1.25 ? 1 : 0;
    for (const double factor : factors) CHECK(factor == factors[OperationId{0}]);
  }
  CHECK(slow > 70);  // 100 expected, deviation 7
  CHECK(slow < 130);
}

TEST_CASE("an operation without a residual in the model that was drawn takes any of its own") {
  const TaskGraph graph = eight_operations();
  const Platform platform;
  const CostTable costs{graph, platform};
  OperationCalibration known;
  known.residuals.resize(operations, {1.0});
  known.models.resize(operations, {7});
  known.residuals[OperationId{0}] = {0.5, 2.0};
  known.models[OperationId{0}] = {1, 2};
  const ResidualDraws draws{{graph, platform, costs}, known};
  double sum = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) sum += draws.factors(1, draw)[OperationId{0}];
  CHECK(sum / 200 == doctest::Approx(1.25).epsilon(0.15));  // mean of both, deviation 0.053
}

}  // namespace schedlab
