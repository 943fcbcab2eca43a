// SPDX-License-Identifier: Apache-2.0
#include "hw_models/registry.hpp"
#include "sim/base/error.hpp"
#include "tests/policies/pipeline_support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace schedlab {
namespace {

using namespace literals;
using testing::equal_pipeline;
using testing::PipelineRun;

/// A chain of ranks with 1 GB/s and no latency; messages need a receiver.
Platform slow_network(std::uint32_t ranks) {
  Platform platform = ideal_platform();
  platform.ranks = ranks;
  platform.network.topology = Topology::ring;
  platform.network.node = {.bandwidth = 1_GB_per_s, .latency = Duration{0}};
  return platform;
}

struct NetworkRun {
  TaskGraph graph;
  Platform platform;
  CostTable costs;
  Plan plan;
  Trace trace;

  NetworkRun(const PipelineSpec& spec,
             const std::string& policy,
             const std::map<std::string, OptionValue>& options = {})
      : graph(pipeline_graph(spec)), platform(slow_network(graph.rank_count())) {
    costs = CostTable(graph, platform, *make_cost_model("roofline"));
    const Problem problem{graph, platform, costs};
    plan = make_policy(policy, options)->plan(problem);
    const auto findings = check(graph, platform, plan);
    for (const Finding& finding : findings) CAPTURE(finding.message);
    REQUIRE(findings.empty());
    trace = simulate(problem, plan);
  }

  [[nodiscard]] const TaskSpan& span(PipelineWork work, std::int16_t stage, std::int32_t m) const {
    return *std::find_if(trace.tasks.begin(), trace.tasks.end(), [&](const TaskSpan& s) {
      const Tags& tags = graph.tags(s.task);
      return pipeline_work(tags) == work && tags.stage == stage && tags.microbatch == m;
    });
  }
};

std::int64_t bytes_sent(const Plan& plan) {
  return std::accumulate(
      plan.messages.begin(),
      plan.messages.end(),
      std::int64_t{0},
      [](std::int64_t sum, const MessageSpec& m) { return sum + m.bytes.count(); });
}

}  // namespace

TEST_CASE("micro-batches are as equal as possible and cost what their samples cost") {
  // 10 samples in 4 micro-batches: 3, 3, 2, 2.
  PipelineSpec spec = equal_pipeline(1, 4);
  spec.batch = 10;
  spec.profile.stages[0].forward = {.fixed = 1us, .per_sample = 2us};
  const PipelineRun run{spec, "pipeline_flush"};
  std::vector<Duration> forward;
  for (const TaskSpan& span : run.trace.tasks) {
    if (pipeline_work(run.graph.tags(span.task)) == PipelineWork::forward) {
      forward.push_back(span.duration());
    }
  }
  CHECK(forward == std::vector<Duration>{7us, 7us, 5us, 5us});
  spec.batch = 3;
  CHECK_THROWS_AS(static_cast<void>(pipeline_graph(spec)), InfeasibleError);
}

TEST_CASE("replicas share a batch as equally as possible") {
  // 7 samples: 4 and 3, in 2 micro-batches each: 2 + 2 and 2 + 1.
  PipelineSpec spec = equal_pipeline(1, 2);
  spec.replicas = 2;
  spec.batch = 7;
  spec.profile.stages[0].forward = {.fixed = 0us, .per_sample = 1us};
  const PipelineRun run{spec, "pipeline_flush"};
  Duration work[2] = {Duration{0}, Duration{0}};
  for (const TaskSpan& span : run.trace.tasks) {
    if (pipeline_work(run.graph.tags(span.task)) == PipelineWork::forward) {
      work[run.graph.rank(span.task)] += span.duration();
    }
  }
  CHECK(work[0] == 4us);
  CHECK(work[1] == 3us);
}

TEST_CASE("activations and gradients travel between neighbours, labels first") {
  PipelineSpec spec = equal_pipeline(3, 2);
  spec.profile.links = chain_links(3, 1000_B);
  spec.profile.labels = 8_B;
  const NetworkRun run{spec, "pipeline_1f1b"};
  // Each micro-batch: 2 activations, 2 gradients, labels.
  CHECK(run.plan.messages.size() == 2 * 5);
  CHECK(bytes_sent(run.plan) == 2 * (4 * 1000 + 8));
  const auto& calls = run.plan.hosts[HostId{0}].calls;
  const auto first = std::find_if(
      calls.begin(), calls.end(), [](HostCall c) { return c.kind() == HostCallKind::isend; });
  CHECK(run.plan.messages[first->message()].to == HostId{2});  // labels, to the last stage
  // 1000 bytes at 1 GB/s take 1 us: forward on stage 1 begins 1 us after stage 0 is done with it.
  CHECK(run.span(PipelineWork::forward, 1, 0).started -
            run.span(PipelineWork::forward, 0, 0).ended ==
        1us);
}

TEST_CASE("branches of a model send to each stage that reads them") {
  PipelineSpec spec = equal_pipeline(3, 1);
  spec.profile.links.push_back({0, 2, 500_B});
  CHECK(NetworkRun{spec, "pipeline_flush"}.plan.messages.size() == 6);
}

TEST_CASE("compression sends fewer bytes and takes time on both ends") {
  PipelineSpec spec = equal_pipeline(2, 1);
  spec.profile.links = chain_links(2, 4000_B);
  const NetworkRun plain{spec, "pipeline_flush"};
  spec.compression_ratio = 4;
  const NetworkRun free{spec, "pipeline_flush"};
  spec.compression_rate = 4_GB_per_s;
  const NetworkRun paid{spec, "pipeline_flush"};
  // Stage 0: 1 forward, 2 backward; stage 1 likewise; 4 us each way, or 1 us, or 1 + 1 + 1 us.
  CHECK(plain.trace.makespan() == 6us + 2 * 4us);
  CHECK(free.trace.makespan() == 6us + 2 * 1us);
  CHECK(paid.trace.makespan() == 6us + 2 * 3us);
  CHECK(bytes_sent(paid.plan) == 2 * 1000);
}

TEST_CASE("packing takes its link's time on both ends, and not within a rank") {
  PipelineSpec spec = equal_pipeline(2, 1);
  spec.profile.links = chain_links(2, 4000_B);
  spec.profile.links[0].encoded = 1000_B;
  spec.profile.links[0].pack = {.fixed = 1us, .per_sample = 1us};
  spec.profile.links[0].unpack = {.fixed = 3us};
  spec.packs = true;
  const NetworkRun run{spec, "pipeline_flush"};
  // 3 us of each stage; each way 1 + 1 us, 1000 bytes at 1 GB/s, 3 us.
  CHECK(run.trace.makespan() == 6us + 2 * (2us + 1us + 3us));
  CHECK(bytes_sent(run.plan) == 2 * 1000);
  spec.virtual_stages = 2;  // both stages on one rank
  const NetworkRun alone{spec, "pipeline_flush"};
  CHECK(alone.trace.makespan() == 6us);
  CHECK(alone.graph.task_count() == 2 * 4);  // forward, both backward passes, update
}

TEST_CASE("overlapped transfers hide behind passes, blocking ones do not") {
  // 1F1B with blocking calls above the eager threshold would be stuck; flush is not.
  PipelineSpec spec = equal_pipeline(2, 6);
  spec.profile.links = chain_links(2, 1000_B);
  const NetworkRun blocking{spec, "pipeline_flush", {{"transfers", std::string{"blocking"}}}};
  const NetworkRun overlapped{spec, "pipeline_flush"};
  CHECK(overlapped.trace.makespan() < blocking.trace.makespan());
  // Stage 0 sends while it works on the next micro-batch: 6 forward, then the last message (1),
  // the last forward and first backward of stage 1 (1 + 2), the gradient (1), 6 backward (12).
  CHECK(overlapped.trace.makespan() == 23us);
}

TEST_CASE("no schedule of one chunk is stuck with blocking calls, though no message is buffered") {
  for (const std::string& policy : testing::pipeline_policy_names()) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U}) {
      for (const std::int64_t microbatches : {1, 2, 3, 5, 8}) {
        CAPTURE(policy);
        CAPTURE(ranks);
        CAPTURE(microbatches);
        PipelineSpec spec = equal_pipeline(ranks, microbatches);
        spec.profile.links = chain_links(ranks, 1000_B);
        spec.profile.labels = 8_B;
        const NetworkRun run{spec, policy, {{"transfers", std::string{"blocking"}}}};
        CHECK(run.trace.tasks.size() == run.graph.task_count());
      }
    }
  }
}

TEST_CASE(
    "with virtual_stages a ring of three ranks is stuck in blocking calls, and the checker says "
    "so") {
  // Each sends its first virtual stage's micro-batches on; rank 0 takes none of rank 2's before it
  // has sent all of its own, and two ranks hold one message each.
  const auto findings = [](const char* policy, std::uint32_t ranks, std::int64_t microbatches) {
    PipelineSpec spec = equal_pipeline(2 * ranks, microbatches);
    spec.profile.links = chain_links(2 * ranks, 1000_B);
    spec.virtual_stages = 2;
    const TaskGraph graph = pipeline_graph(spec);
    const Platform platform = slow_network(ranks);
    const CostTable costs{graph, platform, *make_cost_model("roofline")};
    return check(graph,
                 platform,
                 make_policy(policy, {{"transfers", std::string{"blocking"}}})
                     ->plan({graph, platform, costs}));
  };
  for (const char* const policy : {"pipeline_flush", "pipeline_interleaved_1f1b"}) {
    const auto found = findings(policy, 3, 3);
    REQUIRE_FALSE(found.empty());
    CHECK(found.front().kind == FindingKind::deadlock);
    CHECK(findings(policy, 3, 2).empty());
    CHECK(findings(policy, 2, 8).empty());
  }
  CHECK(findings("pipeline_naive", 3, 8).empty());
}

TEST_CASE("ranks that send to each other under 1F1B send and receive at once") {
  // Two stages: stage 0 sends the activation of micro-batch 1 when stage 1 sends the gradient of 0.
  PipelineSpec spec = equal_pipeline(2, 3);
  spec.profile.links = chain_links(2, 1000_B);
  const NetworkRun run{spec, "pipeline_1f1b", {{"transfers", std::string{"blocking"}}}};
  std::string calls;
  for (const HostCall& call : run.plan.hosts[HostId{0}].calls) {
    switch (call.kind()) {
      case HostCallKind::launch:
        calls += to_string(*pipeline_work(run.graph.tags(call.task()))).substr(0, 1);
        break;
      case HostCallKind::send:
        calls += '>';
        break;
      case HostCallKind::isend:
        calls += '(';
        break;
      case HostCallKind::receive:
        calls += '<';
        break;
      case HostCallKind::wait_message:
        calls += ')';
        break;
      default:
        break;
    }
  }
  // Forward 0, its activation alone; forward 1 and 2, each activation while a gradient comes; the
  // last gradient alone.
  CHECK(calls == "f>f(<)bbf(<)bb<bbu");
  // Stage 0: forward 0 (1 us), its message (1); forward 1 waits for neither. Stage 1: from 2 us on
  // 3 us for each micro-batch, and behind each but the last both messages at once (1 us, a link for
  // each direction). The last gradient (1) and stage 0's last backward passes (2): 2 + 3 x 3 + 2 +
  // 1 + 2.
  CHECK(run.trace.makespan() == 16us);
}

TEST_CASE("gradients are summed over replicas, with overlap as soon as a chunk has them") {
  PipelineSpec spec = equal_pipeline(4, 4);
  spec.virtual_stages = 2;
  spec.replicas = 2;
  spec.batch = 8;
  for (StageProfile& stage : spec.profile.stages) stage.parameters = 1000_B;
  const NetworkRun overlapped{spec, "pipeline_interleaved_1f1b"};
  const NetworkRun after{
      spec, "pipeline_interleaved_1f1b", {{"gradient_sums", std::string{"after_passes"}}}};
  CHECK(overlapped.graph.collectives().size() == 4);
  // Ring of 2: 2 x 1/2 x 1000 bytes at 1 GB/s = 1 us. Afterwards both virtual stages' sums follow
  // each other; overlapped only that of the virtual stage which ends last is left.
  CHECK(after.trace.makespan() - overlapped.trace.makespan() == 1us);
}

TEST_CASE("sums before sending add up along the stages, others go on side by side") {
  // 3 stages of 2 replicas. Each sum takes 1 us; the way of the last gradient back passes all
  // three.
  PipelineSpec spec = equal_pipeline(3, 2);
  spec.replicas = 2;
  spec.batch = 4;
  for (StageProfile& stage : spec.profile.stages) stage.parameters = 1000_B;
  const auto makespan = [&](const char* sums) {
    return NetworkRun{spec, "pipeline_flush", {{"gradient_sums", std::string{sums}}}}
        .trace.makespan();
  };
  CHECK(makespan("overlapped") == (2 + 2) * 3us + 1us);
  CHECK(makespan("after_passes") == (2 + 2) * 3us + 1us);
  CHECK(makespan("before_sending") == (2 + 2) * 3us + 3 * 1us);
}

TEST_CASE("tied parameters are summed over their stages, at the end of backward") {
  PipelineSpec spec = equal_pipeline(3, 2);
  for (StageProfile& stage : spec.profile.stages) stage.parameters = 3000_B;
  spec.profile.tied.push_back({"embedding", 1000_B, {0, 2}});
  const NetworkRun alone{spec, "pipeline_flush"};
  REQUIRE(alone.graph.collectives().size() == 1);
  CHECK(alone.graph.collectives().spec(CollectiveId{0}).bytes == 1000_B);
  CHECK(alone.graph.collectives().tasks(CollectiveId{0}).size() == 2);
  spec.replicas = 2;
  spec.batch = 4;
  const NetworkRun grouped{spec, "pipeline_flush"};
  // A sum for each stage over 2 replicas, without what is tied, and one for what is, over 4 ranks.
  REQUIRE(grouped.graph.collectives().size() == 4);
  CHECK(grouped.graph.collectives().spec(CollectiveId{0}).bytes == 2000_B);
  CHECK(grouped.graph.collectives().spec(CollectiveId{1}).bytes == 3000_B);
  CHECK(grouped.graph.collectives().tasks(CollectiveId{3}).size() == 4);
  for (const std::string& policy : testing::pipeline_policy_names()) {
    for (const char* sums : {"overlapped", "after_passes", "before_sending"}) {
      CHECK(NetworkRun{spec, policy, {{"gradient_sums", std::string{sums}}}}.trace.tasks.size() ==
            grouped.graph.task_count());
    }
  }
}

TEST_CASE("graphs that are no pipeline are refused with the way out") {
  TaskGraphBuilder builder;
  builder.add_task(builder.add_operation({.name = "cell"}), {.layer = 1, .step = 2});
  const TaskGraph graph = std::move(builder).build();
  const Platform platform = ideal_platform();
  const CostTable costs{graph, platform};
  try {
    static_cast<void>(make_policy("pipeline_1f1b")->plan({graph, platform, costs}));
    CHECK(false);
  } catch (const InfeasibleError& error) {
    const std::string what = error.what();
    CHECK(what.find("cell(1,2) has no stage") != std::string::npos);
    CHECK(what.find("workload \"pipeline\"") != std::string::npos);
  }
}

TEST_CASE(
    "policies for one stage a rank refuse several virtual_stages and name the one that does not") {
  PipelineSpec spec = equal_pipeline(4, 4);
  spec.virtual_stages = 2;
  for (const char* policy : {"pipeline_1f1b", "pipeline_zb_h1"}) {
    CHECK_THROWS_AS((PipelineRun{spec, policy}), InfeasibleError);
  }
  PipelineRun{spec, "pipeline_flush"};
  PipelineRun{spec, "pipeline_naive"};
}

}  // namespace schedlab
