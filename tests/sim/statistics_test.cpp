// SPDX-License-Identifier: Apache-2.0
#include "sim/base/statistics.hpp"

#include "sim/base/rng.hpp"
#include "sim/trace/sampled_metrics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

using namespace schedlab;

TEST_CASE("the 95 % points of Student's t are those of the tables") {
  // Abramowitz and Stegun, Handbook of Mathematical Functions, table 26.10; 1000 and more: the
  // series and the sum must meet.
  CHECK(student_t_95(1) == doctest::Approx(12.706).epsilon(1e-4));
  CHECK(student_t_95(2) == doctest::Approx(4.303).epsilon(1e-4));
  CHECK(student_t_95(5) == doctest::Approx(2.571).epsilon(2e-4));
  CHECK(student_t_95(10) == doctest::Approx(2.228).epsilon(1e-4));
  CHECK(student_t_95(30) == doctest::Approx(2.042).epsilon(2e-4));
  CHECK(student_t_95(120) == doctest::Approx(1.980).epsilon(2e-4));
  CHECK(std::abs(student_t_95(1001) - student_t_95(1000)) < 3e-6);
  CHECK(student_t_95(100'000'000) == doctest::Approx(1.959964).epsilon(1e-6));
  for (std::uint64_t n = 1; n < 1100; ++n) CHECK(student_t_95(n) > student_t_95(n + 1));
}

TEST_CASE("percentiles lie between the order statistics") {
  const SampleSummary five = summarize_samples({5, 1, 4, 2, 3});
  CHECK(five.count == 5);
  CHECK(five.mean == 3);
  CHECK(five.median == 3);
  CHECK(five.p5 == doctest::Approx(1.2));  // a twentieth of the way from 1 to 5: place 0.2
  CHECK(five.p95 == doctest::Approx(4.8));
  // Deviation sqrt(2.5), t with 4 degrees 2.776.
  CHECK(five.mean_high - 3 == doctest::Approx(2.776 * std::sqrt(2.5 / 5)).epsilon(1e-3));
  CHECK(five.mean_high - 3 == doctest::Approx(3 - five.mean_low));
  CHECK(summarize_samples({7, 9}).median == 8);
  const SampleSummary one = summarize_samples({0.1});
  CHECK(one.mean_low == 0.1);
  CHECK(one.mean_high == 0.1);
  CHECK(one.p5 == 0.1);
  const SampleSummary equal = summarize_samples(std::vector<double>(1000, 0.1));
  CHECK(equal.mean == 0.1);
  CHECK(equal.mean_low == 0.1);
  CHECK(summarize_samples({}) == SampleSummary{});
}

TEST_CASE("the interval of the mean holds the mean in 95 of 100 cases") {
  constexpr int experiments = 4000;
  Rng rng{5};
  int inside = 0;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 6; ++k) {
      const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
      values.push_back(3 + radius * std::cos(2 * std::numbers::pi * rng.uniform()));
    }
    const SampleSummary summary = summarize_samples(values);
    if (summary.mean_low < 3 && 3 < summary.mean_high) ++inside;
  }
  const double deviation = std::sqrt(0.95 * 0.05 / experiments);
  CHECK(std::abs(static_cast<double>(inside) / experiments - 0.95) < 4 * deviation);
}

TEST_CASE("Wilson's interval of a proportion") {
  const Proportion eight = proportion(8, 10);  // 0.4902 to 0.9433: Newcombe 1998, Statistics in
  CHECK(eight.value == 0.8);                   // Medicine 17, for 8 of 10
  CHECK(eight.low == doctest::Approx(0.4902).epsilon(1e-3));
  CHECK(eight.high == doctest::Approx(0.9433).epsilon(1e-3));
  CHECK(proportion(0, 20).low == 0);
  CHECK(proportion(20, 20).high == 1);
  CHECK(proportion(0, 20).high == doctest::Approx(0.1611).epsilon(1e-3));  // z^2 / (n + z^2)
  CHECK(proportion(0, 0).high == 1);
}

TEST_CASE("pairs are compared sample by sample, a tie counts half") {
  using std::chrono::microseconds;
  const std::vector<Duration> a{microseconds{1}, microseconds{2}, microseconds{4}, microseconds{5}};
  const std::vector<Duration> b{
      microseconds{2}, microseconds{2}, microseconds{3}, microseconds{10}};
  const PairComparison pair = compare_samples(a, b);
  CHECK(pair.samples == 4);
  CHECK(pair.ties == 1);
  CHECK(pair.faster.value == 2.5 / 4);
  CHECK(pair.ratio.mean == (2.0 + 1.0 + 0.75 + 2.0) / 4);
  CHECK(compare_samples(b, a).faster.value == 1.5 / 4);
  CHECK(compare_samples(a, a).faster.value == 0.5);
}
