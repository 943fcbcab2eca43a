// SPDX-License-Identifier: Apache-2.0
#include "studies/validation/ranking.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace schedlab {
namespace {

TEST_CASE("Errors: percentiles of absolute values, bias with its sign") {
  const ErrorSummary errors = summarize_errors({-0.1, 0.02, -0.04, 0.0, -0.06});
  CHECK(errors.count == 5);
  CHECK(errors.median == doctest::Approx(0.04));
  CHECK(errors.bias == doctest::Approx(-0.04));
  CHECK(errors.max == doctest::Approx(0.1));
  // Sorted absolute values 0, 0.02, 0.04, 0.06, 0.1: at 0.9 * 4 = 3.6.
  CHECK(errors.p90 == doctest::Approx(0.06 + 0.6 * 0.04));
  CHECK(summarize_errors({}).count == 0);
}

TEST_CASE("Kendall's tau counts pairs in the same order, ties apart") {
  CHECK(kendall_tau({1, 2, 3, 4}, {10, 20, 30, 40}).value() == doctest::Approx(1));
  CHECK(kendall_tau({1, 2, 3, 4}, {4, 3, 2, 1}).value() == doctest::Approx(-1));
  // One of six pairs is reversed: (5 - 1) / 6.
  CHECK(kendall_tau({1, 2, 3, 4}, {1, 2, 4, 3}).value() == doctest::Approx(4.0 / 6));
  // A tie in one order: 2 of 2 untied pairs agree, 3 in the other: 2 / sqrt(2 * 3).
  CHECK(kendall_tau({1, 1, 2}, {1, 2, 3}).value() == doctest::Approx(2 / std::sqrt(6.0)));
  CHECK(!kendall_tau({1, 1}, {1, 2}).has_value());
  CHECK(!kendall_tau({1}, {1}).has_value());
}

TEST_CASE("Regret: what the predicted best costs over the measured best") {
  CHECK(regret_of({3, 1, 2}, {10, 12, 11}) == doctest::Approx(0.2));
  CHECK(regret_of({1, 3, 2}, {10, 12, 11}) == doctest::Approx(0.0));
  CHECK(regret_of({1, 1}, {11, 10}) == doctest::Approx(0.1));  // the first of equals
}

TEST_CASE("Probabilities: sure and right 0, a coin a quarter, and either order of a pair counts") {
  CHECK(score_probabilities({{1.0, true}, {0.0, false}}).brier == 0);
  CHECK(score_probabilities({{0.5, true}, {0.5, false}}).brier == doctest::Approx(0.25));
  CHECK(score_probabilities({{0.0, true}}).brier == 1);
  // 0.2 that the first is faster is 0.8 that the second is.
  const ProbabilityScore score = score_probabilities({{0.2, false}, {0.85, true}, {0.82, false}});
  REQUIRE(score.bins.size() == 5);
  CHECK(score.bins[3].count == 3);
  CHECK(score.bins[3].predicted == doctest::Approx((0.8 + 0.85 + 0.82) / 3));
  CHECK(score.bins[3].observed == doctest::Approx(2.0 / 3));
  CHECK(score.bins[4].count == 0);
}

}  // namespace
}  // namespace schedlab
