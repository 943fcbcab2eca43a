// SPDX-License-Identifier: Apache-2.0
#include "policies/search.hpp"
#include "sim/bounds/ladder.hpp"
#include "tests/policies/pipeline_support.hpp"

#include <algorithm>

using namespace schedlab;
using namespace schedlab::literals;
using namespace schedlab::testing;

namespace {

PlanRun runs(const Problem& problem) {
  return [&problem, trace = Trace{}](const Plan& plan) mutable -> PlanOutcome {
    trace = simulate(problem, plan);
    return {&trace, trace.makespan()};
  };
}

}  // namespace

TEST_CASE("from one micro-batch at a time the search finds the least bubble") {
  // Three stages, four micro-batches, passes of 1 us: the last stage begins at 2 us and has 12 us
  // of passes; what is left of the bubble is what no order can avoid.
  const PipelineRun naive{equal_pipeline(3, 4), "pipeline_naive"};
  const Problem problem = naive.problem();
  const PlanRun run = runs(problem);
  const ScoredPlan start{naive.plan, naive.trace.makespan()};
  const auto search = make_plan_search(problem, {&start, 1}, run, {.seed = 1});
  search->advance(2000);
  CHECK(search->best().makespan == 14us);
  CHECK(check(naive.graph, naive.platform, search->best().plan).empty());
  CHECK(run(search->best().plan).makespan == 14us);
  const auto ladder = bound_ladder({.problem = problem});
  CHECK(largest(ladder).bound <= 14us);
}

TEST_CASE(
    "the same seed gives the same order, in one step or many, and better plans are taken over") {
  const PipelineRun naive{equal_pipeline(2, 5), "pipeline_naive"};
  const PipelineRun better{equal_pipeline(2, 5), "pipeline_zb_h1"};
  const Problem problem = naive.problem();
  const PlanRun run = runs(problem);
  const ScoredPlan start{naive.plan, naive.trace.makespan()};
  const auto once = make_plan_search(problem, {&start, 1}, run, {.seed = 5});
  const auto often = make_plan_search(problem, {&start, 1}, run, {.seed = 5});
  once->advance(90);
  for (int i = 0; i < 9; ++i) often->advance(10);
  CHECK(once->best().plan == often->best().plan);
  CHECK(once->best().makespan < start.makespan);
  once->offer({better.plan, better.trace.makespan()});
  CHECK(once->best().makespan <= better.trace.makespan());
  const auto plans = plans_of_policies(problem, run);
  CHECK(std::ranges::all_of(
      plans, [](const ScoredPlan& plan) { return find_policy(plan.plan.policy).for_ranks; }));
}

TEST_CASE("orders that keep more than fits into the memory are not taken") {
  PipelineSpec spec = equal_pipeline(2, 4);
  for (StageProfile& stage : spec.profile.stages) stage.kept_activations = 100_B;
  const PipelineRun naive{spec, "pipeline_naive"};
  Platform small = naive.platform;
  small.devices[DeviceId{0}].memory_capacity = 200_B;
  const Problem problem{naive.graph, small, naive.costs};
  const ScoredPlan start{naive.plan, naive.trace.makespan()};
  const auto search = make_plan_search(problem, {&start, 1}, runs(problem), {.seed = 1});
  search->advance(1000);
  CHECK(check(naive.graph, small, search->best().plan).empty());
}

TEST_CASE("bytes over a link between stages bound a pipeline, by a witness that is verified") {
  PipelineSpec spec = equal_pipeline(2, 4);
  spec.profile.links = chain_links(2, 10'000_B);
  PipelineRun run{spec, "pipeline_1f1b"};
  run.platform.network.topology = Topology::ring;
  run.platform.network.node = {.bandwidth = Bandwidth{1e9}, .latency = 1us};
  const BoundProblem on{.problem = run.problem()};
  const auto ladder = bound_ladder(on);
  const BoundWitness& link = largest(ladder);
  CHECK(link.kind == BoundKind::network);
  // From the first forward pass of 1 us on, four messages of 10 us; behind the last of them two
  // passes of 1 us, the gradient's 10 us and 1 us of latency, and two passes more. Rates of links
  // are rounded by 10^-7.
  CHECK(to_us(link.bound) == doctest::Approx(1 + 4 * 10 + 2 + 11 + 2).epsilon(1e-5));
  CHECK(link.bound <= simulate(run.problem(), run.plan).makespan());
  for (const BoundWitness& witness : ladder) {
    CHECK(refuse_witness(on, witness).value_or("") == "");
  }
  for (const auto& change : std::initializer_list<void (*)(BoundWitness&)>{
           [](BoundWitness& w) { ++w.pool.link; },
           [](BoundWitness& w) { ++w.pool.capacity; },
           [](BoundWitness& w) { w.head += 1us; },
           [](BoundWitness& w) { w.tail += 1us; },
           [](BoundWitness& w) { w.bound += Duration{1}; },
           [](BoundWitness& w) { w.kind = BoundKind::subset; }}) {
    BoundWitness wrong = link;
    change(wrong);
    CHECK(refuse_witness(on, wrong).has_value());
  }
}
