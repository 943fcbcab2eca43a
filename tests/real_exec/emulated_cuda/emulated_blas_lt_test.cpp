// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt: what is chosen, and that results are right.
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_context.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/emulated_cuda/emulated_device.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "tests/support/scenes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace schedlab;
namespace testing = schedlab::testing;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 7;

double worst_difference(const RecurrentSpec& spec, const CudaRecurrentWork& work) {
  double worst = 0;
  const auto expected = recurrent_reference(spec, to_double(work.inputs()));
  for_each_result(
      work.results(), expected, [&](const std::string& /*name*/, const auto& a, const auto& b) {
        if (a.size() == b.size()) worst = std::max(worst, relative_difference(a, b));
      });
  return worst;
}

}  // namespace

TEST_CASE("products by cuBLASLt are right, and the same bits eagerly, in graphs, in every run") {
  CudaExecutor executor({.products = CudaProducts::cublaslt});
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru_reset_before}) {
    const RecurrentSpec spec = test::odd_network(cell, Bidirectional::first);
    const Scene scene(recurrent(spec), Duration{1});
    CudaRecurrentWork work(executor, spec, scene.graph, seed);
    const Plan eager = make_policy("diagonal")->plan(scene.problem());
    Execution run;
    executor.run(scene.graph, eager, work, run);
    CHECK(worst_difference(spec, work) <= 1e-5);  // as with cuBLAS (cuda_recurrent_test.cpp)
    const RecurrentResults<float> first = work.results();
    for (const Plan& plan : {eager, capture_graphs(eager)}) {
      executor.run(scene.graph, plan, work, run);
      CHECK(work.results() == first);
    }
  }
}

TEST_CASE("of the suggestions for a shape the fastest that is possible is kept") {
  CudaExecutor executor({.products = CudaProducts::cublaslt});
  const RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
  const Scene scene(recurrent(spec), Duration{1});
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  Execution run;
  executor.run(scene.graph, make_policy("diagonal")->plan(scene.problem()), work, run);
  const auto choices = executor.context()->lt->choices();
  REQUIRE_FALSE(choices.empty());
  std::size_t measured = 0;
  for (const auto& choice : choices) {
    CHECK(choice.suggestions == 3);
    // The third is the fastest; what was not met before the run has the first.
    CHECK(choice.chosen == (choice.measured ? 2 : 0));
    measured += choice.measured ? 1 : 0;
  }
  CHECK(measured > 0);
  // Another run meets nothing new.
  executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run);
  CHECK(executor.context()->lt->choices().size() == choices.size());
}

TEST_CASE("products for weight gradients are told their units, and no others") {
  for (const CudaProducts products : {CudaProducts::cublas, CudaProducts::cublaslt}) {
    CudaExecutor executor({.products = products});
    RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
    for (const std::int64_t units : {0, 3}) {
      spec.weight_units = units;
      const Scene scene(recurrent(spec), Duration{1});
      static_cast<void>(testing::emulated_product_units());
      CudaRecurrentWork work(executor, spec, scene.graph, seed);
      Execution run;
      executor.run(scene.graph, make_policy("single_stream")->plan(scene.problem()), work, run);
      const std::set<int> told = testing::emulated_product_units();
      CHECK(told.contains(3) == (units == 3));
      // A handle of cuBLAS is told again; an operation of cuBLASLt is of one shape.
      const bool again = units == 3 && products == CudaProducts::cublas;
      CHECK(told.contains(0) == again);
    }
  }
}

TEST_CASE("words for products are those of the command line") {
  for (const CudaProducts products : {CudaProducts::cublas, CudaProducts::cublaslt}) {
    CHECK(enum_from<CudaProducts>(to_string(products)) == products);
  }
  CHECK(enum_from<CudaProducts>("mkl") == std::nullopt);
}
