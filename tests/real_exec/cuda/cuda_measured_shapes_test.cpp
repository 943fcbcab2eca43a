// SPDX-License-Identifier: Apache-2.0
// Results at the shapes whose times are quoted: other kernels of the libraries than small ones get.
#include "policies/registry.hpp"
#include "real_exec/cuda/cuda_executor.hpp"
#include "real_exec/recurrent/recurrent_differences.hpp"
#include "real_exec/recurrent/recurrent_reference.hpp"
#include "real_exec/recurrent/rounding_bound.hpp"
#include "real_exec/vendor/library_rnn.hpp"
#include "sim/base/error.hpp"
#include "sim/plan/graph_capture.hpp"
#include "tests/real_exec/cuda/cuda_device.hpp"
#include "tests/support/scenes.hpp"
#include "workloads/models/recurrent/recurrent.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace schedlab;
using schedlab::testing::device_missing;
using schedlab::testing::Scene;

namespace {

constexpr std::uint64_t seed = 1;  // of the verbs

/// 4 layers, batch 64, hidden 1024, the backward pass; weight products over 10 steps.
RecurrentSpec quoted(std::int64_t steps, DataType type) {
  RecurrentSpec spec;
  spec.layers = 4;
  spec.steps = steps;
  spec.batch = 64;
  spec.hidden = 1024;
  spec.type = type;
  spec.pass = RecurrentPass::backward;
  spec.accumulation = Accumulation::batched;
  spec.accumulation_steps = 10;
  return spec;
}

template <class Expected>
void check_close(const RecurrentResults<float>& found, const Expected& expected, double limit) {
  for_each_result(
      found, expected, [&](const std::string& name, const auto& ours, const auto& theirs) {
        if (ours.size() != theirs.size() || name == "loss") return;
        CAPTURE(name);
        CHECK(relative_difference(ours, theirs) <= limit);
      });
}

/// Of critical-first, as a device graph.
RecurrentResults<float> computed(CudaExecutor& executor,
                                 const RecurrentSpec& spec,
                                 RecurrentInputs<float>& inputs) {
  const Scene scene(recurrent(spec), Duration{1});
  CudaRecurrentWork work(executor, spec, scene.graph, seed);
  inputs = work.inputs();
  Execution run;
  executor.run(
      scene.graph, capture_graphs(make_policy("critical_first")->plan(scene.problem())), work, run);
  return work.results();
}

}  // namespace

TEST_CASE("results at measured shapes are as exact as their factors") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const DataType type : {DataType::fp32, DataType::tf32, DataType::bf16}) {
    CAPTURE(std::string{to_string(type)});
    const RecurrentSpec spec = quoted(3, type);
    RecurrentInputs<float> inputs;
    const RecurrentResults<float> found = computed(executor, spec, inputs);
    check_close(found, recurrent_reference(spec, to_double(inputs)), rounding_bound(type));
  }
}

TEST_CASE("over 50 steps ours and the library's results agree") {
  if (device_missing()) return;
  CudaExecutor executor;
  for (const DataType type : {DataType::tf32, DataType::bf16}) {
    CAPTURE(std::string{to_string(type)});
    const RecurrentSpec spec = quoted(50, type);
    RecurrentInputs<float> inputs;
    const RecurrentResults<float> ours = computed(executor, spec, inputs);
    std::unique_ptr<LibraryRnn> library;
    try {
      library = make_library_rnn(RnnLibrary::cudnn, spec, inputs, {"standard", "eager"});
    } catch (const DeviceError& error) {
      return schedlab::testing::skip(error.what());
    }
    library->poison();
    static_cast<void>(library->run(RnnCall::forward));
    static_cast<void>(library->run(RnnCall::backward));
    // Each may be off by the bound.
    check_close(ours, library->results(), 2 * rounding_bound(type));
  }
}
