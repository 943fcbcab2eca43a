// SPDX-License-Identifier: Apache-2.0
#include "calibration/stream_pauses.hpp"

#include "sim/base/robust_statistics.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace schedlab {
namespace {

constexpr std::size_t parts = 20;

StreamPause median_of_part(const std::vector<StreamPause>& sorted, std::size_t part) {
  const std::size_t begin = sorted.size() * part / parts;
  const std::size_t end = sorted.size() * (part + 1) / parts;
  std::vector<double> kernels;
  std::vector<double> pauses;
  for (std::size_t i = begin; i < end; ++i) {
    kernels.push_back(sorted[i].kernel_seconds);
    pauses.push_back(sorted[i].seconds);
  }
  return {.kernel_seconds = median(std::move(kernels)), .seconds = median(std::move(pauses))};
}

double median_pause(const std::vector<StreamPause>& pauses) {
  std::vector<double> seconds;
  seconds.reserve(pauses.size());
  for (const StreamPause& pause : pauses) seconds.push_back(pause.seconds);
  return seconds.empty() ? 0.0 : std::max(0.0, median(std::move(seconds)));
}

}  // namespace

PauseFit fit_pauses(std::vector<StreamPause> cut, std::vector<StreamPause> whole) {
  if (cut.size() < parts) {
    whole.insert(whole.end(), cut.begin(), cut.end());
    return {.fixed_seconds = median_pause(whole), .last_block_share = 0};
  }
  std::sort(cut.begin(), cut.end(), [](const StreamPause& a, const StreamPause& b) {
    return a.kernel_seconds < b.kernel_seconds;
  });
  std::vector<StreamPause> points;
  for (std::size_t part = 0; part < parts; ++part) points.push_back(median_of_part(cut, part));
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t k = i + 1; k < points.size(); ++k) {
      const double longer = points[k].kernel_seconds - points[i].kernel_seconds;
      if (longer > 0) slopes.push_back((points[k].seconds - points[i].seconds) / longer);
    }
  }
  PauseFit fit;
  if (!slopes.empty()) fit.last_block_share = std::clamp(median(std::move(slopes)), 0.0, 1.0);
  std::vector<double> rest;
  rest.reserve(points.size());
  for (const StreamPause& point : points) {
    rest.push_back(point.seconds - fit.last_block_share * point.kernel_seconds);
  }
  fit.fixed_seconds = std::max(0.0, median(std::move(rest)));
  return fit;
}

}  // namespace schedlab
