// SPDX-License-Identifier: Apache-2.0
#include "profiler/perturbation.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace schedlab;
using namespace std::chrono_literals;

TEST_CASE("a profiler that adds a tenth is seen to add a tenth") {
  Rng rng{3};
  std::vector<bool> asked;
  const Perturbation result = measure_perturbation(
      [&](bool profiled) {
        asked.push_back(profiled);
        const Duration base = profiled ? 110us : 100us;
        return base + Duration{static_cast<std::int64_t>(rng.below(1'000'000))};  // up to 1 us
      },
      20);
  CHECK(result.slow_down == doctest::Approx(1.1).epsilon(0.01));
  CHECK(result.interval.contains(result.slow_down));
  CHECK(result.visible());
  // 21 plain runs, then 21 with the profiler: the first of each is not counted.
  CHECK(result.plain.count + result.plain.rejected == 20);
  REQUIRE(asked.size() == 42);
  CHECK(asked == [] {
    std::vector<bool> expected(42, false);
    for (std::size_t i = 21; i < 42; ++i) expected[i] = true;
    return expected;
  }());
}

TEST_CASE("a profiler without effect is not seen") {
  Rng rng{5};
  const Perturbation result = measure_perturbation(
      [&](bool /*profiled*/) {
        return Duration{100'000'000 + static_cast<std::int64_t>(rng.below(5'000'000))};
      },
      30);
  CHECK_FALSE(result.visible());
}

TEST_CASE("the first run of either kind does not count") {
  int calls = 0;
  const Perturbation result = measure_perturbation(
      [&](bool profiled) -> Duration {
        const bool first = calls == 0 || calls == 4;
        ++calls;
        if (first) return 1s;
        return profiled ? 30us : 20us;
      },
      3);
  CHECK(result.slow_down == doctest::Approx(1.5));
}

TEST_CASE("two runs are too few, and a run takes time") {
  CHECK_THROWS_AS((void)measure_perturbation([](bool) { return Duration{1}; }, 2),
                  ContractViolation);
  CHECK_THROWS_AS((void)measure_perturbation([](bool) { return Duration{0}; }, 3),
                  ContractViolation);
}
