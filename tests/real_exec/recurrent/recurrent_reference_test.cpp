// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_reference.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>

using namespace schedlab;

namespace {

constexpr std::array<RecurrentCell, 3> cells{
    RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before};

RecurrentInputs<double> inputs_of(const RecurrentSpec& spec) {
  return to_double(RecurrentWork{spec, recurrent(spec), 7}.inputs());
}

/// (loss(value + e) - loss(value - e)) / 2e. The error is of order e^2 from the third derivative
/// and of order 1e-16 / e from rounding: about 1e-10 of a loss of order 1 for e = 1e-5.
double slope(const RecurrentSpec& spec, RecurrentInputs<double>& inputs, double& value) {
  constexpr double e = 1e-5;
  const double old = value;
  value = old + e;
  const double above = recurrent_reference(spec, inputs).loss;
  value = old - e;
  const double below = recurrent_reference(spec, inputs).loss;
  value = old;
  return (above - below) / (2 * e);
}

}  // namespace

TEST_CASE("the reference's gradients are the slopes of its loss") {
  for (const RecurrentCell cell : cells) {
    for (const Bidirectional both : {Bidirectional::none, Bidirectional::first}) {
      CAPTURE(static_cast<int>(cell));
      CAPTURE(static_cast<int>(both));
      RecurrentSpec spec = test::odd_network(cell, both);
      spec.hidden = 3;
      if (cell == RecurrentCell::lstm && both == Bidirectional::first) spec.projection = 2;
      RecurrentInputs<double> inputs = inputs_of(spec);
      const RecurrentResults<double> results = recurrent_reference(spec, inputs);
      Rng rng{3};
      const auto check = [&](std::vector<double>& values, const std::vector<double>& gradient) {
        REQUIRE(values.size() == gradient.size());
        for (int i = 0; i < 4; ++i) {
          const std::size_t at = rng.below(values.size());
          CHECK(slope(spec, inputs, values[at]) == doctest::Approx(gradient[at]).epsilon(1e-6));
        }
      };
      check(inputs.x, results.dx);
      for (std::size_t c = 0; c < inputs.chains.size(); ++c) {
        RecurrentChainInputs<double>& in = inputs.chains[c];
        const RecurrentChainResults<double>& out = results.chains[c];
        check(in.wx, out.dwx);
        check(in.wh, out.dwh);
        check(in.bias, out.dbias);
        check(in.h0, out.dh0);
        if (cell == RecurrentCell::lstm) check(in.c0, out.dc0);
        if (spec.projection > 0) check(in.wp, out.dwp);
      }
    }
  }
}

TEST_CASE("the reference computes one LSTM step as by hand") {
  RecurrentSpec spec;
  spec.layers = 1;
  spec.steps = 1;
  spec.batch = 1;
  spec.hidden = 1;
  spec.pass = RecurrentPass::forward;
  RecurrentInputs<double> in;
  in.x = {0.5};
  in.chains = {{.wx = {0.1, 0.2, 0.3, 0.4},
                .wh = {0.5, 0.6, 0.7, 0.8},
                .bias = {0, 0, 0, 0},
                .h0 = {1.0},
                .c0 = {2.0},
                .dh_last = {},
                .dc_last = {}}};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double i = sigmoid(0.55);
  const double f = sigmoid(0.7);
  const double g = std::tanh(0.85);
  const double o = sigmoid(1.0);
  const double h = o * std::tanh(2.0 * f + i * g);
  CHECK(recurrent_reference(spec, in).y.at(0) == doctest::Approx(h).epsilon(1e-15));
}

TEST_CASE("inputs of another shape are refused") {
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  RecurrentInputs<double> inputs = inputs_of(spec);
  inputs.x.pop_back();
  CHECK_THROWS_AS(recurrent_reference(spec, inputs), ContractViolation);
}
