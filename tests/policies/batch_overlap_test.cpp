// SPDX-License-Identifier: Apache-2.0
// Two micro-batches beside each other: what is hidden, what it costs, what must not change.
#include "policies/pipeline/interleave.hpp"
#include "tests/policies/gpt_pipeline_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace schedlab {
namespace {

using testing::GptRun;

using Values = std::map<std::string, OptionValue>;

/// Experts on four ranks, or blocks that four ranks share.
Values shared_by_four(bool experts, std::int64_t microbatches) {
  Values options{
      {"stages", std::int64_t{1}}, {"samples", std::int64_t{8}}, {"microbatches", microbatches}};
  if (experts) options["experts"] = std::int64_t{8};
  options[experts ? "expert_parallel" : "tensor_parallel"] = std::int64_t{4};
  return options;
}

/// Devices that run any number of kernels as if alone, and hosts that cost nothing.
void make_unlimited(GptRun& run) {
  run.platform.sharing = SharingModel::exclusive;
  run.platform.hosts[HostId{0}] = {};
  Device& device = run.platform.devices[DeviceId{0}];
  device.launch_latency = Duration{0};
  device.stream_gap = Duration{0};
  device.event_latency = Duration{0};
  for (UnitClass& units : device.unit_classes) units.count = 0;
  run.platform.network.collectives.contend = false;
  run.costs = CostTable(run.graph, run.platform, *make_cost_model("tiled_gemm"));
}

/// Both streams of rank 0, worked out from its launches and the durations alone: each task waits
/// for the one before in its stream and in its micro-batch's passes.
Duration two_streams(const GptRun& run) {
  Duration compute{0};
  Duration exchange{0};
  std::map<std::int32_t, Duration> ready;  // by micro-batch
  for (const HostCall& call : run.plan.hosts[HostId{0}].calls) {
    if (call.kind() != HostCallKind::launch) continue;
    const TaskId task = call.task();
    const std::int32_t microbatch = run.graph.tags(task).microbatch;
    Duration& stream =
        microbatch >= 0 && run.graph.collectives().of(task).valid() ? exchange : compute;
    stream = std::max(stream, ready[microbatch]) + run.costs.duration(task);
    ready[microbatch] = stream;
  }
  return compute;
}

double run_us(const GptRun& run) {
  return to_us(simulate(run.problem(), run.plan).makespan());
}

}  // namespace

TEST_CASE("a pair's collectives run beside the other's kernels, to the picosecond") {
  for (const bool experts : {true, false}) {
    for (const std::int64_t microbatches : {2, 4}) {
      CAPTURE(experts);
      CAPTURE(microbatches);
      GptRun beside{shared_by_four(experts, microbatches), "batch_overlap"};
      GptRun in_turn{shared_by_four(experts, microbatches),
                     "batch_overlap",
                     {{"overlap", std::string{"in_turn"}}}};
      make_unlimited(beside);
      make_unlimited(in_turn);
      Duration sum{0};
      for (const TaskId task : in_turn.graph.tasks()) {
        if (in_turn.graph.rank(task) == 0) sum += in_turn.costs.duration(task);
      }
      CHECK(simulate(in_turn.problem(), in_turn.plan).makespan() == sum);
      const Duration expected = two_streams(beside);
      CHECK(simulate(beside.problem(), beside.plan).makespan() == expected);
      CHECK(expected < sum);
    }
  }
}

TEST_CASE("the chain with the least left before its next collective goes first") {
  const auto us = [](int n) { return Duration{n * 1'000'000}; };
  // A: 4 us, a collective of 3 us, 2 us. B: 1 us, a collective of 5 us, 1 us.
  const std::vector<ChainTask> a{{us(4)}, {us(3), true}, {us(2)}};
  const std::vector<ChainTask> b{{us(1)}, {us(5), true}, {us(1)}};
  // B computes to 1, exchanges to 6; A computes to 5, exchanges from 6 to 9; B goes on at 6.
  CHECK(interleave({a, b}) == std::vector<std::size_t>{1, 1, 0, 0, 1, 0});
  // What has no collective fills in.
  const std::vector<ChainTask> c{{us(1)}, {us(1)}};
  CHECK(interleave({c, a}) == std::vector<std::size_t>{1, 1, 0, 0, 1});
  CHECK(interleave({a, a}) == std::vector<std::size_t>{0, 0, 1, 1, 0, 1});
  CHECK(interleave({c}) == std::vector<std::size_t>{0, 0});
  CHECK(interleave({}).empty());
}

TEST_CASE("what communication takes slows down what computes beside it, and nothing in turn") {
  for (const bool experts : {true, false}) {
    CAPTURE(experts);
    const auto with = [&](const char* overlap, std::uint32_t units, bool contend) {
      Values options = shared_by_four(experts, 2);
      options["hidden"] = std::int64_t{4096};
      options["window"] = std::int64_t{1024};
      options["data_type"] = std::string{"bf16"};
      options["passes"] = std::string{"kernels"};
      GptRun run{options, "batch_overlap", {{"overlap", std::string{overlap}}}};
      run.platform.network.collectives.units = units;
      run.platform.network.collectives.contend = contend;
      run.costs = CostTable(run.graph, run.platform, *make_cost_model("tiled_gemm"));
      return run_us(run);
    };
    // In turn nothing is beside a collective: more units only let it move more.
    CHECK(with("in_turn", 24, true) == with("in_turn", 24, false));
    CHECK(with("in_turn", 96, true) <= with("in_turn", 24, true));
    // Beside each other units that communication holds and does not need are lost.
    const double few = with("interleaved", 24, true);
    CHECK(few < with("in_turn", 24, true));
    CHECK(with("interleaved", 96, true) > 1.02 * few);
    CHECK(with("interleaved", 24, false) <= few);
  }
}

TEST_CASE("pairs of micro-batches are sound for any number of them, of stages and replicas") {
  for (const std::int64_t stages : {1, 2}) {
    for (const std::int64_t microbatches : {1, 2, 3, 5}) {
      for (const bool sequence_parallel : {false, true}) {
        CAPTURE(stages);
        CAPTURE(microbatches);
        const GptRun run{{{"stages", stages},
                          {"microbatches", microbatches},
                          {"tensor_parallel", std::int64_t{2}},
                          {"sequence_parallel", sequence_parallel},
                          {"replicas", std::int64_t{2}}},
                         "batch_overlap"};
        CHECK(run.trace.tasks.size() == run.graph.task_count());
      }
    }
  }
  // One micro-batch is alone: as 1F1B has it.
  const GptRun alone{shared_by_four(true, 1), "batch_overlap"};
  const GptRun plain{shared_by_four(true, 1), "pipeline_1f1b"};
  CHECK(alone.trace.makespan() == plain.trace.makespan());
}

TEST_CASE("without collectives a message of a pair travels while the other computes") {
  const auto makespan = [](const char* overlap) {
    GptRun run{{{"stages", std::int64_t{2}}, {"microbatches", std::int64_t{4}}},
               "batch_overlap",
               {{"overlap", std::string{overlap}}}};
    make_unlimited(run);
    return run_us(run);
  };
  CHECK(makespan("interleaved") < makespan("in_turn"));
}

TEST_CASE("DualPipe's forward pass hides exchanges of the backward pass beside it") {
  const auto makespan = [](const char* policy, Values options, const char* overlap) {
    options["experts"] = std::int64_t{8};
    options["expert_parallel"] = std::int64_t{4};
    options["samples"] = std::int64_t{8};
    options["microbatches"] = std::int64_t{8};
    GptRun run{options, policy, {{"overlap", std::string{overlap}}}};
    make_unlimited(run);
    return run_us(run);
  };
  const Values v{{"stages", std::int64_t{4}},
                 {"virtual_stages", std::int64_t{2}},
                 {"placement", std::string{"v"}}};
  const Values both{{"stages", std::int64_t{2}}, {"placement", std::string{"bidirectional"}}};
  CHECK(makespan("pipeline_dualpipe_v", v, "interleaved") <
        makespan("pipeline_dualpipe_v", v, "in_turn"));
  CHECK(makespan("pipeline_dualpipe", both, "interleaved") <
        makespan("pipeline_dualpipe", both, "in_turn"));
}

TEST_CASE("one-sided transfers: no rank waits until the receiver asks") {
  for (const std::int64_t microbatches : {2, 6}) {
    const auto run = [&](const char* transfers) {
      return GptRun{{{"stages", std::int64_t{4}}, {"microbatches", microbatches}},
                    "pipeline_1f1b",
                    {{"transfers", std::string{transfers}}}};
    };
    const GptRun one_sided = run("one_sided");
    CHECK(
        std::all_of(one_sided.plan.messages.begin(),
                    one_sided.plan.messages.end(),
                    [](const MessageSpec& message) { return message.one_sided == OneSided::put; }));
    CHECK(one_sided.trace.makespan() <= run("blocking").trace.makespan());
  }
}

}  // namespace schedlab
