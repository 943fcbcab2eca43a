// SPDX-License-Identifier: Apache-2.0
// Data type bf16 on cores: what is stored has eight bits, sums have twenty-four.
#include "real_exec/recurrent/bf16.hpp"

#include "real_exec/recurrent/rounding_bound.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

using namespace schedlab;

namespace {

constexpr std::uint64_t seed = 11;

/// The largest relative difference of any result from double precision.
double worst_difference(const RecurrentSpec& spec) {
  const TaskGraph graph = recurrent(spec);
  RecurrentWork work{spec, graph, seed};
  run_serially(work, graph);
  double worst = 0;
  for_each_result(work.results(),
                  recurrent_reference(spec, to_double(work.inputs())),
                  [&](const std::string& name, const auto& found, const auto& right) {
                    // A pass that is not training has no loss.
                    if (found.size() != right.size() || found.empty() || name == "loss") return;
                    CAPTURE(name);
                    const double difference = relative_difference(found, right);
                    CHECK(std::isfinite(difference));
                    worst = std::max(worst, difference);
                  });
  return worst;
}

bool is_bf16(float value) {
  return detail::from_bf16(detail::to_bf16(value)) == value;
}

}  // namespace

TEST_CASE("bf16 keeps eight bits, rounded to the nearest, ties to even") {
  const auto rounded = [](float value) { return detail::from_bf16(detail::to_bf16(value)); };
  CHECK(rounded(1.0F + 0x1p-7F) == 1.0F + 0x1p-7F);
  CHECK(rounded(1.0F + 0x1p-8F) == 1.0F);                       // half way, to the even one
  CHECK(rounded(1.0F + 0x3p-8F) == 1.0F + 0x1p-6F);             // half way, to the even one
  CHECK(rounded(1.0F + 0x1p-8F + 0x1p-20F) == 1.0F + 0x1p-7F);  // above half way
  CHECK(rounded(-0.0F) == 0.0F);
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isinf(rounded(std::numeric_limits<float>::max())));
}

TEST_CASE("networks in bf16 are within the derived bound of double precision, and it is seen") {
  const double bound = rounding_bound(DataType::bf16);
  for (const RecurrentCell cell :
       {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before}) {
    for (const auto& [layers, steps] : {std::pair{4, 6}, std::pair{1, 50}}) {
      for (const RecurrentPass pass : {RecurrentPass::backward, RecurrentPass::training}) {
        RecurrentSpec spec = test::odd_network(cell);
        spec.layers = layers;
        spec.steps = steps;
        spec.pass = pass;
        spec.type = DataType::bf16;
        CAPTURE(static_cast<int>(cell));
        CAPTURE(layers);
        CAPTURE(static_cast<int>(pass));
        const double worst = worst_difference(spec);
        CHECK(worst <= bound);
        // A hundredth would be rounding of another type.
        CHECK(worst >= bound / 100);
      }
    }
  }
  RecurrentSpec projected = test::projected_network(Bidirectional::all);
  projected.type = DataType::bf16;
  CHECK(worst_difference(projected) <= bound);
}

TEST_CASE(
    "bf16: outputs and input gradients are stored rounded, sums are not; cuts change no bit") {
  RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  spec.type = DataType::bf16;
  const RecurrentResults<float> fine = test::serial_results(spec);
  CHECK(std::all_of(fine.y.begin(), fine.y.end(), is_bf16));
  CHECK(std::all_of(fine.dx.begin(), fine.dx.end(), is_bf16));
  const std::vector<float>& sums = fine.chains.front().dwx;
  CHECK_FALSE(std::all_of(sums.begin(), sums.end(), is_bf16));
  for (const Granularity granularity :
       {Granularity::coarse, Granularity::matmul, Granularity::kernel_and_weight}) {
    spec.granularity = granularity;
    CHECK(test::serial_results(spec) == fine);
  }
  spec.granularity = Granularity::fine;
  spec.hidden_2_steps = 2;
  CHECK(test::serial_results(spec) == fine);
}

TEST_CASE("bf16 does not take memory tensor by tensor on cores") {
  RecurrentSpec spec = test::recomputed_network(test::odd_network(RecurrentCell::lstm));
  spec.type = DataType::bf16;
  CHECK_THROWS_WITH_AS(
      (RecurrentWork{spec, recurrent(spec), 1}), doctest::Contains("bf16"), InfeasibleError);
}
