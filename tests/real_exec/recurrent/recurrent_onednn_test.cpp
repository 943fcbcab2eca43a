// SPDX-License-Identifier: Apache-2.0
#include "real_exec/vendor/onednn_lstm.hpp"
#include "sim/base/error.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"

#include <doctest/doctest.h>

using namespace schedlab;

TEST_CASE("oneDNN's LSTM and ours compute the same training step") {
  if (!OnednnLstm::available()) {
    MESSAGE("built without oneDNN");
    return;
  }
  OnednnLstm::set_threads(1);
  for (const RecurrentPass pass : {RecurrentPass::training, RecurrentPass::backward}) {
    RecurrentSpec spec = test::odd_network(RecurrentCell::lstm);
    spec.pass = pass;
    spec.input = spec.hidden;
    spec.layers = 3;
    const TaskGraph graph = recurrent(spec);
    RecurrentWork work{spec, graph, 1};
    run_serially(work, graph);
    OnednnLstm other{spec, work.inputs()};
    // Twice: a second run must not add to the first.
    for (int run = 0; run < 2; ++run) {
      other.reset();
      other.forward();
      if (pass == RecurrentPass::training) other.loss();
      other.backward();
    }
    for_each_result(
        work.results(), other.results(), [](const std::string& name, const auto& a, const auto& b) {
          CAPTURE(name);
          // oneDNN has no update.
          if (name[0] == 'W' || name[0] == 'b') return;
          REQUIRE(a.size() == b.size());
          // Both are within 1e-5 of the reference (recurrent_work_test.cpp).
          CHECK(relative_difference(a, b) < 2e-5);
        });
  }
}

TEST_CASE("what oneDNN cannot do is refused") {
  RecurrentSpec spec = test::odd_network(RecurrentCell::gru);
  const RecurrentInputs<float> none;
  CHECK_THROWS_AS((OnednnLstm{spec, none}), InfeasibleError);
  spec = test::odd_network(RecurrentCell::lstm);
  CHECK_THROWS_AS((OnednnLstm{spec, none}), InfeasibleError);  // 5 wide, hidden 17
}
