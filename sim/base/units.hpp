// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace schedlab {

/// Length of simulated or measured time; integer picoseconds, so that sums are exact and runs are
/// byte-identical on every machine. Range: about 106 days.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

/// The clock of a run. It has no `now()` on purpose: only a Simulator (or an executor) knows the
/// time.
struct SimClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<SimClock, Duration>;
  static constexpr bool is_steady = true;
};

/// A point in time of one run, counted from the start of that run.
using Time = SimClock::time_point;

/// A number with a unit: explicit in, `.count()` out, same-tag arithmetic only.
template <class Tag, class Representation>
class Quantity {
 public:
  using Rep = Representation;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep count() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity{a.value_ * factor};
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) {
    return Quantity{a.value_ * factor};
  }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using Bandwidth = Quantity<struct BandwidthTag, double>;                      ///< bytes per second
using FlopRate = Quantity<struct FlopRateTag, double>;                        ///< FLOP per second
using ArithmeticIntensity = Quantity<struct ArithmeticIntensityTag, double>;  ///< FLOP per byte

// The cross-unit operators are exactly three.

/// Seconds (a double) to picoseconds, rounded up so that no work is free; saturates at
/// Duration::max(). A value within rounding error of a whole number of picoseconds is that number:
/// one byte at 1 GB/s takes 1000 ps, not 1001.
[[nodiscard]] inline Duration round_up_seconds(double seconds) {
  const double picoseconds = seconds * 1e12;
  if (!(picoseconds < 9.2e18)) return Duration::max();
  const double nearest = std::round(picoseconds);
  const bool whole = nearest > 0.0 && std::abs(picoseconds - nearest) <= picoseconds * 0x1p-50;
  return Duration{static_cast<std::int64_t>(whole ? nearest : std::ceil(picoseconds))};
}
[[nodiscard]] inline Duration operator/(Bytes bytes, Bandwidth rate) {
  return bytes.count() == 0 ? Duration{0}
                            : round_up_seconds(static_cast<double>(bytes.count()) / rate.count());
}
[[nodiscard]] inline Duration operator/(Flops flops, FlopRate rate) {
  return flops.count() == 0.0 ? Duration{0} : round_up_seconds(flops.count() / rate.count());
}
[[nodiscard]] inline ArithmeticIntensity operator/(Flops flops, Bytes bytes) {
  return ArithmeticIntensity{flops.count() / static_cast<double>(bytes.count())};
}

/// For reports only: the one way out of integer time.
[[nodiscard]] constexpr double to_us(Duration d) {
  return static_cast<double>(d.count()) * 1e-6;
}
[[nodiscard]] constexpr double to_seconds(Duration d) {
  return static_cast<double>(d.count()) * 1e-12;
}
[[nodiscard]] constexpr double to_us(Time t) {
  return to_us(t.time_since_epoch());
}

/// Microseconds as written in a file, to the nearest picosecond.
[[nodiscard]] inline Duration from_us(double us) {
  return Duration{static_cast<std::int64_t>(std::llround(us * 1e6))};
}

inline namespace literals {
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): 3us, 5ns

consteval Bytes operator""_B(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)};
}
consteval Bytes operator""_KiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n) << 10};
}
consteval Bytes operator""_MiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n) << 20};
}
consteval Bytes operator""_GiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n) << 30};
}
consteval Bandwidth operator""_GB_per_s(unsigned long long n) {
  return Bandwidth{static_cast<double>(n) * 1e9};
}
consteval Bandwidth operator""_GB_per_s(long double n) {
  return Bandwidth{static_cast<double>(n) * 1e9};
}
consteval FlopRate operator""_TFLOP_per_s(unsigned long long n) {
  return FlopRate{static_cast<double>(n) * 1e12};
}
consteval FlopRate operator""_TFLOP_per_s(long double n) {
  return FlopRate{static_cast<double>(n) * 1e12};
}
consteval Flops operator""_FLOP(unsigned long long n) {
  return Flops{static_cast<double>(n)};
}
consteval Duration operator""_ps(unsigned long long n) {
  return Duration{static_cast<std::int64_t>(n)};
}
}  // namespace literals

}  // namespace schedlab
