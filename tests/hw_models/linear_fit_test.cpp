// SPDX-License-Identifier: Apache-2.0
#include "hw_models/linear_fit.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace schedlab {

TEST_CASE("costs that made the measurements are found again") {
  Rng rng{3};
  std::vector<FitRow> rows;
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> features{
        rng.uniform() * 100, rng.uniform() * 10, 1.0 + rng.uniform()};
    rows.push_back({features, 2.0 * features[0] + 0.5 * features[1] + 7.0 * features[2]});
  }
  const LinearFit fit = fit_costs(rows);
  CHECK(fit.coefficients[0] == doctest::Approx(2.0));
  CHECK(fit.coefficients[1] == doctest::Approx(0.5));
  CHECK(fit.coefficients[2] == doctest::Approx(7.0));
  for (const double residual : fit.residuals) CHECK(std::abs(residual) < 1e-12);
  CHECK(fit.predict({1, 2, 3}) == doctest::Approx(24.0));
}

TEST_CASE("a cost is never negative, and the rest is then as good as it can be") {
  // Exactly y = 3 a - b; without b the relative errors of c a are (c a / y - 1): rows (1, 1, 2) and
  // (2, 1, 5) give c = (1/2 + 2/5) / (1/4 + 4/25) = 90 / 41.
  const LinearFit fit = fit_costs({{{1, 1}, 2}, {{2, 1}, 5}});
  CHECK(fit.coefficients[1] == 0.0);
  CHECK(fit.coefficients[0] == doctest::Approx(90.0 / 41.0));
  // No smaller error on a fine grid of non-negative costs.
  const auto error = [](double a, double b) {
    return std::pow((a + b) / 2 - 1, 2) + std::pow((2 * a + b) / 5 - 1, 2);
  };
  const double best = error(fit.coefficients[0], fit.coefficients[1]);
  for (double a = 0; a < 5; a += 0.05) {
    for (double b = 0; b < 5; b += 0.05) CHECK(error(a, b) >= best - 1e-12);
  }
}

TEST_CASE("errors count relative to what was measured") {
  // One cost, two rows that cannot both be met: 1 x -> 1 and 1000 x -> 2000. Relative least squares
  // gives (1 + 1/2) / (1 + 1/4) = 1.2, absolute ones would give nearly 2.
  CHECK(fit_costs({{{1}, 1}, {{1000}, 2000}}).coefficients[0] == doctest::Approx(1.2));
}

TEST_CASE("what cannot be fitted is refused") {
  CHECK_THROWS_AS(static_cast<void>(fit_costs({})), ContractViolation);
  CHECK_THROWS_AS(static_cast<void>(fit_costs({{{1, 2}, 3}})), ContractViolation);  // too few rows
  CHECK_THROWS_AS(static_cast<void>(fit_costs({{{1}, 0}})), ContractViolation);
  CHECK_THROWS_AS(static_cast<void>(fit_costs({{{1, 2}, 3}, {{2, 4}, 6}})), InfeasibleError);
}

}  // namespace schedlab
