// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real_exec/training/net_layer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace schedlab::testing {

/// The layers once more, forward only, in double precision and written as their definitions read:
/// one sum per value, no matrix products. Gradients are the slopes of these.
class ReferenceLayer {
 public:
  ReferenceLayer(const NetLayer& layer, std::uint64_t dropout_key)
      : spec_(layer.spec()), in_(layer.input()), out_(layer.output()), key_(dropout_key) {}

  /// y[samples, output] from x[samples, input].
  [[nodiscard]] std::vector<double> forward(const std::vector<double>& x,
                                            const std::vector<double>& w,
                                            SampleRange samples) const {
    std::vector<double> y;
    for (std::int64_t s = 0; s < samples.count; ++s) {
      const double* one = x.data() + s * in_.elements();
      std::vector<double> values;
      switch (spec_.kind) {
        case NetLayerKind::dense:
          values = dense(one, w);
          break;
        case NetLayerKind::conv2d:
          values = convolution(one, w);
          break;
        case NetLayerKind::max_pool:
          values = max_pool(one);
          break;
        case NetLayerKind::dropout:
          values = dropout(one, samples.first + s);
          break;
        case NetLayerKind::lstm:
          values = lstm(one, w);
          break;
        case NetLayerKind::embedding:
          values = embedding(one, w);
          break;
        case NetLayerKind::layer_norm:
          values = layer_norm(one, w);
          break;
        case NetLayerKind::attention:
          values = attention(one);
          break;
        case NetLayerKind::gelu:
          values = gelu(one);
          break;
        case NetLayerKind::add:
          break;  // of two inputs: tests of its own
      }
      y.insert(y.end(), values.begin(), values.end());
    }
    return y;
  }

 private:
  [[nodiscard]] double activated(double value) const {
    return spec_.relu ? std::max(value, 0.0) : value;
  }

  [[nodiscard]] std::vector<double> dense(const double* x, const std::vector<double>& w) const {
    const std::int64_t rows = spec_.per_row ? in_.height : 1;
    const std::int64_t inputs = in_.elements() / rows;
    std::vector<double> y;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t u = 0; u < spec_.units; ++u) {
        double sum = w[static_cast<std::size_t>(inputs * spec_.units + u)];
        for (std::int64_t i = 0; i < inputs; ++i) {
          sum += x[row * inputs + i] * w[static_cast<std::size_t>(i * spec_.units + u)];
        }
        y.push_back(activated(sum));
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<double> embedding(const double* x, const std::vector<double>& w) const {
    std::vector<double> y;
    for (std::int64_t row = 0; row < in_.height; ++row) {
      for (std::int64_t u = 0; u < spec_.units; ++u) {
        const auto word = static_cast<std::int64_t>(x[row]);
        y.push_back(w[static_cast<std::size_t>(word * spec_.units + u)] +
                    w[static_cast<std::size_t>((spec_.vocabulary + row) * spec_.units + u)]);
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<double> layer_norm(const double* x,
                                               const std::vector<double>& w) const {
    const std::int64_t n = in_.width * in_.channels;
    std::vector<double> y;
    for (std::int64_t row = 0; row < in_.height; ++row, x += n) {
      double mean = 0;
      for (std::int64_t i = 0; i < n; ++i) mean += x[i] / static_cast<double>(n);
      double variance = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        y.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * w[static_cast<std::size_t>(i)] +
                    w[static_cast<std::size_t>(n + i)]);
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<double> attention(const double* x) const {
    const std::int64_t width = out_.channels;
    const std::int64_t depth = width / spec_.heads;
    std::vector<double> y(static_cast<std::size_t>(out_.elements()), 0.0);
    for (std::int64_t head = 0; head < spec_.heads; ++head) {
      for (std::int64_t row = 0; row < in_.height; ++row) {
        std::vector<double> p;
        double sum = 0;
        for (std::int64_t other = 0; other <= row; ++other) {
          double product = 0;
          for (std::int64_t i = 0; i < depth; ++i) {
            product += x[row * 3 * width + head * depth + i] *
                       x[other * 3 * width + width + head * depth + i];
          }
          p.push_back(std::exp(product / std::sqrt(static_cast<double>(depth))));
          sum += p.back();
        }
        for (std::int64_t other = 0; other <= row; ++other) {
          for (std::int64_t i = 0; i < depth; ++i) {
            y[static_cast<std::size_t>(row * width + head * depth + i)] +=
                p[static_cast<std::size_t>(other)] / sum *
                x[other * 3 * width + 2 * width + head * depth + i];
          }
        }
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<double> gelu(const double* x) const {
    std::vector<double> y;
    for (std::int64_t i = 0; i < in_.elements(); ++i) {
      const double inner = 0.7978845608028654 * (x[i] + 0.044715 * x[i] * x[i] * x[i]);
      y.push_back(0.5 * x[i] * (1 + std::tanh(inner)));
    }
    return y;
  }

  [[nodiscard]] std::vector<double> convolution(const double* x,
                                                const std::vector<double>& w) const {
    const std::int64_t k = spec_.kernel;
    std::vector<double> y;
    for (std::int64_t row = 0; row < out_.height; ++row) {
      for (std::int64_t column = 0; column < out_.width; ++column) {
        for (std::int64_t u = 0; u < spec_.units; ++u) {
          double sum = w[static_cast<std::size_t>(k * k * in_.channels * spec_.units + u)];
          for (std::int64_t i = 0; i < k; ++i) {
            for (std::int64_t j = 0; j < k; ++j) {
              for (std::int64_t c = 0; c < in_.channels; ++c) {
                const auto weight = ((i * k + j) * in_.channels + c) * spec_.units + u;
                sum += w[static_cast<std::size_t>(weight)] *
                       x[((row + i) * in_.width + column + j) * in_.channels + c];
              }
            }
          }
          y.push_back(activated(sum));
        }
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<double> max_pool(const double* x) const {
    std::vector<double> y;
    for (std::int64_t row = 0; row < out_.height; ++row) {
      for (std::int64_t column = 0; column < out_.width; ++column) {
        for (std::int64_t c = 0; c < in_.channels; ++c) {
          double best = -1e300;
          for (std::int64_t i = 0; i < spec_.window; ++i) {
            for (std::int64_t j = 0; j < spec_.window; ++j) {
              const auto line = (row * spec_.window + i) * in_.width + column * spec_.window + j;
              best = std::max(best, x[line * in_.channels + c]);
            }
          }
          y.push_back(best);
        }
      }
    }
    return y;
  }

  [[nodiscard]] std::vector<double> dropout(const double* x, std::int64_t sample) const {
    std::vector<double> y;
    for (std::int64_t i = 0; i < in_.elements(); ++i) {
      y.push_back(dropout_keeps(key_, sample, i, spec_.rate) ? x[i] / (1.0 - spec_.rate) : 0.0);
    }
    return y;
  }

  [[nodiscard]] std::vector<double> lstm(const double* x, const std::vector<double>& w) const {
    const std::int64_t n = spec_.units;
    const std::int64_t features = in_.width * in_.channels;
    const auto at = [&](std::int64_t row, std::int64_t gate, std::int64_t u) {
      return w[static_cast<std::size_t>((row * 4 + gate) * n + u)];
    };
    const auto logistic_of = [](double value) { return 1.0 / (1.0 + std::exp(-value)); };
    std::vector<double> h(static_cast<std::size_t>(n), 0.0);
    std::vector<double> c = h;
    std::vector<double> all;
    for (std::int64_t t = 0; t < in_.height; ++t) {
      const std::vector<double> before = h;
      for (std::int64_t u = 0; u < n; ++u) {
        double z[4];
        for (std::int64_t gate = 0; gate < 4; ++gate) {
          z[gate] = at(features + n, gate, u);
          for (std::int64_t i = 0; i < features; ++i)
            z[gate] += x[t * features + i] * at(i, gate, u);
          for (std::int64_t i = 0; i < n; ++i) {
            z[gate] += before[static_cast<std::size_t>(i)] * at(features + i, gate, u);
          }
        }
        double& cell = c[static_cast<std::size_t>(u)];
        cell = logistic_of(z[1]) * cell + logistic_of(z[0]) * std::tanh(z[2]);
        h[static_cast<std::size_t>(u)] = logistic_of(z[3]) * std::tanh(cell);
      }
      all.insert(all.end(), h.begin(), h.end());
    }
    return spec_.sequences ? all : h;
  }

  NetLayerSpec spec_;
  SampleShape in_;
  SampleShape out_;
  std::uint64_t key_;
};

}  // namespace schedlab::testing
