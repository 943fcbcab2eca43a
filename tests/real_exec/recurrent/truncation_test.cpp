// SPDX-License-Identifier: Apache-2.0
// Truncated back-propagation on the CPU: its gradients, and what it allocates.
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "real_exec/recurrent/gemm.hpp"
#include "real_exec/recurrent/recurrent_inputs.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/recurrent/recompute_scenes.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace schedlab;

namespace {

using Values = std::vector<double>;

/// State of one layer, [batch, hidden] each.
struct LayerState {
  Values h;
  Values c;
};

/// The LSTM and its loss written out once more, element by element, without any gradient.
class PlainLstm {
 public:
  PlainLstm(const RecurrentSpec& spec, const RecurrentInputs<double>& in) : spec_(spec), in_(in) {
    for (const auto& chain : in.chains) state_.push_back({chain.h0, chain.c0});
  }

  [[nodiscard]] std::vector<LayerState> state() const { return state_; }
  void set_state(std::vector<LayerState> state) { state_ = std::move(state); }

  /// Of steps [first, last), from the state there.
  double loss(std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (std::int64_t t = first; t < last; ++t) {
      Values x(in_.x.begin() + t * spec_.batch * spec_.input,
               in_.x.begin() + (t + 1) * spec_.batch * spec_.input);
      std::int64_t width = spec_.input;
      for (std::size_t l = 0; l < state_.size(); ++l) {
        x = step(in_.chains[l], state_[l], x, width);
        width = spec_.hidden;
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double d = x[i] - in_.target[static_cast<std::size_t>(t) * x.size() + i];
        sum += d * d;
      }
    }
    return 0.5 * sum / static_cast<double>(spec_.batch);
  }

 private:
  Values step(const RecurrentChainInputs<double>& w,
              LayerState& state,
              const Values& x,
              std::int64_t width) const {
    const auto hidden = static_cast<std::size_t>(spec_.hidden);
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    const LayerState before = state;
    for (std::size_t row = 0; row < static_cast<std::size_t>(spec_.batch); ++row) {
      for (std::size_t j = 0; j < hidden; ++j) {
        const auto gate = [&](std::size_t index) {
          const std::size_t column = index * hidden + j;
          double sum = w.bias[column];
          for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
            sum += x[row * static_cast<std::size_t>(width) + k] * w.wx[k * 4 * hidden + column];
          }
          for (std::size_t k = 0; k < hidden; ++k) {
            sum += before.h[row * hidden + k] * w.wh[k * 4 * hidden + column];
          }
          return sum;
        };
        const std::size_t at = row * hidden + j;
        state.c[at] = sigmoid(gate(1)) * before.c[at] + sigmoid(gate(0)) * std::tanh(gate(2));
        state.h[at] = sigmoid(gate(3)) * std::tanh(state.c[at]);
      }
    }
    return state.h;
  }

  const RecurrentSpec& spec_;
  const RecurrentInputs<double>& in_;
  std::vector<LayerState> state_;
};

/// The loss that truncation descends on: each segment from the state that these weights had there.
class TruncatedLoss {
 public:
  TruncatedLoss(const RecurrentSpec& spec, const RecurrentInputs<double>& in) : spec_(spec) {
    PlainLstm lstm{spec, in};
    for (std::int64_t t = 0; t < spec.steps; t += spec.truncate_steps) {
      states_.push_back(lstm.state());
      static_cast<void>(lstm.loss(t, std::min(t + spec.truncate_steps, spec.steps)));
    }
  }

  [[nodiscard]] double operator()(const RecurrentInputs<double>& in) const {
    PlainLstm lstm{spec_, in};
    double sum = 0;
    std::int64_t first = 0;
    for (const std::vector<LayerState>& state : states_) {
      lstm.set_state(state);
      const std::int64_t last = std::min(first + spec_.truncate_steps, spec_.steps);
      sum += lstm.loss(first, last);
      first = last;
    }
    return sum;
  }

 private:
  const RecurrentSpec& spec_;
  std::vector<std::vector<LayerState>> states_;
};

RecurrentSpec truncated_network(RecurrentSpec spec, std::int64_t segment) {
  spec.tensors = true;
  spec.steps = 7;
  spec.truncate_steps = segment;
  return spec;
}

double largest_difference(const RecurrentResults<float>& found,
                          const RecurrentResults<double>& expected) {
  double largest = 0;
  for_each_result(found, expected, [&](const std::string& name, const auto& a, const auto& b) {
    if (name != "y" || std::any_of(a.begin(), a.end(), [](float v) { return v != 0; })) {
      largest = std::max(largest, relative_difference(a, b));
    }
  });
  return largest;
}

}  // namespace

TEST_CASE("truncated gradients are the slopes of the loss whose segments begin with fixed states") {
  RecurrentSpec spec = truncated_network(test::odd_network(RecurrentCell::lstm), 3);
  spec.hidden = 3;
  RecurrentInputs<double> in = to_double(draw_recurrent_inputs(spec, 7));
  const TruncatedLoss loss{spec, in};
  const RecurrentResults<double> reference = recurrent_reference(spec, in);
  const RecurrentResults<float> computed = test::serial_results(spec, 7);
  CHECK(loss(in) == doctest::Approx(reference.loss).epsilon(1e-12));
  std::size_t compared = 0;
  const auto check = [&](Values& values, const Values& gradient, const std::vector<float>& found) {
    REQUIRE(values.size() == gradient.size());
    for (std::size_t i = 0; i < values.size(); ++i, ++compared) {
      constexpr double e = 1e-5;
      const double old = values[i];
      values[i] = old + e;
      const double above = loss(in);
      values[i] = old - e;
      const double slope = (above - loss(in)) / (2 * e);
      values[i] = old;
      CHECK(gradient[i] == doctest::Approx(slope).epsilon(1e-6));
      CHECK(static_cast<double>(found[i]) == doctest::Approx(slope).epsilon(1e-4));
    }
  };
  check(in.x, reference.dx, computed.dx);
  for (std::size_t l = 0; l < in.chains.size(); ++l) {
    check(in.chains[l].wx, reference.chains[l].dwx, computed.chains[l].dwx);
    check(in.chains[l].wh, reference.chains[l].dwh, computed.chains[l].dwh);
    check(in.chains[l].bias, reference.chains[l].dbias, computed.chains[l].dbias);
  }
  CHECK(compared == 7 * 3 * 5 + 12 * (5 + 3 + 1) + 12 * (3 + 3 + 1));
  spec.truncate_steps = 0;  // and not those of all steps
  CHECK(relative_difference(recurrent_reference(spec, in).chains[0].dwh, reference.chains[0].dwh) >
        0.01);
}

TEST_CASE("truncated networks equal the reference in every cell, cut and memory") {
  for (const RecurrentSpec& whole : {test::odd_network(RecurrentCell::lstm),
                                     test::odd_network(RecurrentCell::gru),
                                     test::odd_network(RecurrentCell::gru_reset_before),
                                     test::projected_network()}) {
    for (const Granularity granularity : test::granularities) {
      for (const std::int64_t segment : {1, 3, 6}) {
        RecurrentSpec spec = truncated_network(whole, segment);
        spec.granularity = granularity;
        spec.accumulation = segment == 3 ? Accumulation::batched : Accumulation::partial;
        CAPTURE(test::described(spec));
        CAPTURE(segment);
        const RecurrentResults<float> found = test::serial_results(spec, 7);
        const auto expected = recurrent_reference(spec, to_double(draw_recurrent_inputs(spec, 7)));
        CHECK(largest_difference(found, expected) < 2e-6);
        if (spec.cell == RecurrentCell::gru_reset_before) continue;
        for (const Recompute recompute : {Recompute::keep_backward, Recompute::data_drop}) {
          const RecurrentSpec kept = test::recomputed(spec, recompute);
          const TaskGraph graph = recurrent(kept);
          RecurrentWork work{kept, graph, 7, TensorAllocation::by_tensor};
          run_serially(work, graph);
          CHECK(test::differing(work.results(), found).empty());
        }
      }
    }
  }
}

TEST_CASE("a truncation of all steps changes nothing") {
  const RecurrentSpec whole = truncated_network(test::odd_network(RecurrentCell::lstm), 0);
  const RecurrentSpec long_segment = truncated_network(whole, whole.steps);
  CHECK(test::serial_results(long_segment) == test::serial_results(whole));
}

TEST_CASE("a truncated execution on two workers allocates what its simulation holds") {
  CpuExecutor executor({.workers = 2,
                        .host = HostPlacement::preloaded,
                        .pin = false,
                        .prepare_worker = &prepare_worker_thread});
  RecurrentSpec spec;
  spec.layers = 3;
  spec.steps = 40;
  spec.batch = 4;
  spec.hidden = 32;
  spec.pass = RecurrentPass::training;
  double last = 1e18;
  for (const std::int64_t segment : {0, 20, 10, 2}) {
    CAPTURE(segment);
    spec.truncate_steps = segment;
    const testing::Scene scene(recurrent(spec), Duration{1'000'000});
    const Problem problem = scene.problem();
    RecurrentWork work{spec, scene.graph, 3, TensorAllocation::by_tensor};
    Execution run;
    const Plan single = make_policy("single_stream")->plan(problem);
    executor.run(scene.graph, single, work, run);
    const auto measured = static_cast<double>(work.memory()->tensors_peak.count());
    CHECK(std::abs(measured / test::simulated_peak(problem, single) - 1) < 0.05);
    CHECK(measured < last);
    last = measured;
    const RecurrentResults<float> alone = work.results();
    executor.run(scene.graph, make_policy("diagonal")->plan(problem), work, run);
    CHECK(test::differing(work.results(), alone).empty());
  }
}
