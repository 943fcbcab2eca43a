// SPDX-License-Identifier: Apache-2.0
#include "policies/registry.hpp"
#include "real_exec/cpu/cpu_executor.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace schedlab;

TEST_CASE("a training step on several threads computes the bits of one thread, under any policy") {
  CpuExecutorOptions options;
  options.workers = 3;
  options.host = HostPlacement::preloaded;
  options.pin = false;  // tests run beside others on machines with few cores
  CpuExecutor executor{options};
  for (const RecurrentCell cell :
       {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before}) {
    for (const Granularity granularity : {Granularity::fine, Granularity::data_and_weight}) {
      RecurrentSpec spec = test::odd_network(cell, Bidirectional::first);
      spec.granularity = granularity;
      spec.tensors = true;
      const TaskGraph graph = recurrent(spec);
      const RecurrentResults<float> serial = test::serial_results(spec);
      const TaskGraph cut =
          CutKernels{{.flops_per_block = 500.0, .bytes_per_block = 500.0}, 3}.apply(graph);
      const Platform platform = ideal_platform();
      const CostTable costs{cut, platform};
      RecurrentWork work{spec, cut, 1};
      for (const std::string policy : {"single_stream", "diagonal", "heft"}) {
        CAPTURE(policy);
        Execution execution;
        work.reset();
        executor.run(cut, make_policy(policy)->plan({cut, platform, costs}), work, execution);
        for_each_result(
            work.results(), serial, [](const std::string& name, const auto& a, const auto& b) {
              CAPTURE(name);
              CHECK(a == b);
            });
      }
    }
  }
}
