// SPDX-License-Identifier: Apache-2.0
#include "profiler/clock_alignment.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace schedlab {
namespace {

Duration half_width(const ClockSample& sample) {
  return (sample.after - sample.before) / 2;
}

Time middle(const ClockSample& sample) {
  return sample.before + half_width(sample);
}

Duration drift_part(const ClockMapping& mapping, ActivityTime time) {
  const auto elapsed = std::chrono::duration_cast<Duration>(time - mapping.activity_origin);
  return Duration{std::llround(mapping.drift * static_cast<double>(elapsed.count()))};
}

// Offset against the first sample, in picoseconds, of the sample's middle.
double offset(const ClockSample& sample, const ClockSample& first) {
  const auto host = middle(sample) - middle(first);
  const auto other = std::chrono::duration_cast<Duration>(sample.reading - first.reading);
  return static_cast<double>((host - other).count());
}

double weight(const ClockSample& sample) {
  // Readings of a width below the resolution of the clocks are no better than that: 1 ns.
  const auto width = std::max<std::int64_t>(half_width(sample).count(), 1000);
  return 1.0 / (static_cast<double>(width) * static_cast<double>(width));
}

}  // namespace

Time ClockMapping::to_host(ActivityTime time) const {
  return host_origin + std::chrono::duration_cast<Duration>(time - activity_origin) +
         drift_part(*this, time);
}

ClockSample sample_clocks(const std::function<Time()>& host,
                          const std::function<ActivityTime()>& activity,
                          std::size_t tries) {
  ClockSample best;
  for (std::size_t i = 0; i < std::max<std::size_t>(tries, 1); ++i) {
    ClockSample sample;
    sample.before = host();
    sample.reading = activity();
    sample.after = host();
    if (i == 0 || sample.after - sample.before < best.after - best.before) best = sample;
  }
  return best;
}

ClockMapping align_clocks(std::span<const ClockSample> samples, bool same_rate) {
  SCHEDLAB_EXPECTS(!samples.empty(), "clocks cannot be aligned without samples");
  const ClockSample& first = samples.front();
  double weights = 0;
  double mean_x = 0;
  double mean_y = 0;
  ActivityTime latest = first.reading;
  ActivityTime earliest = first.reading;
  const auto x_of = [&](const ClockSample& sample) {
    return static_cast<double>((sample.reading - first.reading).count()) * 1e3;
  };
  for (const ClockSample& sample : samples) {
    SCHEDLAB_EXPECTS(sample.before <= sample.after,
                     "a clock sample ends before it begins: the host's clock runs backwards");
    const double w = weight(sample);
    weights += w;
    mean_x += w * x_of(sample);
    mean_y += w * offset(sample, first);
    latest = std::max(latest, sample.reading);
    earliest = std::min(earliest, sample.reading);
  }
  mean_x /= weights;
  mean_y /= weights;

  ClockMapping mapping;
  if (!same_rate && latest - earliest >= std::chrono::milliseconds{1}) {
    double covariance = 0;
    double variance = 0;
    for (const ClockSample& sample : samples) {
      const double dx = x_of(sample) - mean_x;
      covariance += weight(sample) * dx * (offset(sample, first) - mean_y);
      variance += weight(sample) * dx * dx;
    }
    mapping.drift = covariance / variance;
  }
  // The point of means lies on the line; the origin is put at the first sample.
  mapping.activity_origin = first.reading;
  mapping.host_origin = middle(first) + Duration{std::llround(mean_y - mapping.drift * mean_x)};
  // The true line passes through every sample's interval: where the mapping is off from a middle
  // by r, it is off from the truth by at most r + half a width, and between two samples by no more
  // than at the worse of them, both being lines.
  for (const ClockSample& sample : samples) {
    const Duration residual = mapping.to_host(sample.reading) - middle(sample);
    mapping.error = std::max(mapping.error, std::chrono::abs(residual) + half_width(sample));
  }
  return mapping;
}

}  // namespace schedlab
