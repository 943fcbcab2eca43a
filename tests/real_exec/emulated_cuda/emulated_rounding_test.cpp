// SPDX-License-Identifier: Apache-2.0
// How far results are from double precision when the factors of products are rounded as tensor
// cores round them, and sums are taken in fp32: whether the bounds for real devices hold, and are
// not so wide that they hold for anything.
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "real_exec/recurrent/rounding_bound.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace schedlab;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 11;

RecurrentSpec network(RecurrentCell cell, std::int64_t layers, std::int64_t steps) {
  RecurrentSpec spec;
  spec.cell = cell;
  spec.layers = layers;
  spec.steps = steps;
  spec.batch = 4;
  spec.hidden = 32;
  spec.pass = RecurrentPass::backward;
  spec.accumulation = Accumulation::batched;
  spec.tensors = false;
  return spec;
}

/// The largest relative difference of any result.
double worst_difference(const RecurrentSpec& spec, CudaPrecision precision) {
  CudaExecutor executor;
  const Scene scene(recurrent(spec), Duration{1});
  CudaRecurrentWork work(executor, spec, scene.graph, seed, precision);
  Execution run;
  executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run);
  double worst = 0;
  const auto expected = recurrent_reference(spec, to_double(work.inputs()));
  for_each_result(
      work.results(), expected, [&](const std::string& name, const auto& a, const auto& b) {
        // Weights are not updated in a backward pass, and neither side has a loss of its own then.
        if (a.size() != b.size() || a.empty() || name == "loss") return;
        const double difference = relative_difference(a, b);
        CAPTURE(name);
        CHECK(std::isfinite(difference));
        worst = std::max(worst, difference);
      });
  return worst;
}

DataType type_of(CudaPrecision precision) {
  switch (precision) {
    case CudaPrecision::tf32:
      return DataType::tf32;
    case CudaPrecision::bf16:
      return DataType::bf16;
    default:
      return DataType::fp32;
  }
}

}  // namespace

TEST_CASE("realistic rounding stays within the bounds, deep in layers and in steps, and is seen") {
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    for (const auto& [layers, steps] : {std::pair{4, 6}, std::pair{1, 50}}) {
      const RecurrentSpec spec = network(cell, layers, steps);
      for (const bool to_nearest : {false, true}) {
        testing::round_emulated_tf32(to_nearest);
        for (const CudaPrecision precision :
             {CudaPrecision::fp32, CudaPrecision::tf32, CudaPrecision::bf16}) {
          CAPTURE(static_cast<int>(cell));
          CAPTURE(layers);
          CAPTURE(to_nearest);
          CAPTURE(std::string{to_string(precision)});
          const double bound = rounding_bound(type_of(precision));
          const double worst = worst_difference(spec, precision);
          CHECK(worst <= bound);
          // fp32 has few terms to sum here; of the others a bound a hundred times too wide would
          // let a mistake pass.
          if (precision != CudaPrecision::fp32) CHECK(worst >= bound / 100);
        }
      }
    }
  }
  testing::round_emulated_tf32(false);
}
