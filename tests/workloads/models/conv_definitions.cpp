// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/models/conv_definitions.hpp"

#include <cmath>

namespace schedlab::testing {
namespace {

using detail::FeatureMap;

constexpr double epsilon = 1e-3;  // of variances
// Response normalisation, k, alpha and beta of NIPS 2012; alpha larger, so that it matters.
constexpr double response_offset = 2;
constexpr double response_alpha = 0.1;
constexpr double response_beta = 0.75;
constexpr std::int64_t response_reach = 2;

std::size_t size(std::int64_t value) {
  return static_cast<std::size_t>(value);
}
std::size_t place(
    const FeatureMap& map, std::size_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return ((n * size(map.c) + size(c)) * size(map.h) + size(h)) * size(map.w) + size(w);
}

/// visit(input place or none, output place, place in the window) of every element of every window;
/// channels are those of the output.
template <class Visit>
void for_each_window(const LayerOnImages& at,
                     std::size_t n,
                     std::int64_t x_channel,
                     std::int64_t y_channel,
                     Visit visit) {
  const auto& window = at.layer.window;
  for (std::int64_t p = 0; p < at.y.h; ++p) {
    for (std::int64_t q = 0; q < at.y.w; ++q) {
      for (std::int64_t r = 0; r < window.r; ++r) {
        for (std::int64_t s = 0; s < window.s; ++s) {
          const std::int64_t h = p * window.stride + r - window.pad_h;
          const std::int64_t w = q * window.stride + s - window.pad_w;
          if (h < 0 || w < 0 || h >= at.x.h || w >= at.x.w) continue;
          visit(place(at.x, n, x_channel, h, w),
                place(at.y, n, y_channel, p, q),
                size(r * window.s + s));
        }
      }
    }
  }
}

/// visit(x, y, w) of every product of a convolution.
template <class Visit>
void for_each_product(const LayerOnImages& at, Visit visit) {
  const std::int64_t inputs = at.x.c / at.layer.groups;
  const std::int64_t outputs = at.y.c / at.layer.groups;
  const std::size_t window = size(at.layer.window.elements());
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::int64_t k = 0; k < at.y.c; ++k) {
      for (std::int64_t c = 0; c < inputs; ++c) {
        const std::size_t filter = (size(k) * size(inputs) + size(c)) * window;
        const std::int64_t channel = k / outputs * inputs + c;
        for_each_window(at, n, channel, k, [&](std::size_t x, std::size_t y, std::size_t i) {
          visit(x, y, filter + i);
        });
      }
    }
  }
}

template <class Visit>
void for_each_dense(const LayerOnImages& at, Visit visit) {
  const std::size_t in = size(at.x.elements());
  const std::size_t out = size(at.y.elements());
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::size_t o = 0; o < out; ++o) {
      for (std::size_t i = 0; i < in; ++i) visit(n * in + i, n * out + o, o * in + i);
    }
  }
}

Numbers zeros(const FeatureMap& map, std::size_t images) {
  return Numbers(images * size(map.elements()), 0.0);
}

/// visit(place, channel) of every element.
template <class Visit>
void for_each_element(const LayerOnImages& at, Visit visit) {
  const std::size_t positions = size(at.y.positions());
  for (std::size_t i = 0; i < at.images * size(at.y.elements()); ++i) {
    visit(i, i / positions % size(at.y.c));
  }
}

struct Normal {
  double mean = 0;
  double deviation = 1;
};
Normal normal_of(const LayerOnImages& at, const Numbers& sums, std::size_t c, std::size_t count) {
  const double elements = static_cast<double>(count * size(at.y.positions()));
  const double mean = sums[c] / elements;
  const double variance = sums[size(at.y.c) + c] / elements - mean * mean;
  return {.mean = mean, .deviation = std::sqrt(variance + epsilon)};
}

/// Of the element's neighbours over channels.
double response_base(const LayerOnImages& at, const Numbers& x, std::size_t i, std::size_t c) {
  const std::size_t positions = size(at.y.positions());
  double sum = 0;
  for (std::int64_t d = -response_reach; d <= response_reach; ++d) {
    const std::int64_t other = static_cast<std::int64_t>(c) + d;
    if (other < 0 || other >= at.y.c) continue;
    const double value = x[i + size(other) * positions - c * positions];
    sum += value * value;
  }
  return response_offset + response_alpha * sum;
}

}  // namespace

Numbers conv_forward(const LayerOnImages& at, const Numbers& x, const Numbers& w) {
  Numbers y = zeros(at.y, at.images);
  for_each_product(at, [&](std::size_t i, std::size_t o, std::size_t f) { y[o] += x[i] * w[f]; });
  return y;
}
Numbers conv_data(const LayerOnImages& at, const Numbers& dy, const Numbers& w) {
  Numbers dx = zeros(at.x, at.images);
  for_each_product(at, [&](std::size_t i, std::size_t o, std::size_t f) { dx[i] += dy[o] * w[f]; });
  return dx;
}
Numbers conv_weights(const LayerOnImages& at, const Numbers& dy, const Numbers& x) {
  Numbers dw(size(at.y.c * (at.x.c / at.layer.groups) * at.layer.window.elements()), 0.0);
  for_each_product(at, [&](std::size_t i, std::size_t o, std::size_t f) { dw[f] += dy[o] * x[i]; });
  return dw;
}

Numbers dense_forward(const LayerOnImages& at, const Numbers& x, const Numbers& w) {
  Numbers y = zeros(at.y, at.images);
  for_each_dense(at, [&](std::size_t i, std::size_t o, std::size_t f) { y[o] += x[i] * w[f]; });
  return y;
}
Numbers dense_data(const LayerOnImages& at, const Numbers& dy, const Numbers& w) {
  Numbers dx = zeros(at.x, at.images);
  for_each_dense(at, [&](std::size_t i, std::size_t o, std::size_t f) { dx[i] += dy[o] * w[f]; });
  return dx;
}
Numbers dense_weights(const LayerOnImages& at, const Numbers& dy, const Numbers& x) {
  Numbers dw(size(at.x.elements() * at.y.elements()), 0.0);
  for_each_dense(at, [&](std::size_t i, std::size_t o, std::size_t f) { dw[f] += dy[o] * x[i]; });
  return dw;
}

Numbers norm_statistics(const LayerOnImages& at, const Numbers& x) {
  Numbers sums(size(2 * at.y.c), 0.0);
  for_each_element(at, [&](std::size_t i, std::size_t c) {
    sums[c] += x[i];
    sums[size(at.y.c) + c] += x[i] * x[i];
  });
  return sums;
}
Numbers norm_apply(const LayerOnImages& at,
                   const Numbers& x,
                   const Numbers& statistics,
                   const Numbers& w,
                   std::size_t count) {
  Numbers y = zeros(at.y, at.images);
  for_each_element(at, [&](std::size_t i, std::size_t c) {
    const Normal normal = normal_of(at, statistics, c, count);
    y[i] = w[c] * (x[i] - normal.mean) / normal.deviation + w[size(at.y.c) + c];
  });
  return y;
}
Numbers norm_sums(const LayerOnImages& at,
                  const Numbers& dy,
                  const Numbers& x,
                  const Numbers& statistics,
                  std::size_t count) {
  Numbers sums(size(2 * at.y.c), 0.0);
  for_each_element(at, [&](std::size_t i, std::size_t c) {
    const Normal normal = normal_of(at, statistics, c, count);
    sums[c] += dy[i] * (x[i] - normal.mean) / normal.deviation;
    sums[size(at.y.c) + c] += dy[i];
  });
  return sums;
}
Numbers norm_data(const LayerOnImages& at,
                  const Numbers& dy,
                  const Numbers& x,
                  const Numbers& statistics,
                  const Numbers& w,
                  const Numbers& sums,
                  std::size_t count) {
  Numbers dx = zeros(at.y, at.images);
  const double elements = static_cast<double>(count * size(at.y.positions()));
  for_each_element(at, [&](std::size_t i, std::size_t c) {
    const Normal normal = normal_of(at, statistics, c, count);
    const double unit = (x[i] - normal.mean) / normal.deviation;
    dx[i] = w[c] / normal.deviation *
            (dy[i] - sums[size(at.y.c) + c] / elements - unit * sums[c] / elements);
  });
  return dx;
}

Numbers response_norm(const LayerOnImages& at, const Numbers& x) {
  Numbers y = zeros(at.y, at.images);
  for_each_element(at, [&](std::size_t i, std::size_t c) {
    y[i] = x[i] * std::pow(response_base(at, x, i, c), -response_beta);
  });
  return y;
}
Numbers response_norm_data(const LayerOnImages& at, const Numbers& dy, const Numbers& x) {
  Numbers dx = zeros(at.y, at.images);
  const std::size_t positions = size(at.y.positions());
  for_each_element(at, [&](std::size_t i, std::size_t c) {
    const double base = response_base(at, x, i, c);
    dx[i] += dy[i] * std::pow(base, -response_beta);
    const double slope =
        -2 * response_alpha * response_beta * dy[i] * x[i] * std::pow(base, -response_beta - 1);
    for (std::int64_t d = -response_reach; d <= response_reach; ++d) {
      const std::int64_t other = static_cast<std::int64_t>(c) + d;
      if (other < 0 || other >= at.y.c) continue;
      const std::size_t j = i + size(other) * positions - c * positions;
      dx[j] += slope * x[j];
    }
  });
  return dx;
}

Numbers max_pool(const LayerOnImages& at, const Numbers& x) {
  Numbers y(at.images * size(at.y.elements()), -1e300);
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::int64_t c = 0; c < at.y.c; ++c) {
      for_each_window(at, n, c, c, [&](std::size_t i, std::size_t o, std::size_t) {
        y[o] = std::max(y[o], x[i]);
      });
    }
  }
  return y;
}
Numbers max_pool_data(const LayerOnImages& at, const Numbers& dy, const Numbers& x) {
  const Numbers y = max_pool(at, x);
  Numbers dx = zeros(at.x, at.images);
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::int64_t c = 0; c < at.y.c; ++c) {
      for_each_window(at, n, c, c, [&](std::size_t i, std::size_t o, std::size_t) {
        if (x[i] == y[o]) dx[i] += dy[o];
      });
    }
  }
  return dx;
}
Numbers average_pool(const LayerOnImages& at, const Numbers& x) {
  Numbers y = zeros(at.y, at.images);
  const double part = 1.0 / static_cast<double>(at.layer.window.elements());
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::int64_t c = 0; c < at.y.c; ++c) {
      for_each_window(
          at, n, c, c, [&](std::size_t i, std::size_t o, std::size_t) { y[o] += part * x[i]; });
    }
  }
  return y;
}
Numbers average_pool_data(const LayerOnImages& at, const Numbers& dy) {
  Numbers dx = zeros(at.x, at.images);
  const double part = 1.0 / static_cast<double>(at.layer.window.elements());
  for (std::size_t n = 0; n < at.images; ++n) {
    for (std::int64_t c = 0; c < at.y.c; ++c) {
      for_each_window(
          at, n, c, c, [&](std::size_t i, std::size_t o, std::size_t) { dx[i] += part * dy[o]; });
    }
  }
  return dx;
}

}  // namespace schedlab::testing
