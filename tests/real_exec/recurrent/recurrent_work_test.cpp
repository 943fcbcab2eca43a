// SPDX-License-Identifier: Apache-2.0
#include "real_exec/recurrent/recurrent_work.hpp"

#include "sim/base/error.hpp"
#include "sim/base/rng.hpp"
#include "tests/real_exec/recurrent/recurrent_scenes.hpp"
#include "workloads/transforms/cut_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using namespace schedlab;
using test::odd_network;
using test::serial_results;

namespace {

constexpr std::array<RecurrentCell, 3> cells{
    RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::gru_reset_before};
constexpr std::array<Bidirectional, 3> directions{
    Bidirectional::none, Bidirectional::first, Bidirectional::all};
constexpr std::array<Granularity, 5> granularities{Granularity::fine,
                                                   Granularity::coarse,
                                                   Granularity::matmul,
                                                   Granularity::data_and_weight,
                                                   Granularity::kernel_and_weight};
constexpr std::array<Accumulation, 3> accumulations{
    Accumulation::ordered, Accumulation::partial, Accumulation::batched};

/// fp32 rounds to 2^-24 = 6e-8. A value passes through about steps * layers = 10 nodes of a dozen
/// roundings each, whose errors the cells damp; sums over 17 to 68 products add rounding that grows
/// with the root of their length. 10 * sqrt(12) * 6e-8 = 2e-6; five times that is allowed.
constexpr double tolerance = 1e-5;

void check_close(const RecurrentResults<float>& found, const RecurrentResults<double>& expected) {
  for_each_result(found, expected, [](const std::string& name, const auto& f, const auto& e) {
    CAPTURE(name);
    REQUIRE(f.size() >= e.size());
    CHECK(relative_difference(f, e) < tolerance);
  });
}

void check_equal(const RecurrentResults<float>& found, const RecurrentResults<float>& expected) {
  for_each_result(found, expected, [](const std::string& name, const auto& f, const auto& e) {
    CAPTURE(name);
    CHECK(f == e);
  });
}

void check_against_reference(const RecurrentSpec& spec) {
  const TaskGraph graph = recurrent(spec);
  RecurrentWork work{spec, graph, 1};
  run_serially(work, graph);
  check_close(work.results(), recurrent_reference(spec, to_double(work.inputs())));
}

/// Some topological order, other than the graph's.
std::vector<TaskId> random_order(const TaskGraph& graph, Rng& rng) {
  std::vector<std::size_t> missing;
  std::vector<TaskId> ready;
  for (const TaskId task : graph.tasks()) {
    missing.push_back(graph.predecessors(task).size());
    if (missing.back() == 0) ready.push_back(task);
  }
  std::vector<TaskId> order;
  while (!ready.empty()) {
    std::swap(ready[rng.below(ready.size())], ready.back());
    const TaskId task = ready.back();
    ready.pop_back();
    order.push_back(task);
    for (const TaskId next : graph.successors(task)) {
      if (--missing[next.value()] == 0) ready.push_back(next);
    }
  }
  return order;
}

}  // namespace

TEST_CASE("a training step computes what the reference computes, whatever the cut") {
  for (const RecurrentCell cell : cells) {
    for (const Bidirectional both : directions) {
      RecurrentSpec spec = odd_network(cell, both);
      // All granularities compute the same bits (tested below), so one is compared.
      CAPTURE(static_cast<int>(cell));
      CAPTURE(static_cast<int>(both));
      check_against_reference(spec);
      spec.accumulation = Accumulation::partial;
      check_against_reference(spec);
    }
  }
}

TEST_CASE("forward and backward alone compute what the reference computes") {
  for (const RecurrentCell cell : cells) {
    for (const RecurrentPass pass : {RecurrentPass::forward, RecurrentPass::backward}) {
      CAPTURE(static_cast<int>(cell));
      CAPTURE(static_cast<int>(pass));
      RecurrentSpec spec = odd_network(cell, Bidirectional::first);
      spec.pass = pass;
      check_against_reference(spec);
    }
  }
}

TEST_CASE("an LSTM with projection computes what the reference computes, whatever the cut") {
  for (const Bidirectional both : directions) {
    for (const Granularity granularity : granularities) {
      for (const RecurrentPass pass :
           {RecurrentPass::forward, RecurrentPass::backward, RecurrentPass::training}) {
        RecurrentSpec spec = test::projected_network(both);
        spec.granularity = granularity;
        spec.pass = pass;
        CAPTURE(static_cast<int>(both));
        CAPTURE(static_cast<int>(granularity));
        CAPTURE(static_cast<int>(pass));
        check_against_reference(spec);
        if (pass == RecurrentPass::forward) continue;
        for (const RecurrentSpec& cut : test::cut_otherwise(spec)) check_against_reference(cut);
        spec.accumulation = Accumulation::partial;
        check_against_reference(spec);
      }
    }
  }
  for (const std::int64_t projection : {1, 16, 20, 33}) {  // panels of one, of two and a part
    CAPTURE(projection);
    RecurrentSpec spec = test::projected_network();
    spec.hidden = 33;
    spec.projection = projection;
    spec.optimizer = Optimizer::adam;
    check_against_reference(spec);
  }
}

TEST_CASE("widths of a panel, one above, and of several panels are right") {
  for (const std::int64_t hidden : {1, 16, 33, 64}) {
    for (const std::int64_t batch : {1, 8, 9, 20}) {
      CAPTURE(hidden);
      CAPTURE(batch);
      RecurrentSpec spec = odd_network(RecurrentCell::lstm);
      spec.hidden = hidden;
      spec.batch = batch;
      spec.input = 21;
      spec.steps = 3;
      check_against_reference(spec);
    }
  }
}

TEST_CASE("adam updates as the reference") {
  for (const RecurrentCell cell : cells) {
    RecurrentSpec spec = odd_network(cell);
    spec.optimizer = Optimizer::adam;
    // The first step of Adam is close to rate * sign(gradient): gradients near zero decide by their
    // rounding. The weights' own size hides it.
    check_against_reference(spec);
  }
}

TEST_CASE("granularities and ways to accumulate agree to the last bit") {
  for (const RecurrentCell cell : cells) {
    for (const Bidirectional both : {Bidirectional::none, Bidirectional::all}) {
      RecurrentSpec spec = odd_network(cell, both);
      const RecurrentResults<float> first = serial_results(spec);
      RecurrentSpec partial = spec;
      partial.accumulation = Accumulation::partial;
      const RecurrentResults<float> two_buffers = serial_results(partial);
      for (const Granularity granularity : granularities) {
        for (const Accumulation accumulation : accumulations) {
          CAPTURE(static_cast<int>(granularity));
          CAPTURE(static_cast<int>(accumulation));
          spec.granularity = granularity;
          spec.accumulation = accumulation;
          spec.accumulation_steps = 3;
          const bool reduced =
              accumulation == Accumulation::partial &&
              (granularity == Granularity::fine || granularity == Granularity::matmul);
          check_equal(serial_results(spec), reduced ? two_buffers : first);
        }
      }
    }
  }
}

TEST_CASE("products over several steps, in slices and within few units are right at every cut") {
  for (const RecurrentCell cell : cells) {
    for (const Bidirectional both : directions) {
      for (const Granularity granularity : granularities) {
        for (const RecurrentPass pass : {RecurrentPass::backward, RecurrentPass::training}) {
          RecurrentSpec spec = odd_network(cell, both);
          spec.granularity = granularity;
          spec.pass = pass;
          CAPTURE(static_cast<int>(cell));
          CAPTURE(static_cast<int>(both));
          CAPTURE(static_cast<int>(granularity));
          const std::vector<RecurrentSpec> cuts = test::cut_otherwise(spec);
          for (const RecurrentSpec& cut : cuts) check_against_reference(cut);
          // A product over several steps takes its sums in the same order.
          const RecurrentResults<float> whole = serial_results(spec);
          check_equal(serial_results(cuts[0]), whole);
          check_equal(serial_results(cuts[1]), whole);
        }
      }
    }
  }
}

TEST_CASE("products over several steps are right where each step's tensors have their own memory") {
  for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru}) {
    RecurrentSpec spec = odd_network(cell, Bidirectional::first);
    spec.tensors = true;
    spec.hidden_2_steps = 2;
    spec.hidden_1_slices = 17;
    const TaskGraph graph = recurrent(spec);
    RecurrentWork work{spec, graph, 1, TensorAllocation::by_tensor};
    run_serially(work, graph);
    RecurrentResults<float> whole = serial_results(spec);
    std::fill(whole.y.begin(), whole.y.end(), 0.0F);  // dropped, comes back as zeros
    check_equal(work.results(), whole);
  }
}

TEST_CASE("slices need not end with panels, nor have one each") {
  RecurrentSpec spec = odd_network(RecurrentCell::lstm);
  for (const std::int64_t slices : {2, 4, 34, 68}) {  // k = 4 * 17, 8 panels
    CAPTURE(slices);
    spec.hidden_1_slices = slices;
    check_against_reference(spec);
  }
}

TEST_CASE("a run repeats to the last bit, and any order of the tasks gives the same") {
  Rng rng{5};
  for (const RecurrentCell cell : cells) {
    for (const Granularity granularity : granularities) {
      RecurrentSpec spec = odd_network(cell, Bidirectional::first);
      spec.granularity = granularity;
      spec.optimizer = Optimizer::adam;
      const TaskGraph graph = recurrent(spec);
      RecurrentWork work{spec, graph, 1};
      run_serially(work, graph);
      const RecurrentResults<float> first = work.results();
      for (int repetition = 0; repetition < 2; ++repetition) {
        work.reset();
        for (const TaskId task : random_order(graph, rng)) {
          for (std::size_t k = 0; k < work.kernel_count(task); ++k) {
            for (std::uint32_t b = work.blocks(task, k); b-- > 0;) work.run(task, k, b);
          }
        }
        check_equal(work.results(), first);
      }
    }
  }
}

TEST_CASE("what the graph does not order may still be ordered by a plan") {
  RecurrentSpec spec = odd_network(RecurrentCell::lstm);
  spec.buffer_order = BufferOrder::by_plan;
  const TaskGraph graph = recurrent(spec);
  RecurrentWork work{spec, graph, 1};
  Rng rng{11};
  work.reset();
  for (const TaskId task : random_order(graph, rng)) {
    for (std::size_t k = 0; k < work.kernel_count(task); ++k) work.run(task, k, 0);
  }
  check_close(work.results(), recurrent_reference(spec, to_double(work.inputs())));
}

TEST_CASE("the number of blocks changes no bit, not even if most are empty") {
  for (const RecurrentCell cell : cells) {
    for (const Granularity granularity : {Granularity::fine, Granularity::coarse}) {
      RecurrentSpec spec = odd_network(cell, Bidirectional::first);
      spec.granularity = granularity;
      const TaskGraph graph = recurrent(spec);
      const RecurrentResults<float> whole = serial_results(spec);
      for (const std::uint32_t units : {2U, 3U, 100U}) {
        CAPTURE(units);
        // Every kernel has enough FLOPs for the most blocks there may be.
        const TaskGraph cut =
            CutKernels{{.flops_per_block = 1.0, .bytes_per_block = 1.0}, units}.apply(graph);
        RecurrentWork work{spec, cut, 1};
        std::uint32_t most = 0;
        for (const TaskId task : cut.tasks()) most = std::max(most, work.blocks(task, 0));
        CHECK(most == units);
        run_serially(work, cut);
        check_equal(work.results(), whole);
      }
    }
  }
}

TEST_CASE("without transfers the input is in place") {
  RecurrentSpec spec = odd_network(RecurrentCell::gru);
  const RecurrentResults<float> with = serial_results(spec);
  spec.transfers = false;
  check_equal(serial_results(spec), with);
}

TEST_CASE("another type than fp32 and bf16 is refused by its name") {
  RecurrentSpec spec = odd_network(RecurrentCell::lstm);
  spec.type = DataType::fp16;
  const TaskGraph graph = recurrent(spec);
  CHECK_THROWS_WITH_AS((RecurrentWork{spec, graph, 1}), doctest::Contains("fp16"), InfeasibleError);
}

TEST_CASE("a graph of another spec is refused, naming the task") {
  const RecurrentSpec spec = odd_network(RecurrentCell::lstm);
  RecurrentSpec wider = spec;
  wider.hidden = 18;
  CHECK_THROWS_WITH_AS((RecurrentWork{wider, recurrent(spec), 1}),
                       doctest::Contains("input_gemm(0,0)"),
                       ContractViolation);
  RecurrentSpec shorter = spec;
  shorter.steps = 2;
  CHECK_THROWS_AS((RecurrentWork{shorter, recurrent(spec), 1}), ContractViolation);
  RecurrentSpec fewer = spec;
  fewer.layers = 1;
  CHECK_THROWS_AS((RecurrentWork{fewer, recurrent(spec), 1}), ContractViolation);
}
