// SPDX-License-Identifier: Apache-2.0
// The kernels that RecurrentWork is made of, each alone.
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/recurrent/gemm_panels.hpp"
#include "real_exec/recurrent/pointwise.hpp"
#include "real_exec/recurrent/recurrent_state.hpp"
#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

using namespace schedlab;
using namespace schedlab::detail;

namespace {

PanelArray drawn(std::ptrdiff_t count, Rng& rng) {
  PanelArray values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

/// Element of X[rows, columns] in panels.
std::size_t at(std::ptrdiff_t row, std::ptrdiff_t column, std::ptrdiff_t rows) {
  return static_cast<std::size_t>((column / 16 * rows + row) * 16 + column % 16);
}

double worst_relative_error(Evaluation::Function function,
                            const std::function<double(double)>& exact,
                            double low,
                            double high) {
  constexpr std::size_t count = 16 * 1024;
  PanelArray x(count);
  PanelArray y(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(low + (high - low) * static_cast<double>(i) / (count - 1));
  }
  evaluate({.function = function, .from = x.data(), .to = y.data(), .panels = {0, count / 16}});
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double expected = exact(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) / expected - 1));
  }
  return worst;
}

}  // namespace

TEST_CASE("exp, sigmoid and tanh are as exact as their comments say") {
  using Function = Evaluation::Function;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto exponential = [](double x) { return std::exp(x); };
  const auto hyperbolic = [](double x) { return x == 0 ? 1 : std::tanh(x); };
  CHECK(worst_relative_error(Function::exp, exponential, -86.9, 86.9) < 2e-7);
  CHECK(worst_relative_error(Function::exp, exponential, -1, 1) < 2e-7);
  CHECK(worst_relative_error(Function::sigmoid, sigmoid, -80, 80) < 4e-7);
  CHECK(worst_relative_error(Function::sigmoid, sigmoid, -4, 4) < 4e-7);
  CHECK(worst_relative_error(Function::tanh, hyperbolic, -20.001, 20) < 4e-7);
  CHECK(worst_relative_error(Function::tanh, hyperbolic, 1e-6, 1) < 4e-7);
  CHECK(worst_relative_error(Function::tanh, hyperbolic, 1e-30, 1e-28) < 4e-7);
}

TEST_CASE("beyond what a float holds the functions saturate") {
  PanelArray x(16);
  x[0] = 1e30F;
  x[1] = -1e30F;
  PanelArray y(16);
  evaluate({.function = Evaluation::Function::sigmoid,
            .from = x.data(),
            .to = y.data(),
            .panels = {0, 1}});
  CHECK(y[0] == 1.0F);
  CHECK(y[1] < 1e-37F);
  CHECK(y[1] >= 0.0F);
  CHECK(y[2] == 0.5F);
  evaluate(
      {.function = Evaluation::Function::tanh, .from = x.data(), .to = y.data(), .panels = {0, 1}});
  CHECK(y[0] == 1.0F);
  CHECK(y[1] == -1.0F);
  CHECK(y[2] == 0.0F);
}

TEST_CASE("a product in panels is the sum of products, whatever panels are computed together") {
  Rng rng{1};
  for (const std::ptrdiff_t rows : {1, 7, 8, 19}) {
    for (const std::ptrdiff_t k : {16, 288}) {
      const std::ptrdiff_t n = 80;
      const std::ptrdiff_t b_rows = k + 16;
      CAPTURE(rows);
      CAPTURE(k);
      const PanelArray a = drawn(rows * k, rng);
      const PanelArray b = drawn(b_rows * n, rng);
      PanelArray whole(static_cast<std::size_t>(rows * n), 1e9F);
      PanelArray parts = whole;
      const PanelProduct product{
          .a = a.data(), .b = b.data(), .c = whole.data(), .rows = rows, .k = k, .b_rows = b_rows};
      multiply(product, {0, 5});
      PanelProduct same = product;
      same.c = parts.data();
      for (std::size_t block = 0; block < 7; ++block) multiply(same, share(5, block, 7));
      CHECK(whole == parts);
      double worst = 0;
      for (std::ptrdiff_t row = 0; row < rows; ++row) {
        for (std::ptrdiff_t column = 0; column < n; ++column) {
          double sum = 0;
          for (std::ptrdiff_t i = 0; i < k; ++i) {
            sum += static_cast<double>(a[at(row, i, rows)]) *
                   static_cast<double>(b[at(i, column, b_rows)]);
          }
          worst =
              std::max(worst, std::abs(sum - static_cast<double>(whole[at(row, column, rows)])));
        }
      }
      // Each of k additions rounds a sum of size about sqrt(k / 9): k * 6e-8 * sqrt(k / 9).
      CHECK(worst < 288 * 6e-8 * 6);
    }
  }
}

TEST_CASE("a gradient over steps is the gradients of its steps one after another") {
  Rng rng{2};
  const std::ptrdiff_t rows = 5;
  const std::ptrdiff_t features = 32;
  const std::ptrdiff_t n = 64;
  const std::ptrdiff_t steps = 70;  // more than are summed at once
  const PanelArray a = drawn(steps * rows * features, rng);
  const PanelArray d = drawn(steps * rows * n, rng);
  const PanelArray start = drawn(features * n, rng);
  // From the last step down.
  PanelGradient gradient{.a = a.data() + (steps - 1) * rows * features,
                         .a_step = -rows * features,
                         .d = d.data() + (steps - 1) * rows * n,
                         .d_step = -rows * n,
                         .c = nullptr,
                         .rows = rows,
                         .features = features,
                         .steps = steps};
  PanelArray together = start;
  gradient.c = together.data();
  accumulate(gradient, {0, 4});
  PanelArray apart = start;
  for (std::ptrdiff_t s = steps; s-- > 0;) {
    PanelGradient one = gradient;
    one.a = a.data() + s * rows * features;
    one.d = d.data() + s * rows * n;
    one.c = apart.data();
    one.steps = 1;
    for (std::size_t block = 0; block < 3; ++block) accumulate(one, share(4, block, 3));
  }
  CHECK(together == apart);
  double sum = static_cast<double>(start[at(17, 35, features)]);
  for (std::ptrdiff_t s = 0; s < steps; ++s) {
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const auto x = static_cast<std::size_t>(s * rows * features);
      const auto g = static_cast<std::size_t>(s * rows * n);
      sum += static_cast<double>(a[x + at(row, 17, rows)]) *
             static_cast<double>(d[g + at(row, 35, rows)]);
    }
  }
  CHECK(static_cast<double>(together[at(17, 35, features)]) == doctest::Approx(sum).epsilon(1e-5));
}

TEST_CASE("an update writes the transpose too, into the caches or past them") {
  struct Shape {
    std::ptrdiff_t rows;
    std::ptrdiff_t n;
  };
  // 512 * 512 floats are the 1 MiB from which transposes are written past the caches.
  for (const auto& [rows, n] : {Shape{48, 32}, Shape{512, 512}}) {
    CAPTURE(rows);
    Rng rng{3};
    PanelArray w = drawn(rows * n, rng);
    const PanelArray before = w;
    const PanelArray gradient = drawn(rows * n, rng);
    PanelArray transposed(w.size());
    WeightUpdate update{.w = w.data(),
                        .transposed = transposed.data(),
                        .gradient = gradient.data(),
                        .rate = 0.5F,
                        .rows = rows,
                        .n = n};
    for (std::size_t block = 0; block < 4; ++block) {
      update.panels = share(rows * n / 256, block, 4);
      update_weights(update);
    }
    bool right = true;
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t column = 0; column < n; ++column) {
        const std::size_t i = at(row, column, rows);
        right = right && w[i] == before[i] - 0.5F * gradient[i] &&
                transposed[at(column, row, n)] == w[i];
      }
    }
    CHECK(right);
  }
}

TEST_CASE("gemm multiplies plain matrices, transposed or not") {
  prepare_worker_thread();
  Rng rng{4};
  const std::int64_t m = 7;
  const std::int64_t n = 19;
  const std::int64_t k = 23;
  for (const Transpose op_a : {Transpose::no, Transpose::yes}) {
    for (const Transpose op_b : {Transpose::no, Transpose::yes}) {
      for (const float beta : {0.0F, 1.0F, 0.5F}) {
        const PanelArray a = drawn(m * k, rng);
        const PanelArray b = drawn(k * n, rng);
        const PanelArray start = drawn(m * (n + 2), rng);
        PanelArray c = start;
        gemm({.m = m,
              .n = n,
              .k = k,
              .op_a = op_a,
              .op_b = op_b,
              .a = a.data(),
              .stride_a = op_a == Transpose::no ? k : m,
              .b = b.data(),
              .stride_b = op_b == Transpose::no ? n : k,
              .c = c.data(),
              .stride_c = n + 2,
              .alpha = 2.0F,
              .beta = beta});
        double worst = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n + 2; ++j) {
            const auto to = static_cast<std::size_t>(i * (n + 2) + j);
            double expected = static_cast<double>(start[to]);
            if (j < n) {
              expected *= static_cast<double>(beta);
              for (std::int64_t l = 0; l < k; ++l) {
                const auto x =
                    static_cast<std::size_t>(op_a == Transpose::no ? i * k + l : l * m + i);
                const auto y =
                    static_cast<std::size_t>(op_b == Transpose::no ? l * n + j : j * k + l);
                expected += 2 * static_cast<double>(a[x]) * static_cast<double>(b[y]);
              }
            }
            worst = std::max(worst, std::abs(expected - static_cast<double>(c[to])));
          }
        }
        CHECK(worst < 23 * 6e-8 * 10);
      }
    }
  }
  const std::string_view library = gemm_library();
  CHECK((library == "onednn" || library == "eigen"));
  CHECK_THROWS_AS(gemm({.m = 2, .n = 2, .k = 2}), ContractViolation);
}
