// SPDX-License-Identifier: Apache-2.0
#include "profiler/clock_alignment.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace schedlab;
using namespace std::chrono_literals;

namespace {

ActivityTime other(std::int64_t nanoseconds) {
  return ActivityTime{std::chrono::nanoseconds{nanoseconds}};
}

/// Two steady clocks: the other one is far ahead and `drift` slower than the host's.
struct Clocks {
  double drift = 0;
  std::int64_t origin = 1'700'000'000'000'000'000;  // ns; about the year 2023 in a clock from 1970

  [[nodiscard]] ActivityTime other_at(Time host) const {
    const double ns = static_cast<double>(host.time_since_epoch().count()) * 1e-3;
    return other(origin + std::llround(ns / (1.0 + drift)));
  }
  /// A reading that took from `before` to `before + width`, with the clock read at `share` of it.
  [[nodiscard]] ClockSample sample(Time before, Duration width, double share) const {
    const Duration to_reading{std::llround(static_cast<double>(width.count()) * share)};
    return {.before = before, .reading = other_at(before + to_reading), .after = before + width};
  }
};

}  // namespace

TEST_CASE("one sample gives the offset, and half its width as the error") {
  const ClockSample only{.before = Time{10us}, .reading = other(5'000'000), .after = Time{12us}};
  const ClockMapping mapping = align_clocks(std::vector{only});
  CHECK(mapping.to_host(other(5'000'000)) == Time{11us});
  CHECK(mapping.to_host(other(5'003'000)) == Time{14us});
  CHECK(mapping.drift == 0.0);
  CHECK(mapping.error == 1us);
}

TEST_CASE("samples that are read exactly recover offset and drift") {
  const Clocks clocks{.drift = 20e-6};  // 20 us gained in a second
  const std::vector samples{clocks.sample(Time{0s}, 0s, 0), clocks.sample(Time{1s}, 0s, 0)};
  const ClockMapping mapping = align_clocks(samples);
  CHECK(mapping.drift == doctest::Approx(20e-6).epsilon(1e-6));
  const Time middle{500ms};
  // The other clock counts whole nanoseconds.
  CHECK(std::chrono::abs(mapping.to_host(clocks.other_at(middle)) - middle) <= 2ns);
}

TEST_CASE("no time between the samples is further off than the stated error") {
  Rng rng{7};
  for (const double drift : {-50e-6, 0.0, 3e-6, 80e-6}) {
    CAPTURE(drift);
    const Clocks clocks{.drift = drift};
    std::vector<ClockSample> samples;
    for (int i = 0; i < 20; ++i) {
      const Duration width{static_cast<std::int64_t>(rng.below(3'000'000))};  // up to 3 us
      samples.push_back(clocks.sample(Time{i * 10ms}, width, rng.uniform()));
    }
    const ClockMapping mapping = align_clocks(samples);
    CHECK(mapping.error < 5us);
    for (int i = 0; i <= 190; ++i) {
      const Time truth{i * 1ms};
      const Duration off = std::chrono::abs(mapping.to_host(clocks.other_at(truth)) - truth);
      CHECK(off <= mapping.error + 1ns);
    }
  }
}

TEST_CASE("samples close together are not taken for drift") {
  // 100 us apart, read 1 us late once: 1 us in 100 us would be a drift of 1 %.
  const Clocks clocks{};
  const std::vector samples{clocks.sample(Time{0us}, 2us, 0.0),
                            clocks.sample(Time{100us}, 2us, 1.0)};
  CHECK(align_clocks(samples).drift == 0.0);
}

TEST_CASE("narrow samples count for more than wide ones") {
  const Clocks clocks{};
  std::vector samples{clocks.sample(Time{0ms}, 100ns, 0.5), clocks.sample(Time{10ms}, 100ns, 0.5)};
  samples.push_back(clocks.sample(Time{20ms}, 1ms, 0.0));  // its middle is 500 us off
  const ClockMapping mapping = align_clocks(samples);
  const Time truth{5ms};
  CHECK(std::chrono::abs(mapping.to_host(clocks.other_at(truth)) - truth) < 100ns);
}

TEST_CASE("of several readings the narrowest is taken") {
  const std::vector<Duration> steps{5us, 5us, 1us, 1us, 7us, 7us};  // widths 5, 1 and 7 us
  std::size_t reads = 0;
  Time now{0s};
  const auto host = [&] {
    if (reads % 2 == 1) now += steps[reads];
    ++reads;
    return now;
  };
  std::int64_t reading = 0;
  const ClockSample best = sample_clocks(
      host, [&] { return other(++reading); }, 3);
  CHECK(best.after - best.before == 1us);
  CHECK(best.reading == other(2));
}

TEST_CASE("alignment without samples, or with a clock that runs backwards, is refused") {
  CHECK_THROWS_AS((void)align_clocks(std::vector<ClockSample>{}), ContractViolation);
  const ClockSample backwards{.before = Time{2us}, .reading = other(0), .after = Time{1us}};
  CHECK_THROWS_AS((void)align_clocks(std::vector{backwards}), ContractViolation);
}
