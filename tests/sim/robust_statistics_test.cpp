// SPDX-License-Identifier: Apache-2.0
#include "sim/base/robust_statistics.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace schedlab;

TEST_CASE("the median is the middle value, or halfway between the two in the middle") {
  CHECK(median({5.0}) == 5.0);
  CHECK(median({9.0, 1.0, 4.0}) == 4.0);
  CHECK(median({8.0, 1.0, 2.0, 4.0}) == 3.0);
  CHECK_THROWS_AS((void)median({}), ContractViolation);
}

TEST_CASE("the median absolute deviation does not feel how far an outlier is away") {
  // median 3, distances 2 1 0 1 x: their median is 1 for every x above 1
  CHECK(median_absolute_deviation({1, 2, 3, 4, 5}) == 1.0);
  CHECK(median_absolute_deviation({1, 2, 3, 4, 1e9}) == 1.0);
}

TEST_CASE("outliers are what lies more than 3.5 robust standard deviations from the median") {
  // median 12, distances 2 1 0 1 0 88 -> MAD 1; limit 3.5 * 1.4826 = 5.19
  const std::vector<double> kept = without_outliers({10, 11, 12, 13, 12, 100, 17.1, 17.3});
  // with 17.1 and 17.3: median 12.5, distances 2.5 1.5 0.5 0.5 0.5 87.5 4.6 4.8 -> MAD 2,
  // limit 10.4
  CHECK(kept == std::vector<double>{10, 11, 12, 13, 12, 17.1, 17.3});
  CHECK(without_outliers({10, 11, 12, 13, 12, 17.3}) == std::vector<double>{10, 11, 12, 13, 12});
}

TEST_CASE("where most values are equal nothing is called an outlier") {
  const std::vector<double> values{7, 7, 7, 7, 9};
  CHECK(without_outliers(values) == values);
  CHECK(without_outliers({}).empty());
}

TEST_CASE("quartiles are interpolated between order statistics") {
  // 1 2 3 4: places 0.75, 1.5 and 2.25 of 0..3
  CHECK(quartiles({4, 2, 1, 3}) == Quartiles{1.75, 2.5, 3.25});
  CHECK(quartiles({4, 2, 1, 3}).relative_spread() == 0.6);
  CHECK(quartiles({6}) == Quartiles{6, 6, 6});
}

TEST_CASE("the bootstrap interval of equal values is a point, and of two values spans them") {
  Rng rng{1};
  CHECK(bootstrap_median_95({3, 3, 3}, rng) == Interval{3, 3});
  // Two values a < b: the median of a draw is a, their mean or b, with chances 1/4, 1/2, 1/4.
  CHECK(bootstrap_median_95({1, 5}, rng) == Interval{1, 5});
}

TEST_CASE("the bootstrap interval covers the true median about 19 times in 20") {
  // 25 uniform values each time, true median 1/2. The percentile bootstrap of a median is known to
  // cover a little more or less; 400 trials have a standard error of 1.1 %.
  Rng rng{7};
  int covered = 0;
  constexpr int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> values(25);
    for (double& value : values) value = rng.uniform();
    if (bootstrap_median_95(values, rng, 400).contains(0.5)) ++covered;
  }
  CHECK(covered > 0.90 * trials);
  CHECK(covered < 0.99 * trials);
}

TEST_CASE("the same seed gives the same interval") {
  const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6};
  Rng one{5};
  Rng two{5};
  CHECK(bootstrap_median_95(values, one) == bootstrap_median_95(values, two));
}

TEST_CASE("intervals that touch overlap") {
  CHECK(Interval{1, 2}.overlaps({2, 3}));
  CHECK_FALSE(Interval{1, 2}.overlaps({2.5, 3}));
}

TEST_CASE("a robust summary counts what it threw away") {
  const RobustSummary summary = robust_summary({10, 11, 12, 13, 12, 500});
  CHECK(summary.count == 5);
  CHECK(summary.rejected == 1);
  CHECK(summary.median == 12.0);
  CHECK(summary.spread == doctest::Approx(1.0 / 12));  // quartiles 11 and 12
  CHECK(robust_summary({}) == RobustSummary{});
}
